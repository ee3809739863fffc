"""What can happen to a gateway's world, beside users' changes: replacements, drift of elements, values that are spoilt.

The steps are those of ``steps.py`` over Ambassador's kinds; which manifests there are is left to ``gateways.py``. The
kinds of ``BEYOND_THE_ORACLE`` come besides, for whoever compares with a compile from nothing only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

from intentc.model import Key
from intentc.model.kind import Writer
from intentc.plugins import Loaded, find_compilers, load_all
from tests.oracle.ambassador_manifests import Json
from tests.property.gateways import (
    BEYOND_THE_ORACLE,
    KINDS,
    NAMESPACES,
    SERVICES,
    ApplyManifest,
    RemoveManifest,
    anything,
    families,
    fq_name,
    gateways,
)
from tests.property.steps import DeleteLower, Step, fault_steps_over, picked
from tests.simulation.simulated_system import SimulatedSystem

LOADED: Loaded = load_all(find_compilers(["ambassador"]))
ELEMENTS = tuple(kind for kind in LOADED.schema.kinds if kind.startswith("envoy_") and kind != "envoy_rejection")
WRITTEN = {
    name
    for kind in ELEMENTS
    for name, declared in LOADED.schema.kind(kind).properties.items()
    if declared.writer is Writer.COMPILER
}
"""The fields of elements that are the compiler's."""

FOREIGN: Json = {"name": "somebody else's"}
"""The ``config`` of elements that others make."""

_which = st.integers(0, 11)


def _manifests(kind: str, names: tuple[str, ...], *specs: Json) -> st.SearchStrategy[Json]:
    return st.builds(
        lambda name, namespace, spec: {
            "apiVersion": "getambassador.io/v3alpha1",
            "kind": kind,
            "metadata": {"name": name, "namespace": namespace},
            "spec": spec,
        },
        st.sampled_from(names),
        st.sampled_from(NAMESPACES),
        st.sampled_from(specs),
    )


_others = st.one_of(
    *(_manifests(kind, ("endpoint", "near"), {}) for kind in BEYOND_THE_ORACLE if kind.endswith("Resolver")),
    _manifests(
        "LogService",
        ("log", "log.v2"),
        *({"service": name, "driver": "http", "protocol_version": "v3"} for name in SERVICES),
    ),
    _manifests("RateLimitService", ("rates", "more"), *({"service": name} for name in SERVICES)),
    _manifests("TracingService", ("traces", "more"), *({"service": name, "driver": "zipkin"} for name in SERVICES)),
)


@st.composite
def _users_manifests(draw: st.DrawFn) -> Json:
    return draw(_of_all_kinds)


@st.composite
def begins(draw: st.DrawFn) -> list[Json]:
    """What users begin with. A function, since Hypothesis writes out what strategies are made of, and complains of the
    length."""
    return draw(gateways)


_of_all_kinds = st.one_of(*[anything] * 5, _others)


class Family(NamedTuple):
    """A user creates or replaces several that match the same."""

    manifests: tuple[Json, ...]

    async def apply(self, system: SimulatedSystem) -> None:
        for manifest in self.manifests:
            await ApplyManifest(manifest).apply(system)


class ReplaceManifest(NamedTuple):
    """A user deletes and creates in one transaction: another uuid under the same name."""

    manifest: Json

    async def apply(self, system: SimulatedSystem) -> None:
        kind = KINDS[self.manifest["kind"]]
        uuid = await system.uuid(kind, fq_name(self.manifest))
        removal = [{"kind": kind, "operation": "DELETE", "data": {"uuid": uuid}}] if uuid else []
        await system.sync([*removal, {"kind": kind, "operation": "CREATE", "data": self.manifest}])


class EditElement(NamedTuple):
    """Somebody writes something else into one of the compiler's elements."""

    kind: str
    which: int

    async def apply(self, system: SimulatedSystem) -> None:
        found = picked(await system.world(), self.kind, self.which)
        if found is not None:
            await system.update(Key(self.kind, found["uuid"]), {"config": {"name": "not the compiler's"}})


class ForeignElement(NamedTuple):
    """Somebody else makes an element where the compiler made one: it is adopted, or is nobody's if none is wanted there
    any more."""

    kind: str
    which: int

    async def apply(self, system: SimulatedSystem) -> None:
        found = picked(await system.world(), self.kind, self.which)
        if found is not None:
            await system.delete(self.kind, tuple(found["fq_name"]))
            await system.put(self.kind, tuple(found["fq_name"]), {"config": FOREIGN})


users_steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(ApplyManifest, _users_manifests()),
    st.builds(ApplyManifest, _users_manifests()),
    st.builds(Family, families.map(tuple)),
    st.builds(ReplaceManifest, _users_manifests()),
    st.builds(RemoveManifest, _users_manifests()),
)
"""What users do to manifests."""

drift_steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(DeleteLower, st.sampled_from(ELEMENTS), _which, st.just(False)),
    st.builds(EditElement, st.sampled_from(ELEMENTS), _which),
    st.builds(ForeignElement, st.sampled_from(ELEMENTS), _which),
)
"""What others do to Envoy's elements."""

fault_steps: st.SearchStrategy[Step] = fault_steps_over(sorted(KINDS.values()))


def relations(begin: list[Any]) -> set[str]:
    """How manifests relate: ``group`` (two Mappings that match the same), ``selected`` (a Host has a selector)."""
    found = {"selected"} if any("mappingSelector" in one["spec"] for one in begin if one["kind"] == "Host") else set()
    mappings = [one["spec"] for one in begin if one["kind"] == "Mapping"]
    matched = [(spec["prefix"], spec.get("hostname"), str(spec.get("headers"))) for spec in mappings]
    return found | ({"group"} if len(set(matched)) < len(matched) else set())
