"""Whatever happens to apps and to the cluster, what they made goes in order, and nothing is left (docs/engine.md §14).

Users create, change, break, delete and remove apps by force; the cluster is slow, and somebody meddles with it; the
compiler dies before and after its writes, and answers are lost. ``AppSystem.check`` holds after each step of the
cluster. In the end the cluster has exactly what the apps want, and a further process writes nothing.
"""

from __future__ import annotations

from hypothesis import strategies as st

from tests.property.killed_processes import Step, is_taken, live_through, work_or_die
from tests.support.app_system import APP, PHASES, AppSystem

_NAMES = st.sampled_from(["web", "web", "web", "mail"])
_KINDS = st.sampled_from(sorted(PHASES))
_FIELDS = st.fixed_dictionaries(
    {
        "image": st.sampled_from(["web:1", "web:2", ""]),
        "replicas": st.integers(1, 3),
        "settings": st.sampled_from([{}, {"color": "blue"}]),
        "migration": st.sampled_from([None, "migrate up"]),
    }
)
_PUT = st.tuples(st.just("put"), _NAMES, _FIELDS)
_DELETE = st.tuples(st.just("delete"), _NAMES)
_WORK = st.tuples(st.just("work"), st.integers(1, 20))
_FORCE = st.tuples(st.just("force"), _NAMES)
_OTHERS = st.one_of(
    st.tuples(st.just("lose"), st.sets(st.integers(1, 12), min_size=1)),
    st.tuples(st.just("restart")),
    st.tuples(st.just("hold back"), _KINDS, _NAMES),
    st.tuples(st.just("let go"), _KINDS, _NAMES),
    st.tuples(st.just("vanish"), st.sampled_from(["ConfigMap", "Deployment", "Service"]), _NAMES),
    st.tuples(st.just("meddle"), st.sampled_from(["Deployment", "Service"]), _NAMES),
)
_DIE = st.tuples(st.just("die"), st.integers(1, 4), st.booleans())
_ROUNDS = st.tuples(st.one_of(_DIE, _DIE, _OTHERS), st.one_of(_PUT, _PUT, _DELETE, _FORCE), _WORK)
HISTORIES: st.SearchStrategy[list[Step]] = st.lists(_ROUNDS, min_size=2, max_size=10).map(
    lambda rounds: [*_FIRST, *(step for round in rounds for step in round)]
)
_FIRST: list[Step] = [("put", "web", {"image": "web:1", "migration": "migrate up"}), ("work", 20)]


def test_whatever_happens_children_go_in_order_and_nothing_is_left() -> None:
    live_through(_live, HISTORIES, 1.0, "returned")


async def _live(history: list[Step]) -> set[str]:
    system, seen = AppSystem(), set[str]()
    for step in history:
        await _take(system, step, seen)
    for kind in PHASES:
        for name in ("web", "mail"):
            system.cluster.let_go(kind, name, "shop")
    system.start()
    await system.work()
    for name in await system.documents("app"):
        await system.sync("UPDATE", name, {"image": "web:3"})
    await system.work()
    apps = await system.documents("app")
    await system.assert_done({name: {**APP, "migration": apps[name].get("migration")} for name in apps})
    for name in apps:
        await system.sync("DELETE", name)
    await system.work()
    await system.assert_done({})
    return seen


async def _take(system: AppSystem, step: Step, seen: set[str]) -> None:
    cluster = system.cluster
    match step:
        case ("put", name, fields):
            there = name in await system.documents("app")
            if await is_taken(system.sync("UPDATE" if there else "CREATE", name, fields)) and not there:
                seen |= {"returned"} if name in system.deleted else set()
            await work_or_die(system, 0, seen)
        case ("delete", name):
            if any(place.endswith(f"/{name}") for place in cluster.objects):
                seen.add("deleted while it runs")
            if await is_taken(system.sync("DELETE", name)):
                system.deleted.add(name)
            await work_or_die(system, 0, seen)
        case ("force", name):
            if await is_taken(system.remove_by_force(name)):
                system.deleted.add(name)
                seen.add("removed by force")
        case ("die", count, made):
            # At one of its first writes, whatever these will be for.
            system.start(dies_at=count, made=made)
        case ("lose", counts):
            system.writes.lost = {system.writes.count + count for count in counts}
        case ("restart",):
            system.start()
        case ("work", steps):
            await work_or_die(system, steps, seen)
        case ("hold back", kind, name):
            cluster.hold_back(kind, name, "shop")
        case ("let go", kind, name):
            cluster.let_go(kind, name, "shop")
        case ("vanish", kind, name) if cluster.get(kind, name, "shop") is not None:
            cluster.remove(kind, name, "shop")
        case ("meddle", kind, name) if (body := cluster.get(kind, name, "shop")) is not None:
            body["spec"] = {**body["spec"], "replicas": 9, "type": "NodePort"}
            cluster.put(body)
