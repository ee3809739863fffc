"""Retains last good values and facts of held intents, so that a restart does not take their facts from other intents.

``values`` finds last good values and keeps them in etcd; ``facts`` does so with the facts of intents that failed or
wait; ``keeper`` has the leader keep both while it runs. ``evaluation`` computes what an intent yields from such a
value; the engine knows which intents are held.

The keys of the retained values in etcd are this package's own. State: what etcd retains now.

Touches: clock, etcd, logs; through others: randomness.
"""

from .facts import RetainedFacts, retained_facts_prefix
from .keeper import Keeper, RunningEngine
from .values import KnownValues, RetainedValues, retained_prefix

__all__ = [
    "Keeper",
    "KnownValues",
    "RetainedFacts",
    "RetainedValues",
    "RunningEngine",
    "retained_facts_prefix",
    "retained_prefix",
]
