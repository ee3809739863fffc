"""Fields that are accepted and not stored: who owns them, and how a client learns it."""

from __future__ import annotations

from typing import Any

import httpx2
import msgspec
import pytest

pytestmark = pytest.mark.anyio

SERVICES = "/api/v1/namespaces/shop/services"
INGRESSES = "/apis/networking.k8s.io/v1beta1/namespaces/shop/ingresses"
MERGE = {"content-type": "application/merge-patch+json"}
JSON_PATCH = {"content-type": "application/json-patch+json"}
APPLY = {"content-type": "application/apply-patch+yaml"}
AFFINITY = ['299 - "unknown field \\"spec.sessionAffinity\\": accepted, not stored"']


async def apply(kube: httpx2.AsyncClient, manager: str, url: str, **manifest: Any) -> httpx2.Response:
    kind = {SERVICES: ("v1", "Service"), INGRESSES: ("networking.k8s.io/v1beta1", "Ingress")}[url.rpartition("/")[0]]
    content = msgspec.yaml.encode({"apiVersion": kind[0], "kind": kind[1], **manifest})
    return await kube.patch(f"{url}?fieldManager={manager}", content=content, headers=APPLY)


def owned(answer: httpx2.Response) -> dict[str, Any]:
    assert answer.is_success, answer.text
    return {one["manager"]: one["fieldsV1"] for one in answer.json()["metadata"].get("managedFields", ())}


def warned(answer: httpx2.Response) -> list[str]:
    assert answer.is_success, answer.text
    return answer.headers.get_list("warning")


async def test_managers_who_apply_the_same_undeclared_field_do_not_conflict(kube: httpx2.AsyncClient) -> None:
    spec = {"type": "ClusterIP", "sessionAffinity": "None", "ports": [{"port": 80, "nodePort": 30000}]}
    for manager in ("a", "b", "a"):
        answer = await apply(kube, manager, f"{SERVICES}/s", spec=spec)
    fields: dict[str, Any] = {"f:type": {}, "f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}}}
    assert owned(answer) == {"a": {"f:spec": fields}, "b": {"f:spec": fields}}
    assert answer.json()["spec"] == {"type": "ClusterIP", "ports": [{"port": 80}]}
    conflict = await apply(kube, "b", f"{SERVICES}/s", spec={"type": "NodePort", "sessionAffinity": "ClientIP"})
    assert [one["field"] for one in conflict.json()["details"]["causes"]] == [".spec.type"]


@pytest.mark.parametrize(
    "manifest",
    [
        {"spec": {"sessionAffinity": "None"}},
        {"spec": {"type": "ClusterIP"}, "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}},
        {"metadata": {"labels": {}}, "spec": {"type": "ClusterIP"}},
        {"data": {"undeclared": "x"}, "spec": {"type": "ClusterIP"}},
    ],
)
async def test_nobody_conflicts_about_what_is_not_stored(kube: httpx2.AsyncClient, manifest: dict[str, Any]) -> None:
    for manager in ("a", "b", "a", "b"):
        owned(await apply(kube, manager, f"{SERVICES}/s", **manifest))


async def test_fields_of_an_older_version_are_owned_where_they_stand_in_it(kube: httpx2.AsyncClient) -> None:
    spec = {"backend": {"serviceName": "web", "servicePort": 80}, "undeclared": 1}
    for manager in ("a", "b"):
        answer = await apply(kube, manager, f"{INGRESSES}/i", spec=spec)
    backend: dict[str, Any] = {"f:serviceName": {}, "f:servicePort": {}}
    assert owned(answer) == {key: {"f:spec": {"f:backend": backend}} for key in "ab"}
    assert warned(answer) == ['299 - "unknown field \\"spec.undeclared\\": accepted, not stored"']
    wrong = await apply(kube, "a", f"{INGRESSES}/i", spec="x")
    assert (wrong.status_code, wrong.json()["reason"]) == (422, "Invalid")


async def test_a_write_warns_of_each_field_that_is_not_stored(kube: httpx2.AsyncClient) -> None:
    body = {"metadata": {"name": "s"}, "spec": {"type": "ClusterIP", "sessionAffinity": "None"}}
    url = f"{SERVICES}/s"
    assert warned(await kube.post(f"{SERVICES}?dryRun=All", json=body)) == AFFINITY
    made = await kube.post(SERVICES, json=body)
    assert warned(made) == AFFINITY
    assert warned(await kube.put(url, json={**body, "metadata": made.json()["metadata"]})) == AFFINITY
    assert warned(await kube.patch(url, json={"spec": {"sessionAffinity": "None"}}, headers=MERGE)) == AFFINITY
    patch = [{"op": "add", "path": "/spec/ports", "value": [{"port": 80}, {"port": 81, "nodePort": 1}]}]
    assert warned(await kube.patch(url, json=patch, headers=JSON_PATCH)) == [
        '299 - "unknown field \\"spec.ports[1].nodePort\\": accepted, not stored"'
    ]
    assert warned(await apply(kube, "a", url, spec={"sessionAffinity": "None"})) == AFFINITY
    assert warned(await kube.patch(url, json={"spec": {"type": "NodePort"}}, headers=MERGE)) == []
    assert warned(await kube.get(url)) == []


async def test_warnings_are_bounded_and_printable(kube: httpx2.AsyncClient) -> None:
    spec = {'a"\r\nX: é\\': 1, "b" * 10_000: 1, **{f"c{at}": 1 for at in range(100)}}
    found = warned(await kube.post(SERVICES, json={"metadata": {"name": "s"}, "spec": spec}))
    assert found[0] == r'299 - "unknown field \"spec.a\"\\r\\nX: \\xe9\\\": accepted, not stored"'
    assert len(found) == 11
    assert found[10] == '299 - "there are more unknown fields: accepted, not stored"'
    assert sum(map(len, found)) < 2_000
