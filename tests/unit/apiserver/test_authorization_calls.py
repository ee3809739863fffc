"""Every call of the API server by every sort of caller in every mode, over HTTP in this process: a test per cell.

The table is the one of docs/security.md. A route that is not in it fails here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx2
import pytest

from intentc.apiserver.authorization import Mode

from .tenants import DEMO, Thing, World, opened_world

pytestmark = pytest.mark.anyio

POOL = "route_target_number"


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def world(anyio_backend: str) -> AsyncIterator[World]:
    async with opened_world() as opened:
        yield opened


Call = Callable[[World, Mode, str, Thing], Awaitable[httpx2.Response]]


def to(method: str, path: str, body: Callable[[Thing, str], Any] | None = None) -> Call:
    """A call of ``path``, in which a thing's uuids may stand. ``body``: from the thing and a new name."""

    async def call(world: World, mode: Mode, who: str, thing: Thing) -> httpx2.Response:
        content = None if body is None else body(thing, world.name())
        return await world.call(mode, who, method, path.format(**thing._asdict()), content)

    return call


def reference(operation: str) -> Callable[[Thing, str], Any]:
    return lambda thing, _: {
        "operation": operation, "type": "virtual-network", "uuid": thing.network,
        "ref-type": "network-policy", "ref-uuid": thing.policy, "attr": {"sequence": {"major": 1, "minor": 0}},
    }  # fmt: skip


def sync(operation: str) -> Callable[[Thing, str], Any]:
    return lambda thing, name: {
        "resources": [
            {
                "kind": "network_policy",
                "operation": operation,
                "data": {"fq_name": [*DEMO, name]}
                if operation == "CREATE"
                else {"uuid": thing.policy, "display_name": name},
            }
        ]
    }


def annotate(thing: Thing, name: str) -> Any:
    value = {"key": "k", "value": name}
    return {"uuid": thing.policy, "updates": [{"field": "annotations", "operation": "set", "value": value}]}


# sort → the calls that are allowed alike
CALLS: dict[str, dict[str, Call]] = {
    "read": {
        "get": to("GET", "/network-policy/{policy}"),
        "fqname-to-id": to("POST", "/fqname-to-id", lambda t, _: {"type": "network-policy", "fq_name": t.name}),
        "id-to-fqname": to("POST", "/id-to-fqname", lambda t, _: {"uuid": t.policy}),
        "collection": to("GET", "/prop-collection-get?uuid={policy}&fields=annotations"),
    },
    "write": {
        "create": to("POST", "/network-policys", lambda _, n: {"network-policy": {"fq_name": [*DEMO, n]}}),
        "update": to("PUT", "/network-policy/{policy}", lambda _, n: {"network-policy": {"display_name": n}}),
        "delete": to("DELETE", "/access-control-list/{acl}"),
        "refer": to("POST", "/ref-update", reference("ADD")),
        "let go": to("POST", "/ref-update", reference("DELETE")),
        "relax": to("POST", "/ref-relax-for-delete", lambda t, _: {"uuid": t.network, "ref-uuid": t.policy}),
        "collection": to("POST", "/prop-collection-update", annotate),
        "sync create": to("POST", "/sync", sync("CREATE")),
        "sync update": to("POST", "/sync", sync("UPDATE")),
        "sync create again": to("POST", "/sync", lambda t, n: {"resources": [
            {"kind": "network_policy", "data": {"uuid": t.policy, "display_name": n}}]}),
        "sync delete": to("POST", "/sync", lambda t, _: {"resources": [
            {"kind": "access_control_list", "operation": "DELETE", "data": {"uuid": t.acl}}]}),
    },
    "read numbers": {"numbers": to("GET", f"/int-pool?pool={POOL}"), "metrics": to("GET", "/metrics")},
    "number": {
        "make pool": to("POST", "/int-pools", lambda _, n: {"pool": n, "start": 1, "end": 5}),
        "drop pool": to("DELETE", "/int-pools", lambda _, n: {"pool": n}),
        "allocate": to("POST", "/int-pool", lambda _, n: {"pool": POOL, "owner": n}),
        "free": to("DELETE", "/int-pool", lambda _, n: {"pool": POOL, "owner": n}),
    },
    "output": {
        "update": to("PUT", "/access-control-list/{acl}", lambda _, n: {
            "access-control-list": {"access_control_list_hash": int(n[1:])}}),
        "sync": to("POST", "/sync", lambda t, n: {"resources": [{"kind": "access_control_list", "operation": "UPDATE",
            "data": {"uuid": t.acl, "access_control_list_hash": int(n[1:])}}]}),
        "create": to("POST", "/access-control-lists", lambda t, n: {"access-control-list": {
            "name": n, "parent_type": "virtual-network", "parent_uuid": t.network, "access_control_list_hash": 7}}),
    },
}  # fmt: skip

