"""Whatever happened before, statuses equal those of a compile from nothing, and others' items stay as they were written
(docs/engine.md §5.8). Intents go on hold and engines are restarted on the way."""

from __future__ import annotations

from typing import Any

import anyio
import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.gate_system import GateSystem

GATES = ("a", "b")
LAMPS = ("one", "two")
TEXTS = ("ok", "shut Broken", "shut Rusty", "hold Torn", "bare", "wait", "fail")

STEPS = st.one_of(
    st.tuples(st.just("gate"), st.sampled_from(GATES), st.sampled_from(TEXTS)),
    st.tuples(st.just("lamp"), st.sampled_from(LAMPS), st.sampled_from(GATES), st.sampled_from(("red", "white"))),
    st.tuples(st.just("remove"), st.sampled_from(("gate", "lamp")), st.sampled_from((*GATES, *LAMPS))),
    st.tuples(st.just("status"), st.sampled_from(GATES), st.sampled_from(("dusk", "dawn"))),
    st.tuples(st.just("overwrite"), st.sampled_from(GATES)),
    st.just(("restart",)),
)


async def taken(system: GateSystem, step: tuple[str, ...]) -> GateSystem:
    """The system after one step."""
    match step:
        case ("gate", name, text):
            await put(system, "gate", name, text=text)
        case ("lamp", name, gate, colour):
            await put(system, "lamp", name, gate=gate, colour=colour)
        case ("remove", kind, name):
            if system.uuid(kind, name) is not None:
                await system.remove(kind, name)
        case ("status", name, phase):
            if system.uuid("gate", name) is not None:
                watched = {"type": "Watched", "status": "True", "reason": phase.capitalize()}
                body = {"phase": phase, "conditions": [watched]}
                await system.write_status("gate", name, body, "phase", "conditions[Watched]")
        case ("overwrite", name):
            if system.uuid("gate", name) is not None:
                await system.write_status("gate", name, {"state": "black"}, "state")
        case _:
            return await system.restart()
    return system


async def put(system: GateSystem, kind: str, name: str, **fields: Any) -> None:
    if system.uuid(kind, name) is None:
        await system.make(kind, name, **fields)
    else:
        await system.change(kind, name, **fields)


async def statuses(system: GateSystem) -> dict[str, Any]:
    return {name: await system.status(name) for name in GATES if system.uuid("gate", name) is not None}


async def from_nothing(system: GateSystem) -> dict[str, Any]:
    """The statuses of a new store with the same inputs: gates, lamps, and what others wrote of status."""
    fresh = GateSystem()
    for kind in ("gate", "lamp"):
        for item in (await system.store.range(f"/contrail/{kind}/", f"/contrail/{kind}0")).items:
            found = msgspec.json.decode(item.value)
            (name,) = found["fq_name"]
            await fresh.make(
                kind, name, **{field: found[field] for field in ("text", "gate", "colour") if field in found}
            )
            ours = found.get("status_claims", {}).get("default", ())
            status = found.get("status", {})
            others = {
                "phase": status.get("phase", ""),
                "state": "" if "state" in ours else status.get("state", ""),
                "conditions": [one for one in status.get("conditions", ()) if one["type"] == "Watched"],
            }
            if kind == "gate":
                items = ["phase", "conditions[Watched]", *(["state"] if others["state"] else [])]
                await fresh.write_status(kind, name, others, *items)
    found = await statuses(fresh)
    calls = fresh.write.calls
    await fresh.settle()
    assert fresh.write.calls == calls
    fresh.close()
    return found


def is_settled(system: GateSystem) -> bool:
    """Whether the promise is stated for everything: nobody fails or waits, and no claims contradict each other."""
    states = system.engine.states
    return (
        not states.waiting
        and all(entry.problem.reason == "OnHold" for _, entry in states.held.items())
        and not system.engine.states.contended
        and not any(p.reason == "Conflict" for p in system.offline.problems())
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, min_size=4, max_size=14))
def test_statuses_equal_a_compile_from_nothing(steps: list[tuple[str, ...]]) -> None:
    async def run() -> None:
        system = GateSystem()
        await system.settle()
        for step in steps:
            system = await taken(system, step)
        for name in GATES:
            document = await system.document("gate", name) if system.uuid("gate", name) is not None else {}
            if document.get("text") in ("wait", "fail"):
                await system.change("gate", name, text="ok")
        if is_settled(system):
            assert await statuses(system) == await from_nothing(system)
            system = await system.restart()
            assert system.write.calls == 0
        system.close()

    anyio.run(run)
