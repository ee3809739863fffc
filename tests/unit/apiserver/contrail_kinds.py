"""One resource of each kind of Contrail that users may create, and values of their fields, right and wrong.

Why it exists: what holds for all kinds (they are served, garbage is rejected, relations are shown) is tested for all of
them, so a kind that is added to the schema is tested without a line here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from intentc.apiserver.api_server import ApiServer
from intentc.loading import load_schema
from intentc.model import Kind, kebab
from intentc.model.types import SCALARS, FieldSpec

PROJECT = ["default-domain", "default-project"]
SCHEMA = load_schema("contrail")
SEEDED = {
    "global_system_config": ["default-global-system-config"],
    "domain": ["default-domain"],
    "project": PROJECT,
    "virtual_network": [*PROJECT, "ip-fabric"],
    "routing_instance": [*PROJECT, "ip-fabric", "ip-fabric"],
}
"""Kind → the name of the server's own resource that serves as the one of its kind."""

SERVED = [kind for kind in SCHEMA if kind.stored and kind.name != "config_root"]

_WRONG: dict[str, tuple[Any, ...]] = {
    "string": (7, True, ["x"], {"x": "y"}),
    "integer": ("x", True, 1.5, ["x"], {"x": "y"}),
    "boolean": (7, "x", ["x"], {"x": "y"}),
}


async def one_of_each(server: ApiServer) -> dict[str, str]:
    """Kind → the uuid of a resource of it. ``server`` has its seeds."""
    made = {kind: await server.identify(kind, name) for kind, name in SEEDED.items()}
    waiting = [kind for kind in SERVED if kind.name not in made]
    while waiting:
        ready = [kind for kind in waiting if not kind.parents or made.keys() & {parent.kind for parent in kind.parents}]
        assert ready, f"no parent exists for {waiting}"
        for kind in ready:
            body = new(kind, made, "one")
            made[kind.name] = (await server.create(kind.name, body)).document["uuid"]
        waiting = [kind for kind in waiting if kind.name not in made]
    return made


def new(kind: Kind, made: dict[str, str], name: str) -> dict[str, Any]:
    """The least that a resource of ``kind`` needs. ``made``: kind → the uuid of a possible parent."""
    body: dict[str, Any] = {"fq_name": [name]}
    parent = next((parent.kind for parent in kind.parents if parent.kind in made), "")
    if parent:
        body = {"name": name, "parent_type": kebab(parent), "parent_uuid": made[parent]}
    elif kind.parents:
        body["parent_type"] = "config-root"
    if kind.name == "route_target":
        body["fq_name"] = [f"target:64600:{sum(name.encode())}"]
    if kind.name == "virtual_machine_interface":
        body["virtual_network_refs"] = [{"uuid": made["virtual_network"]}]
    needed: dict[str, dict[str, Any]] = {
        "bgp_router": {"bgp_router_parameters": {"router_type": "control-node"}},
        "network_ipam": {"ipam_subnet_method": "flat-subnet"},
        "tag": {"tag_type_name": "site", "tag_value": name},
    }
    return body | needed.get(kind.name, {})


def fields_of(kind: Kind) -> dict[str, FieldSpec]:
    """The structure of each property of ``kind``, and of each attribute as ``<relation>_refs``."""
    properties = {name: declared.spec for name, declared in kind.properties.items()}
    attributes = {f"{r.name}_refs": FieldSpec(type=r.attribute) for r in kind.relations.values() if r.attribute}
    return properties | attributes


def element_of(kind: Kind, field: str) -> FieldSpec:
    """The structure of the elements of a collection."""
    return next(
        FieldSpec(type=one.list) for one in kind.types.fields(kind.properties[field].spec.type).values() if one.list
    )


def wrong_values(kind: Kind, spec: FieldSpec) -> Iterator[Any]:
    """Values of a field with one wrong type each, at every place of its structure."""
    if spec.list:
        yield from ("x", 7, {"x": "y"})
        yield from ([wrong] for wrong in wrong_values(kind, FieldSpec(type=spec.list)))
    elif spec.type in SCALARS:
        yield from _WRONG.get(spec.type, ())
    else:
        yield from ("x", 7, ["x"])
        for name, inner in kind.types.fields(spec.type).items():
            yield from ({name: wrong} for wrong in wrong_values(kind, inner))


TEXTS = st.sampled_from(
    ["", "x", "a:b:c", "any", "local", "-1", "9" * 30, "²", "\x00", "a/b", "é" * 300, "10.0.0.0", "10.0.0.0/24",
     "10.0.0.0/99", "0.0.0.0/0", "::1", "fd00::/64", "::ffff:1.2.3.4", "target:1:2", "target:64512:8000001",
     "target:a:b", "target:" + "9" * 30 + ":1", "0xffff", "1.0", "default-domain:default-project:ip-fabric", "tcp"],
)  # fmt: skip
NUMBERS = st.sampled_from([-(2**70), -1, 0, 1, 4, 6, 32, 33, 64, 128, 129, 4095, 65_535, 2**32, 2**63, 2**64, 2**70])
JUNK = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS, st.sampled_from([1.5, [], {}, [[1]], [None], {"x": [{}]}]))


def values(kind: Kind, spec: FieldSpec) -> st.SearchStrategy[Any]:
    """Values of a field, nearly all with the right types, and with texts and numbers that rules may stumble over."""
    return st.one_of(_well_typed(kind, spec), JUNK) if spec.type in SCALARS else _well_typed(kind, spec)


def _well_typed(kind: Kind, spec: FieldSpec) -> st.SearchStrategy[Any]:
    if spec.list:
        return st.lists(st.deferred(lambda: values(kind, FieldSpec(type=spec.list))), max_size=2)
    if spec.enum:
        return st.one_of(st.sampled_from(spec.enum), TEXTS)
    if spec.type == "string":
        return TEXTS
    if spec.type == "integer":
        return NUMBERS
    if spec.type == "boolean":
        return st.booleans()
    if spec.type in SCALARS:
        return JUNK
    inner = {name: st.deferred(lambda field=field: values(kind, field))  # type: ignore[misc]
             for name, field in kind.types.fields(spec.type).items()}  # fmt: skip
    return st.fixed_dictionaries({}, optional=inner)
