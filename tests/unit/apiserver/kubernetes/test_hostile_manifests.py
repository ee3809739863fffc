"""Parts of requests to the Kubernetes-compatible API that have a wrong type are rejected with words."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

pytestmark = pytest.mark.anyio

MAPPINGS = "/apis/getambassador.io/v3alpha1/namespaces/shop/mappings"
SPEC = {"prefix": "/m/", "service": "web"}


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"dryRun": -1}, "$.dryRun"),
        ({"dryRun": "All"}, "$.dryRun"),
        ({"dryRun": [1]}, "$.dryRun[0]"),
        ({"preconditions": 7}, "$.preconditions"),
        ({"preconditions": {"uid": 7}}, "$.preconditions.uid"),
        ({"propagationPolicy": {}}, "$.propagationPolicy"),
    ],
)
async def test_options_of_a_deletion_have_types(kube: httpx2.AsyncClient, options: Any, place: str) -> None:
    answer = await kube.request("DELETE", f"{MAPPINGS}/m", json=options)
    assert (answer.status_code, place in answer.json()["message"]) == (400, True), answer.text


@pytest.mark.parametrize("finalizers", [7, True, "x", {"a": 1}, [1], [None], [["a"]]])
async def test_finalizers_are_a_list_of_texts(kube: httpx2.AsyncClient, finalizers: Any) -> None:
    sent = {"metadata": {"name": "m", "finalizers": finalizers}, "spec": SPEC}
    answer = await kube.post(MAPPINGS, json=sent)
    assert (answer.status_code, answer.json()["message"]) == (400, "metadata.finalizers must be a list of texts")
    await kube.post(MAPPINGS, json={"metadata": {"name": "m"}, "spec": SPEC})
    answer = await kube.patch(f"{MAPPINGS}/m", json=sent, headers={"content-type": "application/merge-patch+json"})
    assert answer.status_code == 400, answer.text


async def test_a_field_of_digits_is_unknown(kube: httpx2.AsyncClient) -> None:
    await kube.post(MAPPINGS, json={"metadata": {"name": "m"}, "spec": SPEC})
    patch = [{"op": "add", "path": "/spec/" + "9" * 5_000, "value": 1}]
    answer = await kube.patch(f"{MAPPINGS}/m", json=patch, headers={"content-type": "application/json-patch+json"})
    assert (answer.status_code, "no field '999" in answer.json()["message"]) == (422, True), answer.text
