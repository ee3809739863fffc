"""Every way in which an author's code is known to run wild, as bodies of ``evaluate`` (docs/engine.md §4.3, F18).

A body takes the intent and ``ctx``. It is written for any intent that may have children of a kind with one text.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from intentc.model import Fact, Name, ResourceClaim

Body = Callable[[Any, Any], Any]


class Poison(NamedTuple):
    """``reason``: of the problem that it becomes. ``slow``: it takes all the time that it is given."""

    body: Body
    reason: str
    slow: bool = False


POISONS: dict[str, Poison] = {}


def _poison(reason: str, *, slow: bool = False) -> Callable[[Body], Body]:
    def register(body: Body) -> Body:
        POISONS[body.__name__.replace("_", " ").strip()] = Poison(body, reason, slow)
        return body

    return register


def _endless(reason: str = "BudgetExceeded") -> Callable[[Body], Body]:
    return _poison(reason, slow=True)


@_endless()
def loops(intent: Any, ctx: Any) -> Any:
    while True:
        pass


@_endless()
def loops_in_a_generator(intent: Any, ctx: Any) -> Any:
    yield from ()
    while True:
        pass


@_endless()
def swallows_everything(intent: Any, ctx: Any) -> Any:
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass


@_endless()
def swallows_at_every_level(intent: Any, ctx: Any) -> Any:
    while True:
        with suppress(BaseException):
            try:
                swallows_everything(intent, ctx)
            finally:
                swallows_everything(intent, ctx)


@_endless()
def swallows_in_a_generator(intent: Any, ctx: Any) -> Any:
    def inner() -> Iterator[int]:
        while True:
            try:
                yield 1
            except BaseException:
                continue

    while True:
        try:
            for _ in inner():
                pass
        except BaseException:
            yield from ()


@_endless()
def swallows_and_returns(intent: Any, ctx: Any) -> Any:
    try:
        while True:
            pass
    except BaseException:
        return [_child(intent)]


@_endless()
def recurses_for_ages(intent: Any, ctx: Any) -> Any:
    def twice() -> None:
        try:
            twice()
        except BaseException:
            twice()

    twice()


@_endless()
def sleeps_for_an_hour(intent: Any, ctx: Any) -> Any:
    time.sleep(3600)


@_endless()
def waits_for_a_lock(intent: Any, ctx: Any) -> Any:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


@_endless()
def backtracks(intent: Any, ctx: Any) -> Any:
    re.fullmatch("(a*)*b", "a" * 64)


@_endless()
def sums_up_an_endless_generator(intent: Any, ctx: Any) -> Any:
    sum(number for number in itertools.count())


@_endless()
def sorts_by_an_endless_key(intent: Any, ctx: Any) -> Any:
    sorted(range(3), key=lambda number: loops(intent, ctx))


@_endless()
def reads_the_same_for_ever(intent: Any, ctx: Any) -> Any:
    while True:
        ctx.find(intent.kind, ("nobody",))


@_endless()
def reads_for_ever_and_swallows(intent: Any, ctx: Any) -> Any:
    while True:
        with suppress(BaseException):
            while True:
                ctx.find(intent.kind, ("nobody",))


@_endless()
def iterates_for_ever_and_yields_nothing(intent: Any, ctx: Any) -> Any:
    while True:
        yield from ()


@_endless()
def fails_with_an_endless_text(intent: Any, ctx: Any) -> Any:
    class Endless(Exception):
        def __str__(self) -> str:
            loops(intent, ctx)
            return ""

    raise Endless


@_endless()
def does_not_end_when_it_is_cut_off(intent: Any, ctx: Any) -> Any:
    try:
        yield "nonsense"
    finally:
        swallows_everything(intent, ctx)


@_endless()
def loops_when_it_is_represented(intent: Any, ctx: Any) -> Any:
    class Looping:
        def __repr__(self) -> str:
            return f"{loops(intent, ctx)}"

    raise ValueError(Looping())


@_poison("EvaluationFailed")
def raises(intent: Any, ctx: Any) -> Any:
    raise RuntimeError("as it was written")


@_poison("EvaluationFailed")
def raises_an_exception_without_a_text(intent: Any, ctx: Any) -> Any:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text either")

    raise Mute


@_poison("EvaluationFailed")
def recurses(intent: Any, ctx: Any) -> Any:
    return recurses(intent, ctx)


@_poison("EvaluationFailed")
def recurses_in_its_representation(intent: Any, ctx: Any) -> Any:
    class Deep:
        def __repr__(self) -> str:
            return repr([self])

    raise ValueError(repr(Deep()))


@_poison("EvaluationFailed")
def recurses_in_json(intent: Any, ctx: Any) -> Any:
    json.dumps(_nested())


@_poison("EvaluationFailed")
def recurses_in_comparison(intent: Any, ctx: Any) -> Any:
    return _nested() == _nested()


@_poison("InvalidOutput")
def returns_a_wrong_type(intent: Any, ctx: Any) -> Any:
    yield 5


@_poison("EvaluationFailed")
def returns_no_iterable(intent: Any, ctx: Any) -> Any:
    return 5


@_poison("EvaluationFailed")
def returns_nothing_at_all(intent: Any, ctx: Any) -> Any:
    return None


@_poison("LimitExceeded")
def returns_100_000_objects(intent: Any, ctx: Any) -> Any:
    return [_child(intent)] * 100_000


@_poison("LimitExceeded")
def yields_for_ever(intent: Any, ctx: Any) -> Any:
    for number in itertools.count():
        yield _child(intent, str(number))


@_poison("LimitExceeded")
def returns_a_huge_output(intent: Any, ctx: Any) -> Any:
    yield ResourceClaim(Name("part", (*intent.fq_name, "x" * 11_000_000)), None, intent.uuid, ())


@_poison("LimitExceeded")
def reads_ever_more(intent: Any, ctx: Any) -> Any:
    for number in itertools.count():
        ctx.find(intent.kind, (str(number),))


@_poison("InvalidOutput")
def yields_a_stored_kind_as_a_fact(intent: Any, ctx: Any) -> Any:
    yield Fact(intent.kind, "nonsense", 1)


def _raising(error: BaseException) -> Body:
    def body(intent: Any, ctx: Any) -> Any:
        yield _child(intent)
        raise error

    return body


def _stopping(intent: Any, ctx: Any) -> Any:
    raise StopIteration


for _error in (GeneratorExit(), StopIteration(), asyncio.CancelledError(), KeyboardInterrupt(), SystemExit(3)):
    POISONS[f"raises {type(_error).__name__}"] = Poison(_raising(_error), "EvaluationFailed")
POISONS["raises StopIteration at once"] = Poison(_stopping, "EvaluationFailed")


def _child(intent: Any, name: str = "one") -> ResourceClaim:
    child: ResourceClaim = intent.child("part", name)
    return child


def _nested() -> list[Any]:
    found: list[Any] = []
    for _ in range(20_000):
        found = [found]
    return found
