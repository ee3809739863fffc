"""The stages that one engine is made of, handed to every step of the pipeline together.

Why: the steps share the queues, the claims and the cache. Passing one value keeps their signatures short and makes it
plain that there is one of each. It holds no behaviour.
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
    """``permission``: whether anything may be written now. ``throttle``: when the server may be asked.
    ``installation``: the name under which this compiler marks what it makes. ``names``: what else people call what
    compilers made."""

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
