"""Retains last good values and facts in etcd, so that a restart takes no facts from the intents that read them.

``value_store`` stores them, and finds the last good values of held intents; ``keeper`` has the leader keep them while
they are wanted. ``known_fields`` keeps the names of the fields that earlier schemas declared. ``evaluation`` computes
what an intent yields from such a value; the engine knows which intents are held.
"""

from .keeper import ALL, Keeper
from .known_fields import KnownFields, known_fields_prefix
from .value_store import KnownValues, RetainedFacts, RetainedValues, retained_facts_prefix, retained_prefix

__all__ = [
    "ALL",
    "Keeper",
    "KnownFields",
    "KnownValues",
    "RetainedFacts",
    "RetainedValues",
    "known_fields_prefix",
    "retained_facts_prefix",
    "retained_prefix",
]
