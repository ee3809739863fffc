"""Last good values of held intents, so that a restart does not take from others what held intents yielded for them.

``values`` finds them and keeps them in etcd, ``facts`` does so with the facts of those that failed or wait, ``keeper``
has the leader keep both while it runs. What an intent yields
from such a value is the business of ``evaluation``; which intents are held is the engine's.
"""

from .facts import RetainedFacts, retained_facts_prefix
from .keeper import Keeper
from .values import KnownValues, RetainedValues, retained_prefix

__all__ = ["Keeper", "KnownValues", "RetainedFacts", "RetainedValues", "retained_facts_prefix", "retained_prefix"]
