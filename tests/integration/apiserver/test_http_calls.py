"""The calls of docs/contrail.md B.1 and B.2 over HTTP, on a real etcd: paths, bodies, statuses, headers."""

from __future__ import annotations

from typing import Any

import httpx2
import msgspec
import pytest

from intentc.watch.etcd import EtcdStore
from intentc.watch.protocol import Put

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

PROJECT = ["default-domain", "default-project"]


async def create(client: httpx2.AsyncClient, kind: str, name: str, **fields: Any) -> dict[str, Any]:
    answer = await client.post(f"/{kind}s", json={kind: {"fq_name": [*PROJECT, name], **fields}})
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()[kind]
    return made


async def test_the_root_shows_the_operation_limit_and_the_collections(client: httpx2.AsyncClient) -> None:
    about = (await client.get("/")).json()
    assert about["max_txn_ops"] == 1024
    assert about["fence"] is True
    assert f"{about['href']}/virtual-networks" in [link["link"]["href"] for link in about["links"]]


async def test_create_get_update_delete(client: httpx2.AsyncClient, etcd_store: EtcdStore, path: str) -> None:
    body: dict[str, Any] = {"network-policy": {"fq_name": [*PROJECT, "p"], "to": [*PROJECT, "p"]}, "field_mask": {}}
    created = await client.post("/network-policys", json=body)
    uuid = created.json()["network-policy"]["uuid"]
    key = f"/{path}/network_policy/{uuid}"
    stored = (await etcd_store.range(key)).items[0]
    assert created.status_code == 200
    assert created.headers["X-Etcd-Revision"] == str(stored.mod_revision)
    assert msgspec.json.decode(stored.value) == created.json()["network-policy"]

    shown = await client.get(f"/network-policy/{uuid}")
    assert shown.json()["network-policy"]["href"].endswith(f"/network-policy/{uuid}")
    assert shown.headers["X-Etcd-Revision"] == str(stored.mod_revision)

    change = {"network-policy": {"display_name": "x"}}
    updated = await client.put(f"/network-policy/{uuid}", json=change)
    assert updated.json() == {"network-policy": {"uuid": uuid, "display_name": "x"}}
    assert int(updated.headers["X-Etcd-Revision"]) > stored.mod_revision

    deleted = await client.delete(f"/network-policy/{uuid}")
    assert (deleted.status_code, deleted.content) == (200, b"")
    assert deleted.headers["X-Etcd-Revision"]
    assert not (await etcd_store.range(key)).items
    assert (await client.get(f"/network-policy/{uuid}")).status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("POST", "/network-policys", b"{", 400, "can't be read"),
        ("POST", "/network-policys", b"[" * 5000, 400, "nested deeper"),
        ("POST", "/network-policys", b"{}", 400, "network-policy"),
        ("POST", "/network-policys", b'{"network-policy": 7}', 400, "JSON object"),
        ("POST", "/network-policys", b'{"network-policy": {"nonsense": 1}}', 400, "nonsense"),
        ("POST", "/security-groups", b'{"security-group": {"security_group_id": 9}}', 403, "given by the server"),
        ("POST", "/nonsenses", b"{}", 404, "nonsenses"),
        ("GET", "/nonsense/1", b"", 404, "nonsense"),
        ("GET", "/network-policy/1", b"", 404, "network-policy 1"),
        ("PATCH", "/network-policy/1", b"", 405, ""),
        ("POST", "/domains", b'{"domain": {"name": "default-domain"}}', 409, "exists already"),
        ("POST", "/sync", b'{"resources": [{"kind": "nonsense"}]}', 400, "item 0"),
        ("POST", "/fqname-to-id", b'{"type": "project", "fq_name": ["a", "b"]}', 404, "a:b"),
        ("POST", "/fqname-to-id", b'{"type": "nonsense", "fq_name": ["a"]}', 400, "nonsense"),
        ("POST", "/id-to-fqname", b'{"uuid": "1"}', 404, "1"),
        ("POST", "/ref-update", b'{"operation": "ADD", "type": "virtual-network", "uuid": "1"}', 400, "ref-type"),
        ("POST", "/int-pool", b'{"pool": "nonsense"}', 400, "nonsense"),
        ("DELETE", "/int-pool", b'{"pool": "tag_id"}', 400, "value is missing"),
        ("POST", "/int-pools", b'{"pool": "tag_id", "start": 5, "end": 6}', 409, "overlaps"),
        ("GET", "/network-policys?filters=x", b"", 400, "field==value"),
        ("GET", "/network-policys?page_limit=x", b"", 400, "page_limit"),
        ("GET", "/network-policys?detail=maybe", b"", 400, "detail"),
    ],
)  # fmt: skip
async def test_every_rejection_is_a_message(
    client: httpx2.AsyncClient, method: str, path: str, body: bytes, status: int, words: str
) -> None:
    answer = await client.request(method, path, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == (["message", "item", "detail", "rejected"] if path == "/sync" else ["message"])
    assert words in answer.json()["message"]


async def test_ref_update_is_idempotent_both_ways(client: httpx2.AsyncClient) -> None:
    policy = await create(client, "network-policy", "p")
    network = await create(client, "virtual-network", "n")
    body = {
        "operation": "ADD",
        "type": "virtual-network",
        "uuid": network["uuid"],
        "ref-type": "network-policy",
        "ref-uuid": policy["uuid"],
        "ref-fq-name": None,
        "attr": None,
    }
    for operation, count in (("ADD", 1), ("ADD", 1), ("DELETE", 0), ("DELETE", 0)):
        answer = await client.post("/ref-update", json={**body, "operation": operation})
        assert (answer.status_code, answer.json()) == (200, {"uuid": network["uuid"]})
        shown = (await client.get(f"/virtual-network/{network['uuid']}")).json()["virtual-network"]
        assert len(shown.get("network_policy_refs", [])) == count
    assert (await client.post("/ref-update", json={**body, "operation": "TOGGLE"})).status_code == 400
    assert (await client.post("/ref-update", json={**body, "ref-type": "domain"})).status_code == 400
    assert (await client.post("/ref-update", json={**body, "uuid": policy["uuid"]})).status_code == 404


async def test_a_relaxed_reference_lets_its_target_go(client: httpx2.AsyncClient) -> None:
    policy = await create(client, "network-policy", "p")
    network = await create(client, "virtual-network", "n", network_policy_refs=[{"uuid": policy["uuid"]}])
    assert (await client.delete(f"/network-policy/{policy['uuid']}")).status_code == 409
    answer = await client.post("/ref-relax-for-delete", json={"uuid": network["uuid"], "ref-uuid": policy["uuid"]})
    assert answer.json() == {"uuid": network["uuid"]}
    assert (await client.delete(f"/network-policy/{policy['uuid']}")).status_code == 200


async def test_names_and_ids(client: httpx2.AsyncClient) -> None:
    uuid = (await client.post("/fqname-to-id", json={"type": "project", "fq_name": PROJECT})).json()["uuid"]
    answer = await client.post("/id-to-fqname", json={"uuid": uuid})
    assert answer.json() == {"type": "project", "fq_name": PROJECT}


async def test_lists_in_all_their_forms(client: httpx2.AsyncClient) -> None:
    made = [await create(client, "network-policy", name) for name in "abc"]
    whole = (await client.get("/network-policys")).json()["network-policys"]
    assert {one["name"] for one in whole} == {"a", "b", "c"}
    assert whole[0]["href"].endswith(whole[0]["uuid"])
    assert (await client.get("/network-policys?count=true")).json() == {"network-policys": {"count": 3}}
    detailed = (await client.get("/network-policys?detail=true&filters=name==a,name==b&exclude_hrefs=true")).json()
    assert [list(one) for one in detailed["network-policys"]] == [["network-policy"]] * 2
    assert "href" not in detailed["network-policys"][0]["network-policy"]
    project = made[0]["parent_uuid"]
    for query in (
        f"parent_id={project}",
        "parent_type=project&parent_fq_name_str=default-domain:default-project",
        f"obj_uuids={','.join(one['uuid'] for one in made)}",
        "page_limit=3&shared=true",
        "fields=name",
    ):
        assert len((await client.get(f"/network-policys?{query}")).json()["network-policys"]) == 3
    assert (await client.get("/network-policys?back_ref_id=1")).json() == {"network-policys": []}


async def test_sync_is_one_transaction(client: httpx2.AsyncClient, etcd_store: EtcdStore, path: str) -> None:
    uuid = "5b0f0000-0000-4000-8000-000000000001"
    items = [
        {"kind": "network_policy", "data": {"fq_name": ["default-domain", "p", "x"]}},
        {"kind": "project", "operation": "CREATE", "data": {"uuid": uuid, "fq_name": ["default-domain", "p"]}},
    ]
    answer = await client.post("/sync", json={"resources": items})
    assert [(event["kind"], event["operation"]) for event in answer.json()] == [
        ("project", "CREATE"),
        ("network_policy", "CREATE"),
    ]
    revision = int(answer.headers["X-Etcd-Revision"])
    stored = (await etcd_store.range(f"/{path}/", f"/{path}0", min_mod_revision=revision)).items
    assert {item.mod_revision for item in stored} == {revision}
    assert [item.key.split("/")[2] for item in stored] == ["application_policy_set", "network_policy", "project"]


async def test_number_pools(client: httpx2.AsyncClient) -> None:
    pool = {"pool": "route_target_number"}
    for _ in range(2):
        answer = await client.post("/int-pool", json={**pool, "owner": "default/u/rt"})
        assert answer.json() == {"value": 8000100}
    assert (await client.get("/int-pool?pool=route_target_number&value=8000100")).json() == {"owner": "default/u/rt"}
    assert (await client.get("/int-pool?pool=route_target_number&owner=default/")).json() == {
        "allocations": [{"owner": "default/u/rt", "value": 8000100}]
    }
    assert (await client.post("/int-pool", json={**pool, "value": 8000100})).status_code == 400
    for _ in range(2):
        assert (await client.request("DELETE", "/int-pool", json={**pool, "value": 8000100})).status_code == 200
    assert (await client.post("/int-pools", json={"pool": "mine", "start": 1, "end": 2})).status_code == 200
    assert (await client.request("DELETE", "/int-pools", json={"pool": "mine"})).status_code == 200
    family = {"pool": "service_chain_vlan:host", "owner": "default/u/v"}
    assert (await client.post("/int-pool", json=family)).json() == {"value": 1}
    assert (await client.get("/int-pool?pool=service_chain_vlan:&owner=default/")).json() == {
        "allocations": [{**family, "value": 1}]
    }


async def test_a_malformed_value_hides_nothing_else(
    client: httpx2.AsyncClient, etcd_store: EtcdStore, path: str
) -> None:
    await create(client, "network-policy", "good")
    key = f"/{path}/network_policy/bad"
    await etcd_store.transaction((), [Put(key, b'{"fq_name": 7')])
    assert len((await client.get("/network-policys")).json()["network-policys"]) == 1
    answer = await client.get("/network-policy/bad")
    assert answer.status_code == 422
    assert key in answer.json()["message"]
    assert (await client.delete("/network-policy/bad")).status_code == 200
    assert (await client.get("/network-policy/bad")).status_code == 404
