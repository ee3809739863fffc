"""Bundles the stages of one engine for its steps.

Why: the steps share the queues, the claims and the cache. One value keeps their signatures short and shows that there
is one of each. It has no behaviour.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..evaluation import Naming, Runner
from ..journal import Journal
from ..logic import Service
from ..model import Key, Name, Schema
from ..planning import Assumed, ClaimBook, Planner
from ..queue import KeyedQueue
from ..writing import ReadService, WriteService
from .api_throttle import ApiThrottle
from .drift import Drift
from .intent_states import IntentStates
from .permission import Permission


@dataclass(slots=True, frozen=True)
class Parts:
    """``permission``: whether writes may begin now. ``throttle``: when the server may be asked. ``installation``: the
    name in the marks of this compiler's objects. ``names``: other names that people use for compiled objects."""

    schema: Schema
    installation: str
    logic: Service
    runner: Runner
    book: ClaimBook
    assumed: Assumed
    planner: Planner
    write: WriteService
    read: ReadService
    jobs: KeyedQueue[Key]
    objects: KeyedQueue[Name]
    journal: Journal
    states: IntentStates
    permission: Permission
    throttle: ApiThrottle[Name]
    drift: Drift
    names: Mapping[str, Naming]
