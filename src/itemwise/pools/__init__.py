"""Who answers: pools of classifiers, artificial ones among them, and the runner that resumes."""

from itemwise.pools.answers import Answers
from itemwise.pools.pool import POOLS, Member, Pool, find_pool
from itemwise.pools.running import run_pool

__all__ = ["POOLS", "Answers", "Member", "Pool", "find_pool", "run_pool"]
