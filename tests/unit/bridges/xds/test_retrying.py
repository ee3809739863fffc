"""Retries of listeners whose address was in use."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from intentc.bridges.xds.elements import Type
from intentc.bridges.xds.encoding import Version
from intentc.bridges.xds.rejections import RejectionAnalyzer
from tests.simulation.simulated_clock import SimulatedLoop
from tests.unit.bridges.xds.served_world import ServedWorld, at, served, unwant, want

pytestmark = pytest.mark.anyio


class _Retrying(ServedWorld):
    """With an Envoy that rejects what the test names. ``retried``: how often the loop offered something again."""

    def __init__(self) -> None:
        super().__init__()
        self.retried = 0
        self.rejections = RejectionAnalyzer(self.world, self._note_retry)

    def _note_retry(self) -> None:
        self.retried += 1

    def offered(self) -> set[str]:
        self.rejections.retries.sweep()
        return served(self.world, Type.LISTENERS)

    def accept(self) -> None:
        self.world.acknowledged(Type.LISTENERS, self.world.trial(Type.LISTENERS, None))

    def reject(self, name: str, why: str = "cannot bind: Address already in use") -> None:
        message = f"Error adding/updating listener(s) {name}: {why}\n"
        self.rejections.on_rejection(Type.LISTENERS, None, self.world.trial(Type.LISTENERS, None), message)

    def recorded(self) -> set[str]:
        return {name for _, name in self.records}


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """Nothing waits for real."""
    return "asyncio", {"loop_factory": SimulatedLoop}


@pytest.fixture
async def bench() -> AsyncIterator[_Retrying]:
    bench = _Retrying()
    running = asyncio.create_task(bench.rejections.retries.loop.run())
    yield bench
    running.cancel()


async def test_a_port_of_another_program_is_reported_at_once_and_retried_with_back_off(bench: _Retrying) -> None:
    want(bench.world, at("web", 80))
    assert bench.offered() == {"web"}
    bench.reject("web")
    assert bench.recorded() == {"web"}
    for number, delay in enumerate((1, 2, 4, 8, 16, 30, 30)):
        await asyncio.sleep(delay - 0.5)
        assert (bench.offered(), bench.retried) == (set(), number)
        await asyncio.sleep(0.5)
        assert (bench.offered(), bench.retried) == ({"web"}, number + 1)
        bench.reject("web")


async def test_accepted_in_the_end_its_record_goes_and_nothing_is_retried(bench: _Retrying) -> None:
    want(bench.world, at("web", 80))
    bench.offered()
    bench.reject("web")
    await asyncio.sleep(1.1)
    assert bench.offered() == {"web"}
    bench.accept()
    assert bench.offered() == {"web"}
    assert bench.recorded() == set()
    await asyncio.sleep(600)
    assert bench.retried == 1
    assert bench.rejections.retries.loop.settled


def _one_after_another(bench: _Retrying) -> Version:
    first = at("dup", 80)
    want(bench.world, first)
    bench.offered()
    bench.accept()
    want(bench.world, at("web", 80))
    bench.offered()
    bench.reject("web")
    return first


async def test_while_another_listener_has_the_address_nothing_is_recorded_before_the_second_rejection(
    bench: _Retrying,
) -> None:
    _one_after_another(bench)
    assert bench.offered() == {"dup"}
    assert bench.recorded() == set()
    await asyncio.sleep(1.1)
    assert bench.offered() == {"dup", "web"}
    bench.reject("web")
    assert bench.recorded() == {"web"}


async def test_it_is_tried_at_once_when_the_other_goes(bench: _Retrying) -> None:
    unwant(bench.world, _one_after_another(bench))
    assert bench.offered() == {"web"}


async def test_it_is_tried_at_once_when_the_other_moves(bench: _Retrying) -> None:
    _one_after_another(bench)
    want(bench.world, at("dup", 81))
    assert bench.offered() == {"dup", "web"}


async def test_two_that_are_rejected_do_not_have_each_other_tried_without_end(bench: _Retrying) -> None:
    want(bench.world, at("a", 80), at("b", 80))
    bench.offered()
    bench.reject("a")
    bench.reject("b")
    assert bench.offered() == set()


async def test_what_is_rejected_for_another_reason_is_not_tried_again(bench: _Retrying) -> None:
    want(bench.world, at("web", 80))
    bench.offered()
    bench.reject("web", "no filter chains specified")
    await asyncio.sleep(1_000)
    assert (bench.offered(), bench.retried) == (set(), 0)


async def test_what_a_former_process_recorded_is_tried_again(bench: _Retrying) -> None:
    version = at("web", 80)
    bench.world.want(version.key, version, "cannot bind: Address already in use")
    assert bench.offered() == set()
    await asyncio.sleep(1.1)
    assert bench.offered() == {"web"}
