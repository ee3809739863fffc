"""Who may do what through the Kubernetes-compatible API: as through the REST API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import msgspec
import pytest

from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.app import create_app
from intentc.apiserver.auth import Keystone, StaticRole, StaticUser
from intentc.apiserver.authorization import Mode, Policy
from intentc.loading import load_schema
from intentc.watch.memory import MemoryStore

pytestmark = pytest.mark.anyio

MAPPINGS = "/apis/getambassador.io/v3alpha1/namespaces/shop/mappings"
BODY: dict[str, Any] = {"metadata": {"name": "m"}, "spec": {"prefix": "/m/", "service": "web"}}
Client = Callable[[str], httpx2.AsyncClient]


@pytest.fixture
async def client(store: MemoryStore) -> Client:
    """A client with the token of a user: admin, auditor (reads everything), member (no rights); empty: none."""

    def user(name: str) -> StaticUser:
        return StaticUser(name, name, lambda: "p", roles=(StaticRole(name, "project", "project"),))

    keystone = Keystone([user("admin"), user("auditor"), user("member")])
    policy = Policy(Mode.CLOUD_ADMIN, global_read_only_role="auditor")
    app = create_app(ApiServer(store, load_schema("ambassador"), path="t", policy=policy), keystone)

    tokens: dict[str, str] = {}
    for name in ("admin", "auditor", "member"):
        identity = {"methods": ["password"], "password": {"user": {"name": name, "password": "p"}}}
        tokens[name] = (await keystone.log_in({"auth": {"identity": identity}})).text

    def opened(name: str) -> httpx2.AsyncClient:
        headers = {"authorization": f"Bearer {tokens[name]}"} if name else {}
        return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://kube", headers=headers)

    return opened


@pytest.mark.parametrize(
    ("name", "reading", "writing"), [("", 401, 401), ("member", 403, 403), ("auditor", 200, 403), ("admin", 200, 201)]
)
async def test_roles(client: Client, name: str, reading: int, writing: int) -> None:
    async with client(name) as kube:
        for path in ("/api", "/apis", "/openapi/v3", MAPPINGS):
            answer = await kube.get(path)
            assert answer.status_code == reading, path
            assert reading == 200 or answer.json()["kind"] == "Status"
        watching = await kube.get(f"{MAPPINGS}?watch=true&timeoutSeconds=1") if reading != 200 else None
        assert watching is None or watching.status_code == reading
        assert (await kube.post(MAPPINGS, json=BODY)).status_code == writing
        patch = await kube.patch(f"{MAPPINGS}/m", json={}, headers={"content-type": "application/merge-patch+json"})
        assert patch.status_code == (200 if writing == 201 else writing)
        assert (await kube.delete(f"{MAPPINGS}/m")).status_code == (200 if writing == 201 else writing)
        assert (await kube.get("/version")).status_code == 200


async def test_a_body_that_a_web_page_can_send_is_rejected(client: Client) -> None:
    async with client("admin") as kube:
        answer = await kube.post(MAPPINGS, content=b"{}", headers={"content-type": "text/plain"})
        assert answer.status_code == 415
        for headers in ({"origin": "http://kube"}, {"sec-fetch-site": "none"}):
            assert (await kube.post(MAPPINGS, content=b"{}", headers=headers)).status_code == 415


async def test_a_body_without_a_type_is_json_as_python_clients_send_it(client: Client) -> None:
    async with client("admin") as kube:
        answer = await kube.post(MAPPINGS, content=msgspec.json.encode(BODY))
        assert answer.status_code == 201, answer.text
