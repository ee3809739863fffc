"""Retains last good values and facts in etcd, so that a restart takes no facts from the intents that read them.

``values`` stores and finds the last good values of held intents; ``facts`` stores the facts of intents whose last run
did not complete; ``keeper`` has the leader keep both in etcd while they are wanted. ``known_fields`` keeps the names of
the fields that earlier schemas declared. ``evaluation`` computes what an intent yields from such a value; the engine
knows which intents are held.

The keys of the retained values in etcd are this package's own. State: what etcd retains now and what it rejected, and
the back-offs.
"""

from .facts import RetainedFacts, retained_facts_prefix
from .keeper import Keeper, RunningEngine
from .known_fields import KnownFields, known_fields_prefix
from .values import KnownValues, RetainedValues, retained_prefix

__all__ = [
    "Keeper",
    "KnownFields",
    "KnownValues",
    "RetainedFacts",
    "RetainedValues",
    "RunningEngine",
    "known_fields_prefix",
    "retained_facts_prefix",
    "retained_prefix",
]
