"""Whatever happens to classes, Gateways and Contours, instances end as a compile from nothing makes them.

Users create, change, break, delete and remove resources by force, in both versions, older ones and younger ones; some
are kept by a finalizer of somebody else, who removes it later. The cluster is slow, and the compiler dies before and
after its writes. A Gateway or Contour that stays keeps Envoy's Service through all that. In the end nothing is left of
what is gone (docs/gateway.md §10 to §12).
"""

from __future__ import annotations

from hypothesis import strategies as st

from intentc.compilers.gateway.contenders import EARLY_GATEWAY
from tests.property.killed_processes import Step, is_taken, live_through, work_or_die
from tests.support.gateway.documents import (
    ADMIN,
    HTTP,
    HTTPS,
    INVALID,
    PARAMETERS,
    Document,
    contour,
    contour_deployment,
    early_class,
    early_gateway,
    gateway,
    gateway_class,
)
from tests.support.gateway.system import GatewaySystem

_LISTENERS = st.sampled_from([(HTTP,), (HTTP, ADMIN), (HTTP, HTTPS), (INVALID,)])
_MEETING = [("shop", "a"), ("shop", "certgen-a"), ("shop", "b-a"), ("shop-b", "a")]
"""Gateways that want one ServiceAccount or ClusterRole; the last of ``_INSTANCES`` wants that of the first."""
_INSTANCES = ["shop", "shop", "shop-a"]
_OF_OTHERS = ("example.com/other",)
_KEPT = st.sampled_from([(), _OF_OTHERS])
"""Finalizers of somebody else; only those that a resource has from its creation count."""


def _with(finalizers: tuple[str, ...], document: Document) -> Document:
    return {**document, "metadata": {**document["metadata"], "finalizers": list(finalizers)}}


_GATEWAYS = st.builds(
    lambda place, listeners, kept: _with(kept, gateway(place[1], *listeners, namespace=place[0])),
    st.sampled_from(_MEETING),
    _LISTENERS,
    _KEPT,
)
_EARLY = st.builds(
    lambda name, listeners, kept: _with(kept, early_gateway(name, *listeners)),
    st.sampled_from(["e", "f"]),
    _LISTENERS,
    _KEPT,
)
_CONTOURS = st.builds(
    lambda name, instance, replicas, type_, kept: _with(
        kept, contour(name, instance=instance, replicas=replicas, networkPublishing={"envoy": {"type": type_}})
    ),
    st.sampled_from(["c", "d"]),
    st.sampled_from(_INSTANCES),
    st.integers(1, 3),
    st.sampled_from(["LoadBalancerService", "LoadBalancerService", "Nonsense"]),
    _KEPT,
)
_PARAMETERS = st.builds(
    lambda level: contour_deployment(contour={"logLevel": level}), st.sampled_from(["info", "debug", "nonsense"])
)
_ANY = st.one_of(_GATEWAYS, _GATEWAYS, _EARLY, _CONTOURS, _PARAMETERS)
_CLASSES = [gateway_class(parametersRef=PARAMETERS), early_class()]
_CLASS = st.sampled_from([*_CLASSES, gateway_class(), gateway_class(controller="example.com/other")])
_PUT = st.tuples(st.just("put"), st.one_of(_ANY, _ANY, _ANY, _CLASS))
_DELETE = st.tuples(st.sampled_from(["delete", "force"]), st.one_of(_ANY, _ANY, _ANY, _CLASS))
_DELETE_KEPT = st.tuples(st.just("delete"), st.sampled_from([gateway("a", HTTP), contour("d")]))
"""Those of ``_FIRST`` that somebody else keeps."""
_DIE = st.tuples(st.just("die"), st.integers(1, 6), st.booleans())
_PLACES = st.sampled_from([("Deployment", "contour-a"), ("Deployment", "contour"), ("ClusterRole", "contour-shop-a")])
_OTHERS = st.one_of(
    st.tuples(st.just("restart")),
    st.tuples(st.just("later")),
    st.tuples(st.just("give up")),
    st.tuples(st.just("hold back"), _PLACES),
    st.tuples(st.just("let go"), _PLACES),
    st.tuples(st.just("vanish"), st.sampled_from([("Deployment", "contour-a"), ("ConfigMap", "contour")])),
)
_ROUND = st.tuples(
    st.one_of(_DIE, _DIE, _DIE, _OTHERS),
    st.one_of(_PUT, _PUT, _PUT, _DELETE, _DELETE, _DELETE_KEPT),
    st.tuples(st.just("work"), st.integers(1, 40)),
)
_FIRST = [
    *_CLASSES,
    contour_deployment(),
    _with(_OF_OTHERS, gateway("a", HTTP)),
    early_gateway("e", HTTP),
    _with(_OF_OTHERS, contour("d")),
]
HISTORIES: st.SearchStrategy[list[Step]] = st.lists(_ROUND, min_size=5, max_size=9).map(
    lambda rounds: [step for one in rounds for step in one]
)


