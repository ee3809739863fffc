"""Histories by seed, and what they must end in: taken step by step, or lived through by a whole service.

The two forms share what can happen and what is demanded; the runner and the properties call them here. Seeds give the
same histories as long as nothing in ``tests/property/steps.py`` and its like changes.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.property.steps import Step
from tests.simulation.faults import Happening, happenings
from tests.simulation.simulated_clock import simulate
from tests.simulation.simulated_system import SimulatedSystem
from tests.simulation.subjects import CONTRAIL, Begin, Subject
from tests.simulation.world import Simulation

_BYTES = 65_536
"""Of chance for one history: more than any needs."""


class History(NamedTuple):
    """What users begin with, and what happens then."""

    begin: Begin
    steps: Sequence[Any]


class Lived(NamedTuple):
    """What came of a history: features of its outcome, and what happened (of a service only)."""

    features: set[str]
    trace: tuple[str, ...] = ()


async def step_by_step(begin: Begin, history: Sequence[Step], subject: Subject = CONTRAIL) -> Lived:
    """One task does everything, in a fixed order."""
    system = SimulatedSystem(subject.loaded)
    await system.start()
    await subject.populate(system, begin)
    for step in history:
        await step.apply(system)
    return Lived(await subject.demands(system))


async def in_service(begin: Begin, history: Sequence[Happening], subject: Subject = CONTRAIL) -> Lived:
    """Two processes serve, one of which leads, and everything races with everything."""
    system = Simulation(processes=2, subject=subject)
    await system.start()
    await subject.populate(system, begin)
    for happening in history:
        await happening.apply(system)
    features = await subject.demands(system)
    await system.end()
    return Lived(features, tuple(system.trace))


def _drawing(begins: SearchStrategy[Any], steps: SearchStrategy[Any]) -> Callable[[bytes], History | None]:
    """From bytes of chance to a history, by the same strategies as the properties."""
    found: list[History] = []

    @settings(database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(begins, steps)
    def note(begin: list[Any], steps: list[Any]) -> None:
        found.append(History(begin, steps))

    def draw(chance: bytes) -> History | None:
        found.clear()
        note.hypothesis.fuzz_one_input(chance)  # type: ignore[attr-defined]
        return found[0] if found else None

    return draw


class Form(NamedTuple):
    """A sort of history, and how it is lived through. Raises ``AssertionError`` if it doesn't end as demanded."""

    live: Callable[[Begin, Sequence[Any]], Coroutine[Any, Any, Lived]]
    draw: Callable[[bytes], History | None]

    def drawn(self, seed: int) -> History:
        """The history of this seed."""
        for attempt in itertools.count():
            # Now and then chance draws what a filter rejects.
            found = self.draw(random.Random(f"{seed}/{attempt}").randbytes(_BYTES))
            if found is not None:
                return found
        raise AssertionError("unreachable")

    def run(self, history: History, seed: int) -> Lived:
        """Live through ``history``; ``seed`` decides what else is left to chance."""
        return simulate(self.live, *history, seed=seed)

    def shrunk(self, history: History, seed: int) -> History:
        """What can't be left out of a history that fails."""
        begin, steps = list(history.begin), list(history.steps)
        for items in (steps, begin, steps):
            for place in reversed(range(len(items))):
                item = items.pop(place)
                if not self._fails(History(begin, steps), seed):
                    items.insert(place, item)
        return History(begin, steps)

    def _fails(self, history: History, seed: int) -> bool:
        try:
            self.run(history, seed)
        except Exception:
            return True
        return False


def made(subject: Subject, form: str, steps: int = 0) -> Form:
    """The form ``steps`` or ``service`` of a compiler's histories. ``steps``: of each, 0 for some 6 to 25."""
    least, most = (steps, steps) if steps else (6, 25)
    if form == "steps":
        stepped = st.lists(subject.steps, min_size=least, max_size=most)
        return Form(functools.partial(step_by_step, subject=subject), _drawing(subject.begin, stepped))
    served = st.lists(happenings(subject), min_size=least, max_size=most)
    return Form(functools.partial(in_service, subject=subject), _drawing(subject.begin, served))
