"""Events on what can't be mirrored: one for each change, and not too many at once."""

from __future__ import annotations

import pytest

from intentc.bridges.kubernetes.events import Regarding
from intentc.bridges.kubernetes.unmirrored import Unmirrored
from intentc.bridges.kubernetes.wire import Identity
from intentc.model import Key

pytestmark = pytest.mark.anyio


class _System:
    """Reasons, a clock, and what was reported, in the place of Events."""

    def __init__(self) -> None:
        self.reasons: dict[Key, str] = {}
        self.reported: list[tuple[str, str]] = []
        self.leads = True
        self.now = 0.0
        self.unmirrored = Unmirrored(
            self,  # type: ignore[arg-type]
            lambda: self.reasons,
            lambda key: Regarding("v1", "Farm", Identity("valley", key.uuid), key.uuid),
            lambda: self.leads,
            clock=lambda: self.now,
        )

    async def report(self, about: Regarding, reason: str, action: str, words: str) -> None:
        assert (reason, action) == ("NotMirrored", "Mirror")
        self.reported.append((about.uid, words))


async def test_an_object_is_reported_once_for_each_reason() -> None:
    system, key = _System(), Key("farm", "u")
    for reasons in ({key: "a"}, {key: "a"}, {key: "b"}, {}, {key: "b"}):
        system.reasons = reasons
        await system.unmirrored.report()
    assert system.reported == [("u", "a"), ("u", "b"), ("u", "b")]


async def test_many_are_reported_in_portions() -> None:
    system = _System()
    system.reasons = {Key("farm", f"u{number}"): "a" for number in range(250)}
    counts = []
    for now in (0.0, 1.0, 600.0, 1200.0, 1800.0):
        system.now = now
        await system.unmirrored.report()
        counts.append(len(system.reported))
    assert counts == [100, 100, 200, 250, 250]
    assert len(set(system.reported)) == 250


async def test_who_does_not_lead_reports_nothing() -> None:
    system = _System()
    system.reasons, system.leads = {Key("farm", "u"): "a"}, False
    await system.unmirrored.report()
    assert system.reported == []
    system.leads = True
    await system.unmirrored.report()
    assert system.reported == [("u", "a")]
