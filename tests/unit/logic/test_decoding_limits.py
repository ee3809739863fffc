"""Values from etcd that exceed a limit or are invalid are held with the reason, and never end the process."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intentc.loading import load_schema
from intentc.logic.cache import Held
from intentc.logic.decoding import DEEPEST_VALUE, MOST_LINKS, decoded
from intentc.model import Change, Resource
from intentc.model.limits import LARGEST_VALUE, deeper_than
from tests.property.profiles import share

SCHEMA = load_schema("contrail")
GROUP = SCHEMA.kind("security_group")
NETWORK = SCHEMA.kind("virtual_network")
NAME = ["default-domain", "p", "g"]


def arrived(value: Any, kind: Any = GROUP) -> Any:
    raw = value if isinstance(value, bytes) else msgspec.json.encode(value)
    return decoded(kind, Change(kind.name, "u1", raw, 3, 7))


def nested(levels: int) -> bytes:
    return b'{"fq_name": ["a", "b", "c"], "unknown": ' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"


def reason(state: Any) -> str:
    assert isinstance(state, Held)
    return state.problem.reason


def test_a_value_that_is_too_large_is_held_under_its_name() -> None:
    state = arrived({"fq_name": NAME, "display_name": "x" * LARGEST_VALUE})
    assert reason(state) == "TooLarge"
    assert (state.fq_name, state.problem.name, state.problem.source) == (
        tuple(NAME),
        ":".join(NAME),
        "security_group/u1@7",
    )
    assert "1,572,864 are the most" in state.problem.message


def test_a_value_of_just_the_largest_size_is_taken() -> None:
    room = LARGEST_VALUE - len(msgspec.json.encode({"fq_name": NAME, "display_name": ""}))
    assert isinstance(arrived({"fq_name": NAME, "display_name": "x" * room}), Resource)


def test_what_cant_be_read_names_the_commands_that_end_it() -> None:
    uuid = "5b0f0000-0000-4000-8000-000000000001"
    state: Any = decoded(GROUP, Change("security_group", uuid, b"no JSON", 3, 7))
    assert "replace it with `intentc apply FILE`" in state.problem.message
    assert f"`intentc delete --kind security_group {uuid}`" in state.problem.message


def test_a_key_that_ends_in_no_uuid_is_held_whatever_its_value_is() -> None:
    raw = msgspec.json.encode({"fq_name": NAME})
    state: Any = decoded(GROUP, Change("security_group", "%FF%FE", raw, 3, 7))
    assert reason(state) == "Malformed"
    assert state.problem.message.endswith("; delete it with `intentc delete --kind security_group %FF%FE`")


def test_nesting_is_limited() -> None:
    assert isinstance(arrived(nested(DEEPEST_VALUE)), Resource)
    assert reason(arrived(nested(DEEPEST_VALUE + 1))) == "TooDeep"


def test_references_are_limited() -> None:
    def network(count: int) -> dict[str, Any]:
        return {"fq_name": NAME, "network_policy_refs": [{"uuid": f"u{n}"} for n in range(count)]}

    assert isinstance(arrived(network(MOST_LINKS), NETWORK), Resource)
    state = arrived(network(MOST_LINKS + 1), NETWORK)
    assert reason(state) == "TooManyReferences"
    assert "names 10,001 others; 10,000 are the most" in state.problem.message


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"null",
        b"[]",
        b"7",
        b"{",
        b'{"fq_name": "a"}',
        b'{"fq_name": [7]}',
        b'{"fq_name": ["a"], "uuid": "another"}',
        b'{"fq_name": ["\xff"]}',
        b'{"fq_name": ["\\ud800"]}',
        b'{"fq_name": ["a"], "parent_uuid": {}}',
        b'{"fq_name": ["a"], "annotations": {"key_value_pair": [7]}}',
        b'{"fq_name": ["a"], "virtual_network_properties": {"vxlan_network_identifier": ' + b"9" * 5_000 + b"}}",
        b"[" * 1_000_000,
        b'{"a":' * 200_000,
        b'{"fq_name": ["a"], "display_name": ' + b"[" * 200_000,
    ],
)
def test_what_is_no_resource_is_held(raw: bytes) -> None:
    assert reason(arrived(raw, NETWORK)) in {"Malformed", "TooDeep"}


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**400), 10**400) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_FIELDS = sorted({*NETWORK.properties, *(f"{name}_refs" for name in NETWORK.relations), "annotations", "parent_type"})


@share(1)
@given(st.dictionaries(st.sampled_from(_FIELDS), _JSON, max_size=4))
def test_any_json_in_a_field_is_read_or_held(fields: dict[str, Any]) -> None:
    raw = json.dumps({"fq_name": NAME, **fields}).encode()
    state = decoded(NETWORK, Change("virtual_network", "u1", raw, 3, 7))
    assert isinstance(state, Resource | Held)
    assert state.fq_name in {tuple(NAME), ()}


@share(1)
@given(st.binary(max_size=200))
def test_any_bytes_are_held(raw: bytes) -> None:
    assert isinstance(arrived(raw), Held)


def depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


_BRACKETS = st.text(alphabet='{}[]()"\\,:x', max_size=6)


@share(1)
@given(
    st.recursive(
        _BRACKETS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_BRACKETS, inner, max_size=3),
        max_leaves=15,
    ),
    st.integers(0, 6),
)
def test_depth_is_measured_as_a_parser_would_whatever_texts_contain(value: Any, levels: int) -> None:
    assert deeper_than(msgspec.json.encode(value), levels) is (depth(value) > levels)
