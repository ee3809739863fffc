"""The status of a resource has calls of its own, and no other write changes it (docs/engine.md §5.8)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from intentc.apiserver.api_server import ApiServer, Call
from intentc.apiserver.app import create_app
from intentc.apiserver.authorization import Caller, Mode, Policy
from intentc.apiserver.errors import BadRequest, Forbidden, NotFound, PreconditionFailed
from intentc.apiserver.resources import Condition
from intentc.model import Key
from intentc.watch.memory import MemoryStore
from tests.support.gate_system import Clock, gates

pytestmark = pytest.mark.anyio

READY = {"type": "Ready", "status": "True", "reason": "Open"}


@pytest.fixture
def server() -> ApiServer:
    return ApiServer(MemoryStore(), gates().schema, source=Clock())


async def made(server: ApiServer, **fields: Any) -> Key:
    created = await server.create("gate", {"fq_name": ["a"], "text": "ok", **fields})
    return Key("gate", created.document["uuid"])


async def stored(server: ApiServer, key: Key) -> dict[str, Any]:
    return (await server.get(key)).document


async def test_a_status_changes_nothing_else(server: ApiServer) -> None:
    key = await made(server)
    before = await stored(server, key)
    answer = await server.update_status(key, {"status": {"state": "red"}})
    after = await stored(server, key)
    assert answer.document == {"uuid": key.uuid, "status": {"state": "red"}}
    assert after == before | {"status": {"state": "red"}}


async def test_other_writes_leave_the_status_alone(server: ApiServer) -> None:
    key = await made(server, status={"state": "given"})
    assert "status" not in await stored(server, key)
    await server.update_status(key, {"status": {"state": "red"}})
    await server.update(key, {"text": "other", "status": {"state": "blue"}})
    await server.update(key, {"text": "whole", "status": {}}, paths=["text", "status"])
    found = await stored(server, key)
    assert (found["text"], found["status"]) == ("whole", {"state": "red"})
    await server.sync([{"kind": "gate", "operation": "UPDATE", "data": {"uuid": key.uuid, "status": None}}])
    assert (await stored(server, key))["status"] == {"state": "red"}


async def test_single_items_are_written_and_cleared(server: ApiServer) -> None:
    key = await made(server)
    await server.update_status(key, {"status": {"state": "red", "phase": "dusk"}})
    await server.update_status(key, {"status": {"conditions": [READY]}}, items=["conditions[Ready]", "state"])
    found = (await stored(server, key))["status"]
    assert (found["phase"], [one["type"] for one in found["conditions"]], "state" in found) == (
        "dusk",
        ["Ready"],
        False,
    )
    await server.update_status(key, {}, items=["conditions[Ready]"])
    assert (await stored(server, key))["status"] == {"phase": "dusk"}


async def test_conditions_get_the_time_at_which_their_status_changed(server: ApiServer) -> None:
    key = await made(server)

    async def times(*conditions: dict[str, str]) -> list[str]:
        answer = await server.update_status(key, {"status": {"conditions": list(conditions)}})
        return [one["lastTransitionTime"] for one in answer.document["status"]["conditions"]]

    (first,) = await times(READY)
    (again, lit) = await times(READY | {"reason": "Wide"}, READY | {"type": "Lit"})
    assert again == first < lit
    assert (await times(READY | {"status": "False"}))[0] > lit
    assert await times(READY | {"lastTransitionTime": "2020-01-01T00:00:00Z"}) == ["2020-01-01T00:00:00Z"]


async def test_an_equal_status_writes_nothing(server: ApiServer) -> None:
    key = await made(server)
    first = await server.update_status(key, {"status": {"state": "red", "conditions": [READY]}})
    again = await server.update_status(key, {"status": {"state": "red", "conditions": [READY]}})
    assert again.revision == first.revision


async def test_it_is_compared_and_set_and_needs_its_resource(server: ApiServer) -> None:
    key = await made(server)
    revision = (await server.get(key)).revision
    await server.update_status(key, {"status": {"state": "red"}}, call=Call(condition=Condition(revision)))
    with pytest.raises(PreconditionFailed):
        await server.update_status(key, {"status": {"state": "blue"}}, call=Call(condition=Condition(revision)))
    with pytest.raises(NotFound):
        await server.update_status(Key("gate", "00000000-0000-4000-8000-000000000000"), {"status": {}})


@pytest.mark.parametrize(
    ("body", "items", "said"),
    [
        ({"status": {"stat": "red"}}, None, "status has no field 'stat'; did you mean state?"),
        ({"status": {"state": 1}}, None, "status.state"),
        ({"status": ["red"]}, None, "status must be an object"),
        ({"status": {}}, ["stat"], "status has no item 'stat'"),
        ({"status": {}, "status_claims": {"installation": "", "items": []}}, None, "status_claims must be"),
    ],
)
async def test_what_is_wrong_is_named(server: ApiServer, body: Any, items: list[str] | None, said: str) -> None:
    key = await made(server)
    with pytest.raises(BadRequest) as error:
        await server.update_status(key, body, items=items)
    assert said in error.value.message


async def test_a_kind_without_a_status_has_no_such_call(server: ApiServer) -> None:
    created = await server.create("lamp", {"fq_name": ["l"]})
    with pytest.raises(BadRequest, match="lamp has no status"):
        await server.update_status(Key("lamp", created.document["uuid"]), {"status": {}})


async def test_a_batch_carries_statuses(server: ApiServer) -> None:
    key = await made(server)
    claims = {"installation": "one", "items": ["state"]}
    item = {"kind": "gate", "operation": "UPDATE_STATUS", "field_mask": {"paths": ["state"]}}
    data = {"uuid": key.uuid, "status": {"state": "red"}, "status_claims": claims}
    applied, _ = await server.sync([item | {"data": data}, {"kind": "gate", "data": {"fq_name": ["b"]}}])
    assert [one.operation for one in applied] == ["CREATE", "UPDATE_STATUS"]
    found = await stored(server, key)
    assert (found["status"], found["status_claims"]) == ({"state": "red"}, {"one": ["state"]})


async def test_a_write_by_others_leaves_the_items_that_compilers_claim(server: ApiServer) -> None:
    policy = Policy(mode=Mode.CLOUD_ADMIN, compiler_users=frozenset({"compiler"}))
    guarded = ApiServer(server.store, server.schema, source=Clock(), policy=policy)
    key = await made(server)
    compiler = Caller(user_id="compiler", roles=frozenset({policy.cloud_admin_role}))
    person = Caller(user_id="person", roles=frozenset({policy.cloud_admin_role}))
    claims = {"installation": "one", "items": ["state"]}
    await guarded.update_status(key, {"status": {"state": "red"}, "status_claims": claims}, call=Call(compiler))
    await guarded.update_status(key, {"status": {"phase": "dusk"}}, items=["phase"], call=Call(person))
    with pytest.raises(Forbidden, match="state of its status"):
        await guarded.update_status(key, {"status": {"state": "blue"}}, items=["state"], call=Call(person))
    with pytest.raises(Forbidden, match="the record of what compilers claim"):
        await guarded.update_status(key, {"status_claims": claims}, items=[], call=Call(person))
    assert (await stored(server, key))["status"] == {"state": "red", "phase": "dusk"}


@pytest.fixture
async def http(server: ApiServer) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(create_app(server))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


async def test_over_http(server: ApiServer, http: httpx2.AsyncClient) -> None:
    key = await made(server)
    path = f"/gate/{key.uuid}/status"
    assert (await http.get(path)).json() == {"gate": {"uuid": key.uuid, "fq_name": ["a"], "status": {}}}
    answer = await http.put(path, json={"gate": {"status": {"state": "red", "phase": "dusk"}}})
    assert (answer.status_code, answer.json()["gate"]["status"]) == (200, {"state": "red", "phase": "dusk"})
    mask = {"field_mask": {"paths": ["state"]}}
    assert (await http.put(path, json={"gate": {"status": {"state": "blue"}}, **mask})).status_code == 200
    assert (await http.put(path, json={"gate": {"status": {}}, "field_mask": {"paths": []}})).status_code == 200
    found = await http.get(path)
    assert found.json()["gate"]["status"] == {"state": "blue", "phase": "dusk"}
    revision = found.headers["X-Etcd-Revision"]
    stale = {"If-Match": str(int(revision) - 1)}
    assert (await http.put(path, json={"gate": {"status": {}}}, headers=stale)).status_code == 412
    assert (await http.get("/lamp/00000000-0000-4000-8000-000000000000/status")).status_code == 404
