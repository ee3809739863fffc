"""Unknown fields through the Kubernetes-compatible API: what ``fieldValidation`` makes of them, per kind and place."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

pytestmark = pytest.mark.anyio

MAPPINGS = "/apis/getambassador.io/v3alpha1/namespaces/shop/mappings"
SERVICES = "/api/v1/namespaces/shop/services"
MERGE = {"content-type": "application/merge-patch+json"}
APPLY = {"content-type": "application/apply-patch+yaml"}


def mapping(**metadata: Any) -> dict[str, Any]:
    retries = {"retry_om": "5xx", "num_retries": 1}
    spec = {"prefix": "/m/", "service": "web", "weigth": 3, "retry_policy": retries}
    head = {"apiVersion": "getambassador.io/v3alpha1", "kind": "Mapping"}
    return {**head, "metadata": {"name": "m", "unknown": "x", **metadata}, "spec": spec}


def warned(answer: httpx2.Response) -> list[str]:
    assert answer.is_success, answer.text
    return [text.split('"')[2].rstrip("\\") for text in answer.headers.get_list("warning")]


@pytest.mark.parametrize("verb", ["create", "update", "patch", "apply"])
@pytest.mark.parametrize(
    ("validation", "fields"),
    [("Ignore", []), ("Warn", ["metadata.unknown", "spec.retry_policy.retry_om", "spec.weigth"])],
)
async def test_unknown_fields_are_left_out_if_the_client_requests_it(
    kube: httpx2.AsyncClient, verb: str, validation: str, fields: list[str]
) -> None:
    made = await kube.post(
        MAPPINGS, json={**mapping(), "metadata": {"name": "m"}}, params={"fieldValidation": "Ignore"}
    )
    url, query = f"{MAPPINGS}/m", {"fieldValidation": validation, "fieldManager": "a", "force": "true"}
    if verb == "create":
        await kube.delete(url)
        answer = await kube.post(MAPPINGS, json=mapping(), params=query)
    elif verb == "update":
        version = made.json()["metadata"]["resourceVersion"]
        answer = await kube.put(url, json=mapping(resourceVersion=version), params=query)
    else:
        headers = MERGE if verb == "patch" else APPLY
        answer = await kube.patch(url, json=mapping(), headers=headers, params=query)
    assert sorted(warned(answer)) == fields
    shown = answer.json()
    assert (shown["spec"]["retry_policy"], "weigth" in shown["spec"]) == ({"num_retries": 1}, False)
    assert "unknown" not in shown["metadata"]


async def test_a_strict_client_gets_all_unknown_fields_with_suggestions(kube: httpx2.AsyncClient) -> None:
    answer = await kube.post(f"{MAPPINGS}?fieldValidation=Strict", json=mapping())
    assert (answer.status_code, answer.json()["reason"]) == (400, "BadRequest")
    assert (
        'strict decoding error: unknown field "metadata.unknown", unknown field "spec.weigth"; did you mean weight?, '
        'unknown field "spec.retry_policy.retry_om"; did you mean retry_on?'
    ) in answer.json()["message"]


@pytest.mark.parametrize("verb", ["create", "update", "patch"])
async def test_without_a_request_the_first_unknown_field_is_invalid(kube: httpx2.AsyncClient, verb: str) -> None:
    made = await kube.post(f"{MAPPINGS}?fieldValidation=Ignore", json=mapping())
    metadata = {**made.json()["metadata"], "finalizer": ["x.io/y"]}
    changed = {**made.json(), "metadata": metadata}
    if verb == "create":
        answer = await kube.post(MAPPINGS, json={**changed, "metadata": {"name": "n", "finalizer": ["x.io/y"]}})
    elif verb == "update":
        answer = await kube.put(f"{MAPPINGS}/m", json=changed)
    else:
        answer = await kube.patch(f"{MAPPINGS}/m", json={"metadata": {"finalizer": ["x.io/y"]}}, headers=MERGE)
    assert answer.status_code == 422, answer.text
    assert answer.json()["details"]["causes"][0]["field"] == "metadata.finalizer"
    assert "did you mean finalizers?" in answer.json()["message"]


@pytest.mark.parametrize(
    ("validation", "code", "fields"),
    [
        ("", 201, ["metadata.unknown", "spec.sessionAffinity"]),
        ("Warn", 201, ["metadata.unknown", "spec.sessionAffinity"]),
        ("Ignore", 201, []),
        ("Strict", 400, []),
        ("Often", 422, []),
    ],
)
async def test_only_metadata_of_a_service_can_have_unknown_fields(
    kube: httpx2.AsyncClient, validation: str, code: int, fields: list[str]
) -> None:
    body = {"metadata": {"name": "s", "unknown": "x"}, "spec": {"sessionAffinity": "None"}}
    answer = await kube.post(SERVICES, json=body, params={"fieldValidation": validation})
    assert answer.status_code == code, answer.text
    assert code != 201 or warned(answer) == fields
    del body["metadata"]["unknown"]
    known = await kube.post(f"{SERVICES}?fieldValidation=Strict&dryRun=All", json={**body, "metadata": {"name": "t"}})
    assert warned(known) == ["spec.sessionAffinity"]


async def test_texts_of_a_secret_become_its_data(kube: httpx2.AsyncClient) -> None:
    secrets = "/api/v1/namespaces/shop/secrets"
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "Yg==", "b": "Yw=="}}
    made = await kube.post(secrets, json={**body, "stringData": {"b": "ü"}})
    assert (made.json()["data"], "stringData" in made.json()) == ({"a": "Yg==", "b": "w7w="}, False)
    patched = await kube.patch(f"{secrets}/s", json={"stringData": {"c": ""}}, headers=MERGE)
    assert patched.json()["data"] == {"a": "Yg==", "b": "w7w=", "c": ""}
    applied = {**body, "data": {}, "stringData": {"d": "x"}}
    answer = await kube.patch(f"{secrets}/s?fieldManager=a", json=applied, headers=APPLY)
    assert answer.json()["data"]["d"] == "eA=="
    assert {"f:data": {"f:d": {}}} in [one["fieldsV1"] for one in answer.json()["metadata"]["managedFields"]]
    wrong = await kube.patch(f"{secrets}/s", json={"stringData": {"c": 1}}, headers=MERGE)
    assert wrong.status_code == 422, wrong.text
