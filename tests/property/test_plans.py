"""A plan is what happens: for random tenants, and random changes of them, what was planned is what the API server and
the compiler then do; and what is rejected is rejected in the plan."""

from __future__ import annotations

import json
from typing import NamedTuple

from hypothesis import event, given
from hypothesis import strategies as st

from intentc.cli.command_error import CommandError
from intentc.model import InvalidInput
from intentc.offline.preview.report import Input
from tests.property.profiles import share_of_histories
from tests.property.resources import Put, anything, tenants, without_automatic
from tests.simulation.simulated_clock import simulate
from tests.unit.offline.planned_system import PlannedSystem, changes_of, texts, uuids_in


class Change(NamedTuple):
    """``delete``: the resources go, after others have let go of them; else they are put."""

    puts: list[Put]
    delete: bool


_puts = st.lists(anything.map(without_automatic), min_size=1, max_size=4, unique_by=lambda put: (put.kind, put.fq_name))
changes = st.one_of(
    _puts.map(lambda puts: Change(puts, False)),
    _puts.map(lambda puts: Change(puts, False)),
    _puts.map(lambda puts: Change(puts[:1], True)),
)


@share_of_histories(0.2)
@given(tenants().map(lambda puts: [without_automatic(put) for put in puts]), st.lists(changes, min_size=1, max_size=3))
def test_what_is_planned_is_what_happens(puts: list[Put], changes: list[Change]) -> None:
    simulate(_plan_and_apply, puts, changes)


async def _plan_and_apply(puts: list[Put], changes: list[Change]) -> None:
    system = PlannedSystem("contrail")
    await system.offline.seed()
    for put in puts:
        await _applied(system, _input(Change([put], False)))
    for change in changes:
        wanted = _input(change)
        before, numbers, everything = await system.world(), await system.numbers(), await system.everything()
        try:
            planned = await system.plan(wanted)
        except (CommandError, InvalidInput) as error:
            event("rejected")
            assert await _applied(system, wanted) == str(error)
            continue
        assert await system.everything() == everything
        assert planned.due == ()
        assert await _applied(system, wanted) == ""
        event("follows" if planned.follows else "nothing follows")
        assert changes_of(planned) == await system.happened(before, numbers, planned)
        after = [value.decode() for value in (*before.values(), *(await system.world()).values())]
        assert uuids_in([planned.document()]) <= uuids_in(after)


def _input(change: Change) -> Input:
    if change.delete:
        return Input(
            delete=True, kind=change.puts[0].kind, names=(":".join(change.puts[0].fq_name),), remove_references=True
        )
    resources = [{"kind": put.kind, "data": {"fq_name": put.fq_name, **put.fields}} for put in change.puts]
    return texts(json.dumps({"resources": resources}))


async def _applied(system: PlannedSystem, given: Input) -> str:
    """Why it was rejected; empty if it wasn't."""
    try:
        await system.apply(given)
    except (CommandError, InvalidInput) as error:
        return str(error)
    return ""
