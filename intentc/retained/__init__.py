"""Last good values of held intents, so that a restart does not take from others what held intents yielded for them.

``values`` finds them and keeps them in etcd, ``keeper`` has the leader do so while it runs. What an intent yields
from such a value is the business of ``evaluation``; which intents are held is the engine's.
"""

from .keeper import Keeper
from .values import KnownValues, RetainedValues, retained_prefix

__all__ = ["Keeper", "KnownValues", "RetainedValues", "retained_prefix"]