# (mode, caller) → the sorts that are allowed; every other cell is 403
EVERYTHING = set(CALLS)
TABLE: dict[tuple[Mode, str], set[str]] = {
    **{(Mode.NO_AUTH, who): EVERYTHING for who in ("nobody", "member")},
    (Mode.CLOUD_ADMIN, "roleless"): set(),
    (Mode.CLOUD_ADMIN, "stranger"): set(),
    (Mode.CLOUD_ADMIN, "member"): set(),
    (Mode.CLOUD_ADMIN, "reader"): {"read", "read numbers"},
    (Mode.CLOUD_ADMIN, "admin"): EVERYTHING - {"output"},
    (Mode.CLOUD_ADMIN, "compiler"): EVERYTHING,
    (Mode.RBAC, "roleless"): set(),
    (Mode.RBAC, "stranger"): set(),
    (Mode.RBAC, "member"): {"read", "write"},
    (Mode.RBAC, "reader"): {"read", "read numbers"},
    (Mode.RBAC, "admin"): EVERYTHING - {"output"},
    (Mode.RBAC, "compiler"): EVERYTHING,
}
CELLS = [
    pytest.param(mode, who, sort, name, id=f"{mode.value}-{who}-{sort}-{name}".replace(" ", "_"))
    for (mode, who) in TABLE
    for sort, calls in CALLS.items()
    for name in calls
]


@pytest.mark.parametrize(("mode", "who", "sort", "name"), CELLS)
async def test_a_cell(world: World, mode: Mode, who: str, sort: str, name: str) -> None:
    allowed = sort in TABLE[mode, who]
    thing = await world.thing() if allowed else world.untouched
    before = (await world.store.range("/none/")).revision
    answer = await CALLS[sort][name](world, mode, who, thing)
    assert answer.status_code == (200 if allowed else 403), answer.text
    assert allowed or (await world.store.range("/none/")).revision == before


@pytest.mark.parametrize(("mode", "who"), TABLE)
async def test_a_list_shows_what_one_may_read(world: World, mode: Mode, who: str) -> None:
    thing = await world.thing()
    answer = await world.call(mode, who, "GET", f"/network-policys?obj_uuids={thing.policy}")
    count = await world.call(mode, who, "GET", f"/network-policys?obj_uuids={thing.policy}&count=true")
    if (mode, who) == (Mode.RBAC, "stranger"):
        assert answer.json() == {"network-policys": []}
        assert count.json() == {"network-policys": {"count": 0}}
    elif "read" in TABLE[mode, who]:
        assert [one["uuid"] for one in answer.json()["network-policys"]] == [thing.policy]
        assert count.json() == {"network-policys": {"count": 1}}
    else:
        assert (answer.status_code, count.status_code) == (403, 403)


OPEN = {("/", "GET"), ("/healthz", "GET"), ("/readyz", "GET"), ("/keystone/v3/auth/tokens", "POST")}
"""They say which kinds there are, whether the server is well, and check a password."""
LOG_OUT = ("/keystone/v3/auth/tokens", "DELETE")
"""Whoever has a token may end it: no role is needed, and no body is read."""


@pytest.mark.parametrize("mode", [Mode.CLOUD_ADMIN, Mode.RBAC])
async def test_every_route_asks_who_calls_before_it_reads_a_body(world: World, mode: Mode) -> None:
    transport: Any = world.clients[mode]._transport
    asked = 0
    for route in transport.app.routes:
        for method in route.methods - {"HEAD"}:
            if (route.path, method) in OPEN:
                continue
            path = route.path_format.format(plural="network-policys", kind="network-policy", uuid="u")
            for who, status in (("nobody", 401), ("roleless", 403)):
                answer = await world.call(mode, who, method, path, None if method == "GET" else [])
                wanted = 404 if status == 403 and (route.path, method) == LOG_OUT else status
                assert answer.status_code == wanted, (method, path, who, answer.text)
            asked += 1
    # Two of them are for kinds with a status, which Contrail has none of: ``test_statuses.py``.
    assert asked == 18 + 2 + 1, "a new route needs a line in CALLS"
