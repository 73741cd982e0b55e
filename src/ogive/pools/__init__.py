"""Pools of classifiers that answer items, and the runner that resumes."""

from ogive.pools.answers import Answers
from ogive.pools.pool import POOLS, Member, Pool, find_pool
from ogive.pools.pool_running import run_pool
from ogive.pools.whole_datasets import dataset_answers, dataset_responses

__all__ = [
    "POOLS",
    "Answers",
    "Member",
    "Pool",
    "dataset_answers",
    "dataset_responses",
    "find_pool",
    "run_pool",
]
