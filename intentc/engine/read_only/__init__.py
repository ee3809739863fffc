"""Shows a running engine to code that only reads it: flat and live, so read it between two awaits.

``World`` has the resources, their names, and who reads them; ``Outputs`` the claims, plans and objects; ``States`` the
state of each intent and object; ``Progress`` the engine as a whole. What changes an engine is a verb of ``Engine``.
"""

from typing import NamedTuple

from ...journal import Journal
from .outputs import Outputs
from .progress import Progress
from .states import States, Table
from .world import World

__all__ = ["Outputs", "Progress", "ReadOnly", "States", "Table", "World"]


class ReadOnly(NamedTuple):
    """All of it, for answers that need most of it."""

    world: World
    outputs: Outputs
    states: States
    progress: Progress
    journal: Journal
