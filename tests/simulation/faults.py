"""Faults of a live system, in addition to ``tests/property/steps.py``: time passes, links break.

Values that apply themselves, as there.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from hypothesis import strategies as st

from tests.property.steps import Step
from tests.simulation.link import Condition
from tests.simulation.subjects import Subject
from tests.simulation.world import Simulation


class Happening(NamedTuple):
    """A step of any sort, and the seconds that pass after it."""

    step: Step | Fault
    seconds: float

    async def apply(self, system: Simulation) -> None:
        system.note(f"{self.step}")
        await self.step.apply(system)
        await asyncio.sleep(self.seconds)


class Disturb(NamedTuple):
    """The link to the store breaks for some seconds."""

    condition: Condition
    seconds: float

    async def apply(self, system: Simulation) -> None:
        system.process.link.disturb(self.condition, self.seconds)


class Cut(NamedTuple):
    """The watch ends with an error."""

    async def apply(self, system: Simulation) -> None:
        system.process.link.cut()


class Silence(NamedTuple):
    """The watch stays open, and delivers nothing any more."""

    async def apply(self, system: Simulation) -> None:
        system.process.link.silence()


class Lose(NamedTuple):
    """The watch leaves out the next revisions, as etcd has done."""

    revisions: int

    async def apply(self, system: Simulation) -> None:
        system.store.faults.lose_next(self.revisions)


class Slow(NamedTuple):
    """From now on requests take so long, so that they overtake each other."""

    pauses: tuple[float, ...]

    async def apply(self, system: Simulation) -> None:
        system.set_pauses(self.pauses)


class KillNow(NamedTuple):
    """SIGKILL, wherever the process is; another one starts."""

    async def apply(self, system: Simulation) -> None:
        system.kill()


class BackUp(NamedTuple):
    """Somebody takes a backup of the store."""

    async def apply(self, system: Simulation) -> None:
        system.back_up()


class Restore(NamedTuple):
    """The store is put back to the last backup."""

    async def apply(self, system: Simulation) -> None:
        system.restore()


Fault = Disturb | Cut | Silence | Lose | Slow | KillNow | BackUp | Restore

moments = st.sampled_from([0.0, 0.0, 0.001, 0.01, 0.1, 1.0, 7.0])

live_faults: st.SearchStrategy[Fault] = st.one_of(
    st.builds(Disturb, st.sampled_from([Condition.REJECTED, Condition.SILENT]), st.sampled_from([0.5, 5.0, 40.0])),
    st.builds(Cut),
    st.builds(Silence),
    st.builds(Lose, st.integers(1, 3)),
    st.builds(Slow, st.lists(st.sampled_from([0.0, 0.001, 0.01, 0.2, 3.0, 30.0]), min_size=1, max_size=5).map(tuple)),
    st.builds(KillNow),
    st.builds(BackUp),
    st.builds(Restore),
)


def happenings(subject: Subject) -> st.SearchStrategy[Happening]:
    """Whatever can happen to a service of this compiler, and how long it is left alone then."""
    users = subject.users
    return st.builds(Happening, st.one_of(users, users, users, subject.others, subject.faults, live_faults), moments)
