"""The sample tenant: complete, deterministic, and readable as every kind says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from intentc.loading import Loaded, load_resources
from intentc.model.events import Change
from intentc.model.schema import Schema

SEEDED = {("network_ipam", "default-domain:default-project:default-network-ipam")}


@pytest.fixture
def tenant(contrail: Schema) -> list[Loaded]:
    return load_resources(Path(__file__).parents[3] / "sample" / "tenant.yml", contrail)


def test_it_has_what_the_compiler_has_work_with(tenant: list[Loaded]) -> None:
    assert Counter(item.kind for item in tenant) == {
        "project": 1,
        "virtual_network": 2,
        "security_group": 2,
        "virtual_machine_interface": 4,
        "instance_ip": 2,
        "logical_router": 1,
        "floating_ip_pool": 1,
        "floating_ip": 1,
    }


def test_every_resource_decodes_and_has_only_known_fields(tenant: list[Loaded], contrail: Schema) -> None:
    for item in tenant:
        kind = contrail.kind(item.kind)
        assert set(item.data) <= set(kind.values_type.__struct_fields__), item.source
        raw = msgspec.json.encode(item.data)
        assert kind.decode(Change(item.kind, item.data["uuid"], raw, 1, 1)).fq_name == tuple(item.data["fq_name"])


def test_references_lead_to_what_stands_before_them_or_is_seeded(tenant: list[Loaded], contrail: Schema) -> None:
    seen = set(SEEDED)
    for item in tenant:
        for relation in contrail.kind(item.kind).relations:
            for entry in item.data.get(f"{relation}_refs", []):
                assert (relation, ":".join(entry["to"])) in seen, item.source
        seen.add((item.kind, ":".join(item.data["fq_name"])))


def test_its_groups_name_each_other(tenant: list[Loaded], contrail: Schema) -> None:
    named = {}
    for item in tenant:
        if item.kind == "security_group":
            raw = msgspec.json.encode(item.data)
            resource = contrail.kind(item.kind).decode(Change(item.kind, item.data["uuid"], raw, 1, 1))
            named[resource.fq_name[-1]] = {link.value.rpartition(":")[2] for link in resource.links}

    assert named == {"web": {"database"}, "database": {"web", "database"}}