def test_whatever_happens_instances_are_those_of_a_compile_from_nothing() -> None:
    live_through(_live, HISTORIES, 0.08, "kept its Service", "kept by somebody else")


async def _live(history: list[Step]) -> set[str]:
    system, seen = GatewaySystem(), set[str]()
    for document in _FIRST:
        await system.put(document)
    await system.work()
    for step in history:
        await _track(system)
        await _take(system, step, seen)
    for kind, name in (("Deployment", "contour-a"), ("Deployment", "contour"), ("ClusterRole", "contour-shop-a")):
        system.cluster.let_go(kind, name, "" if kind == "ClusterRole" else "shop")
    system.start()
    await system.work()
    await system.let_go()
    await system.work()
    await _repair(system)
    if system.services:
        seen.add("kept its Service")
    await system.assert_done()
    system.services.clear()
    await system.let_go(all_of_them=True)
    for namespace, name in _MEETING:
        await is_taken(system.delete(gateway(name, namespace=namespace)))
    for name in ("e", "f"):
        await is_taken(system.delete(early_gateway(name)))
    for name in ("c", "d"):
        await is_taken(system.delete(contour(name)))
    await system.work()
    for one in _CLASSES:
        await is_taken(system.delete(one))
    await system.work()
    assert system.cluster.objects == ()
    assert not await system.documents("manifest") and not await system.documents("observed")
    for kind in ("contour", "gateway", "gateway_v1alpha1", "gateway_class", "gateway_class_v1alpha1"):
        assert not await system.documents(kind), "a finalizer without a reason"
    return seen


async def _repair(system: GatewaySystem) -> None:
    """Make valid what is left, so that nothing is on hold: what is on hold is as history left it."""
    for document in (*_CLASSES, contour_deployment()):
        await is_taken(system.put(document))
    await system.work()
    for document in (*_CLASSES, contour_deployment()):
        # One that was being deleted is gone only now.
        await is_taken(system.put(document))
    for kind, make in (("gateway", gateway), ("gateway_v1alpha1", early_gateway)):
        for namespace, name in await system.documents(kind):
            await is_taken(system.put(make(name, HTTP, namespace=namespace)))
    for (_, name), found in (await system.documents("contour")).items():
        await is_taken(system.put(contour(name, instance=found["namespace"]["name"])))
    await system.work()


async def _track(system: GatewaySystem) -> None:
    """Note which of Envoy's Services must go on: those of owners that stay."""
    for namespace, name in _MEETING:
        found = await system.document("gateway", namespace, name)
        system.must_go_on(f"envoy-{name}", namespace, live=found is not None and _stays(found))
    early, contours = await system.documents("gateway_v1alpha1"), await system.documents("contour")
    has_class = bool(await system.documents("gateway_class_v1alpha1"))
    # One that never held the namespace is no candidate while its class is gone.
    candidates = [one for one in early.values() if has_class or EARLY_GATEWAY in one["metadata"].get("finalizers", ())]
    for instance in set(_INSTANCES):
        holders = [one for one in contours.values() if one["namespace"]["name"] == instance]
        holders += candidates if instance == "shop" else ()
        system.must_go_on("envoy", instance, live=any(map(_stays, holders)))


def _stays(document: Document) -> bool:
    return "deletionTimestamp" not in document["metadata"]


async def _take(system: GatewaySystem, step: Step, seen: set[str]) -> None:
    cluster = system.cluster
    match step:
        case ("put", document):
            if document["kind"] == "Contour":
                # It may want another namespace now.
                system.services.clear()
            await is_taken(system.put(document))
            await work_or_die(system, 0, seen)
        case ("delete" | "force" as verb, document):
            if document["kind"] in ("Gateway", "Contour"):
                system.services.clear()
            if await is_taken(system.delete(document, by_force=verb == "force")):
                seen.add("removed by force" if verb == "force" else "deleted while it runs")
                if await system.is_kept(document):
                    seen.add("kept by somebody else")
            # Not before the compiler has seen it is anything tracked again.
            await work_or_die(system, 0, seen)
        case ("die", count, made):
            system.start(dies_at=count, made=made)
        case ("restart",):
            system.start()
        case ("later",):
            system.pass_time()
        case ("give up",):
            if await system.let_go():
                seen.add("given up by somebody else")
        case ("work", steps):
            await work_or_die(system, steps, seen)
        case ("hold back", (kind, name)):
            cluster.hold_back(kind, name, "" if kind == "ClusterRole" else "shop")
        case ("let go", (kind, name)):
            cluster.let_go(kind, name, "" if kind == "ClusterRole" else "shop")
        case ("vanish", (kind, name)) if cluster.get(kind, name, "shop") is not None:
            cluster.remove(kind, name, "shop")
