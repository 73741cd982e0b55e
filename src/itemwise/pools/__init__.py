"""Pools of classifiers that answer items, and the runner that resumes."""

from itemwise.pools.answers import Answers
from itemwise.pools.pool import POOLS, Member, Pool, find_pool
from itemwise.pools.pool_running import run_pool
from itemwise.pools.whole_datasets import dataset_answers, dataset_responses

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
