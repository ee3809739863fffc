"""Whatever headers, parameters and bodies an HTTP request has, the answer is no failure of the server."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import msgspec
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.app import create_app
from intentc.apiserver.auth import Keystone, StaticRole, StaticUser
from intentc.apiserver.startup import write_seeds
from intentc.loading import load_schema
from intentc.watch.memory import MemoryStore

from .conftest import PROJECT

NETWORK, POLICY = "5b0f0000-0000-4000-8000-000000000001", "5b0f0000-0000-4000-8000-000000000002"
LOG_IN = "/keystone/v3/auth/tokens"
MARK = '"here"'

BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/ref-update"): {
        "operation": "ADD", "type": "virtual-network", "uuid": NETWORK, "ref-type": "network-policy",
        "ref-uuid": POLICY, "ref-fq-name": ["a"], "attr": {"sequence": {"major": 1}}, "relaxed": True,
    },
    ("POST", "/ref-relax-for-delete"): {"uuid": NETWORK, "ref-uuid": POLICY},
    ("POST", "/fqname-to-id"): {"type": "virtual-network", "fq_name": [*PROJECT, "n"]},
    ("POST", "/id-to-fqname"): {"uuid": NETWORK},
    ("POST", "/prop-collection-update"): {
        "uuid": NETWORK,
        "updates": [{"field": "annotations", "operation": "set", "value": {"key": "a"}, "position": "a"}],
    },
    ("POST", "/sync"): {
        "resources": [
            {"kind": "virtual_network", "operation": "UPDATE", "data": {"uuid": NETWORK, "display_name": "a"},
             "if_match": 1, "if_none_match": False, "relaxed": ["x"]},
        ],
    },
    ("POST", "/int-pools"): {"pool": "p", "start": 1, "end": 5},
    ("DELETE", "/int-pools"): {"pool": "p"},
    ("POST", "/int-pool"): {"pool": "route_target_number", "owner": "o", "value": 8000200},
    ("DELETE", "/int-pool"): {"pool": "route_target_number", "owner": "o", "value": 8000200},
    ("POST", "/virtual-networks"): {
        "virtual-network": {
            "fq_name": [*PROJECT, "m"], "parent_type": "project", "annotations": {"key_value_pair": [{"key": "a"}]},
            "network_policy_refs": [{"uuid": POLICY, "attr": {"sequence": {"major": 1}}}],
        },
    },
    ("PUT", f"/virtual-network/{NETWORK}"): {
        "virtual-network": {"display_name": "d", "annotations": {"key_value_pair": [{"key": "a", "value": "b"}]}},
        "field_mask": {"paths": ["display_name", "annotations.key_value_pair.key"]}, "relaxed": ["x"],
    },
    ("POST", LOG_IN): {
        "auth": {
            "identity": {"methods": ["password"], "password": {"user": {"id": "a", "password": "x"}}},
            "scope": {"project": {"id": "p"}},
        },
    },
    ("DELETE", f"/network-policy/{POLICY}"): None,
    ("GET", f"/virtual-network/{NETWORK}"): None,
    ("GET", "/virtual-networks"): None,
    ("GET", "/int-pool"): None,
    ("GET", "/prop-collection-get"): None,
}  # fmt: skip
NEEDED = {"/prop-collection-get": {"uuid": NETWORK, "fields": "annotations"}}
"""Path → the parameters without which a call reads nothing."""
TEXTS = st.one_of(
    st.sampled_from(
        ["²", "9" * 5_000, "-1", "1.5", "1e999", "*", "", "a/", "a/²", "a/0", f"a/{2**64}", "\x00", "../x", "a==b",
         "a==", "[", "x==" + "[" * 9_000, "fq_name==[", "true", "text/plain", "é", "1,2,,"],
    ),
    st.text(st.characters(min_codepoint=1, max_codepoint=255, exclude_characters="\r\n"), max_size=5),
)  # fmt: skip
ATOMS = st.sampled_from(
    [b"null", b"true", b"-1", b"0", b"9" * 5_000, b"1.5", b"1e400", b'"\\ud800"', b'"\xed\xa0\x80"', b'"\xff"', b"NaN",
     b'"\\u0000"', b'""', b'"a/b"', b'"' + b"a" * 3_000 + b'"', b"[]", b"[null]", b'["x"]', b"[[1]]", b"{}", b'{"a":1}',
     b"18446744073709551616", b"9223372036854775808", b"{", '"²"'.encode(), b'["annotations.key_value_pair.x"]',
     b'["nonsense.x"]', b'["fq_name.x"]', b'["a' + b".a" * 5_000 + b'"]', b"[" * 9_000],
)  # fmt: skip
HEADERS = st.dictionaries(
    st.sampled_from(["if-match", "if-none-match", "x-intentc-fence", "x-auth-token", "origin", "host", "content-type"]),
    TEXTS,
    max_size=2,
)
PARAMETERS = st.dictionaries(
    st.sampled_from(
        ["filters", "parent_id", "parent_type", "parent_fq_name_str", "back_ref_id", "obj_uuids", "fields",
         "page_limit", "page_marker", "shared", "count", "detail", "exclude_hrefs", "exclude_children",
         "exclude_back_refs", "uuid", "position", "pool", "owner", "value"],
    ),
    TEXTS,
    max_size=2,
)  # fmt: skip


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in entries for place in ((*path, key), *_places(inner, (*path, key)))]


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, bytes, dict[str, str], dict[str, str]]:
    (method, path), body = draw(st.sampled_from(list(BODIES.items())))
    headers = {"content-type": "application/json"}
    if body is None:
        return method, path, b"", headers | draw(HEADERS), NEEDED.get(path, {}) | draw(PARAMETERS)
    body = copy.deepcopy(body)
    *steps, last = draw(st.sampled_from(_places(body)))
    target = body
    for step in steps:
        target = target[step]
    target[last] = "here"
    raw = msgspec.json.encode(body).replace(MARK.encode(), draw(ATOMS))
    return method, path, raw, headers | draw(HEADERS), {}


@asynccontextmanager
async def _serving() -> AsyncIterator[httpx2.AsyncClient]:
    store = MemoryStore()
    server = ApiServer(store, load_schema("contrail"))
    await write_seeds(server)
    await server.create("virtual_network", {"fq_name": [*PROJECT, "n"], "uuid": NETWORK})
    await server.create("network_policy", {"fq_name": [*PROJECT, "p"], "uuid": POLICY})
    open_to_all = create_app(server)
    keystone = create_app(server, Keystone([StaticUser("a", "A", lambda: "x", roles=(StaticRole("r", "p", "p"),))]))

    async def app(scope: Any, receive: Any, send: Any) -> None:
        # An exception of the application is one of the test: the transport raises it.
        await (keystone if scope["path"] == LOG_IN else open_to_all)(scope, receive, send)

    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://api") as client:
        yield client
    await store.close()


@pytest.fixture(scope="module")
def api() -> Iterator[tuple[BlockingPortal, httpx2.AsyncClient]]:
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(_serving()) as client:
        yield portal, client


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(requests())
def test_every_request_is_answered_or_rejected_with_a_message(
    api: tuple[BlockingPortal, httpx2.AsyncClient], request_: tuple[str, str, bytes, dict[str, str], dict[str, str]]
) -> None:
    portal, client = api
    method, path, body, headers, parameters = request_

    async def send() -> httpx2.Response:
        encoded = {name.encode(): value.encode("latin-1") for name, value in headers.items()}
        return await client.request(method, path, content=body, headers=encoded, params=parameters)

    answer = portal.call(send)
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        assert 0 < len(answer.json()["message"]) < 10_000


@pytest.mark.parametrize("resource", [True, 7, "x", [], ["fq_name"]])
def test_a_resource_is_an_object(api: tuple[BlockingPortal, httpx2.AsyncClient], resource: Any) -> None:
    portal, client = api
    calls: list[tuple[str, str, Any]] = [
        ("PUT", f"/virtual-network/{NETWORK}", {"virtual-network": resource}),
        ("POST", "/virtual-networks", {"virtual-network": resource}),
        ("POST", "/sync", {"resources": [{"kind": "virtual_network", "operation": "UPDATE", "data": resource}]}),
    ]
    for method, path, body in calls:

        async def send(method: str = method, path: str = path, body: Any = body) -> httpx2.Response:
            return await client.request(method, path, json=body)

        assert portal.call(send).status_code == 400, (method, path)


async def _rejected_mask(client: httpx2.AsyncClient, path: str) -> httpx2.Response:
    body = {"virtual-network": {"annotations": {"key_value_pair": []}}, "field_mask": {"paths": [path]}}
    return await client.put(f"/virtual-network/{NETWORK}", json=body)


@pytest.mark.parametrize("path", ["annotations.key_value_pair.key", "nonsense.x", "display_name.x"])
def test_a_field_mask_stores_nothing_that_the_schema_does_not_know(
    api: tuple[BlockingPortal, httpx2.AsyncClient], path: str
) -> None:
    portal, client = api
    before = portal.call(client.get, f"/virtual-network/{NETWORK}").json()
    assert portal.call(_rejected_mask, client, path).status_code == 400
    assert portal.call(client.get, f"/virtual-network/{NETWORK}").json() == before


@pytest.mark.parametrize("digits", ["9" * 5_000, "²", "٣"])
def test_numbers_in_texts_are_rejected_that_are_none(
    api: tuple[BlockingPortal, httpx2.AsyncClient], digits: str
) -> None:
    """Protocols and route targets are texts that hold numbers; ``int`` raises on more than 4,300 digits."""
    portal, client = api
    rule = {"protocol": digits, "src_addresses": [{"security_group": "local"}], "dst_addresses": []}
    bodies: list[tuple[str, dict[str, Any]]] = [
        ("security-group", {"fq_name": [*PROJECT, "g"], "security_group_entries": {"policy_rule": [rule]}}),
        ("route-target", {"fq_name": [f"target:1:{digits}"]}),
    ]
    for kind, body in bodies:

        async def send(kind: str = kind, body: dict[str, Any] = body) -> httpx2.Response:
            return await client.post(f"/{kind}s", json={kind: body})

        answer = portal.call(send)
        assert answer.status_code == 400, (kind, answer.text)
