"""Retries of listeners whose address was in use."""

from __future__ import annotations

from intentc.bridges.xds.elements import Type
from intentc.bridges.xds.encoding import Version
from intentc.bridges.xds.rejections import RejectionAnalyzer
from tests.unit.bridges.xds.served_world import ServedWorld, at, served, unwant, want


class _Clocked(ServedWorld):
    """With an Envoy that rejects what the test names, and a clock that is set by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.rejections = RejectionAnalyzer(self.world, lambda: self.now)

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


def test_a_port_of_another_program_is_reported_at_once_and_retried_with_back_off() -> None:
    bench = _Clocked()
    want(bench.world, at("web", 80))
    assert bench.offered() == {"web"}
    bench.reject("web")
    assert bench.recorded() == {"web"}
    for delay in (1, 2, 4, 8, 16, 30, 30):
        assert bench.rejections.retries.wait() == delay
        bench.now += delay - 0.5
        assert bench.offered() == set()
        bench.now += 0.5
        assert bench.offered() == {"web"}
        bench.reject("web")


def test_accepted_in_the_end_its_record_goes_and_nothing_is_waited_for() -> None:
    bench = _Clocked()
    want(bench.world, at("web", 80))
    bench.offered()
    bench.reject("web")
    bench.now += 1
    assert bench.offered() == {"web"}
    bench.accept()
    assert bench.offered() == {"web"}
    assert bench.recorded() == set()
    assert bench.rejections.retries.wait() is None


def _one_after_another() -> tuple[_Clocked, Version]:
    bench, first = _Clocked(), at("dup", 80)
    want(bench.world, first)
    bench.offered()
    bench.accept()
    want(bench.world, at("web", 80))
    bench.offered()
    bench.reject("web")
    return bench, first


def test_while_another_listener_has_the_address_nothing_is_recorded_before_the_second_rejection() -> None:
    bench, _ = _one_after_another()
    assert bench.offered() == {"dup"}
    assert bench.recorded() == set()
    bench.now += 1
    assert bench.offered() == {"dup", "web"}
    bench.reject("web")
    assert bench.recorded() == {"web"}


def test_it_is_tried_at_once_when_the_other_goes() -> None:
    bench, first = _one_after_another()
    unwant(bench.world, first)
    assert bench.offered() == {"web"}


def test_it_is_tried_at_once_when_the_other_moves() -> None:
    bench, _ = _one_after_another()
    want(bench.world, at("dup", 81))
    assert bench.offered() == {"dup", "web"}


def test_two_that_are_rejected_do_not_have_each_other_tried_without_end() -> None:
    bench = _Clocked()
    want(bench.world, at("a", 80), at("b", 80))
    bench.offered()
    bench.reject("a")
    bench.reject("b")
    assert bench.offered() == set()


def test_what_is_rejected_for_another_reason_is_not_tried_again() -> None:
    bench = _Clocked()
    want(bench.world, at("web", 80))
    bench.offered()
    bench.reject("web", "no filter chains specified")
    bench.now += 1_000
    assert bench.offered() == set()
    assert bench.rejections.retries.wait() is None


def test_what_a_former_process_recorded_is_tried_again() -> None:
    bench, version = _Clocked(), at("web", 80)
    bench.world.want(version.key, version, "cannot bind: Address already in use")
    assert bench.offered() == set()
    bench.now += 1
    assert bench.offered() == {"web"}
