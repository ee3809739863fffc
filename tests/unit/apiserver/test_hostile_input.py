"""Whatever a client sends, the server rejects it with a message or takes it: it never fails, never half writes."""

from __future__ import annotations

import copy
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intentc.apiserver import requests
from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.errors import ApiError, BadRequest
from intentc.apiserver.startup import write_seeds
from intentc.loading import load_schema
from intentc.watch.memory import MemoryStore
from tests.property.profiles import share

from .conftest import PROJECT

SCHEMA = load_schema("contrail")

JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.text(max_size=5),
    st.just([]),
    st.just({}),
    st.just([[1]]),
    st.just([{"uuid": 7}]),
    st.just([{"to": [["x"]]}]),
    st.just({"policy_rule": [None]}),
    st.just({"route_target": [1]}),
)

BODIES: list[tuple[str, dict[str, Any]]] = [
    (
        "security_group",
        {
            "fq_name": [*PROJECT, "g"],
            "security_group_entries": {
                "policy_rule": [
                    {
                        "protocol": "any",
                        "ethertype": "IPv4",
                        "src_addresses": [{"security_group": "local"}],
                        "dst_addresses": [{"subnet": {"ip_prefix": "10.0.0.0", "ip_prefix_len": 8}}],
                    }
                ]
            },
        },
    ),
    (
        "virtual_network",
        {
            "fq_name": [*PROJECT, "n"],
            "uuid": "5b0f0000-0000-4000-8000-000000000001",
            "parent_type": "project",
            "virtual_network_properties": {"vxlan_network_identifier": 9},
            "network_ipam_refs": [{"to": [*PROJECT, "default-network-ipam"], "attr": {"ipam_subnets": []}}],
        },
    ),
    (
        "virtual_machine_interface",
        {
            "name": "i",
            "parent_type": "project",
            "virtual_network_refs": [{"to": [*PROJECT, "ip-fabric"]}],
            "annotations": {"key_value_pair": [{"key": "a", "value": "b"}]},
        },
    ),
    ("logical_router", {"fq_name": [*PROJECT, "r"], "virtual_network_refs": [{"to": [*PROJECT, "ip-fabric"]}]}),
]


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in entries for place in ((*path, key), *_places(inner, (*path, key)))]


@st.composite
def _spoilt(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    kind, body = copy.deepcopy(draw(st.sampled_from(BODIES)))
    for _ in range(draw(st.integers(0, 2))):
        *path, last = draw(st.sampled_from(_places(body)))
        target: Any = body
        for step in path:
            target = target[step]
        target[last] = copy.deepcopy(draw(JUNK))
    return kind, body


@pytest.mark.parametrize("levels", [65, 100_000])
def test_a_body_that_is_nested_too_deep_is_rejected_before_it_is_read(levels: int) -> None:
    with pytest.raises(BadRequest, match="nested deeper than 64 levels"):
        requests.decode(b"[" * levels + b"]" * levels, list[Any])


def test_a_body_that_is_nested_as_deep_as_allowed_is_read() -> None:
    assert requests.decode(b"[" * 64 + b"]" * 64, list[Any])


@share(1)
@given(_spoilt(), st.booleans())
def test_spoilt_resources_are_taken_or_rejected(spoilt: tuple[str, dict[str, Any]], in_batch: bool) -> None:
    kind, body = spoilt

    async def run() -> None:
        store = MemoryStore()
        server = ApiServer(store, SCHEMA)
        await write_seeds(server)
        before = (await store.range("/")).revision
        try:
            if in_batch:
                await server.sync([{"kind": kind, "data": body}])
            else:
                await server.create(kind, body)
        except ApiError as error:
            assert 400 <= error.status < 500, error
            assert error.message
            assert (await store.range("/")).revision == before
        await store.close()

    anyio.run(run)
