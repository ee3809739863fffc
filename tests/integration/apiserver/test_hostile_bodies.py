"""Bodies that are made to stop the server, over real HTTP: each is rejected with words, and everybody else is served.

A server that ends, or holds its loop, fails the test by the request that follows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import httpx2
import pytest

from intentc.apiserver.auth import Keystone, StaticRole, StaticUser
from intentc.apiserver.authorization import Mode, Policy
from intentc.loading import bodies, load_schema
from intentc.model import Schema
from intentc.watch.memory import MemoryStore
from tests.support.api_server import served
from tests.support.loop_holds import LONGEST, measured_holds
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.http]

MAPPING = "/apis/getambassador.io/v3alpha1/namespaces/shop/mappings/m"
APPLY = {"content-type": "application/apply-patch+yaml"}
JSON = {"content-type": "application/json"}
HEAD = b"apiVersion: getambassador.io/v3alpha1\nkind: Mapping\nmetadata:\n  name: m\nspec: "


def aliases(levels: int, width: int) -> bytes:
    """Each level repeats the one before ``width`` times."""
    lines = [b"a0: &a0 [" + b"x," * width + b"]"]
    lines += [b"a%d: &a%d [%s]" % (n, n, b",".join([b"*a%d" % (n - 1)] * width)) for n in range(1, levels)]
    return b"\n".join(lines) + b"\n"


def deep_aliases() -> bytes:
    """Each alias adds sixty levels."""
    lines = [b"a0: &a0 " + b"[" * 60 + b"]" * 60]
    lines += [b"a%d: &a%d " % (n, n) + b"[" * 60 + b"*a%d" % (n - 1) + b"]" * 60 for n in range(1, 60)]
    return b"\n".join(lines)


def deep_merges() -> bytes:
    lines = [b"a0: &a0 {k: v}"]
    lines += [b"a%d: &a%d {<<: [%s]}" % (n, n, b",".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 12)]
    return b"\n".join(lines)


MANY = bodies.MOST_VALUES
YAML = {
    "60,000 brackets": (b"[" * 60_000, 400, "nested deeper than 64 levels"),
    "60,000 brackets in a manifest": (HEAD + b"[" * 60_000, 400, "nested deeper than 64 levels"),
    "60,000 block lists": (b"- " * 60_000, 400, "nested deeper than 64 levels"),
    "422 bytes of aliases": (aliases(9, 9)[:422], 400, "aliases"),
    "474 bytes of aliases": (aliases(10, 9), 400, "aliases"),
    "levels that aliases add": (deep_aliases(), 400, "nested deeper than 64 levels"),
    "merges of merges": (deep_merges(), 400, "aliases"),
    "an anchor that is given again": (b"a: &x 1\nb: &x [*x, *x]\nc: &x [*x, *x]\nd: *y\n", 400, "alias *y"),
    "a text in many lines": (HEAD + b"\n  {prefix: " + b"a\n" * 700_000, 400, "can't be read"),
    "many values": (HEAD + b"[" + b"a," * MANY + b"]", 413, "100,000 values"),
    "many bytes": (HEAD + b"'" + b"a" * 1_600_000 + b"'", 413, "bytes of YAML"),
    "a number as a key": (HEAD + b"{prefix: /, 7: x}", 400, "the key 7 is no text; write it in quotes"),
    "a key that is a list": (HEAD + b"{[a]: x}", 400, "a key must be a plain text"),
    "a tag": (HEAD + b"!!python/object:os.system {}", 400, "tag"),
    "several documents": (HEAD + b"{}\n---\na: b\n", 400, "one document"),
    "no UTF-8": (HEAD + b"\xff", 400, "utf-8"),
    "a long number": (HEAD + b"9" * 5_000, 400, "number is too long"),
    "a control character": (HEAD + b"\x00", 400, "no valid YAML"),
}  # fmt: skip
BODY = b'{"virtual-network": {"fq_name": ["default-domain", "default-project", "n"], "display_name": %s}}'
JSONS = {
    "60,000 brackets": (b"[" * 60_000, 400, "nested deeper than 64 levels"),
    "60,000 brackets in a field": (BODY % (b"[" * 60_000), 400, "nested deeper than 64 levels"),
    "65 levels of objects": (b'{"a":' * 65 + b"1" + b"}" * 65, 400, "nested deeper than 64 levels"),
    "many lists": (BODY % (b"[" + b"[]," * MANY + b"[]]"), 413, "100,000 values"),
    "just as many as allowed": (BODY % (b"[" + b"[]," * (MANY // 2 - 10) + b"[]]"), 400, "display_name"),
    "many fields": (b"{" + b",".join(b'"%d":1' % n for n in range(MANY - 2)) + b"}", 400, "virtual-network"),
    "many texts": (BODY % (b"[" + b'"",' * (MANY - 10) + b'""]'), 400, "display_name"),
    "many quotes": (BODY % (b'"' * 4_000_000), 413, "100,000 values"),
    "many backslashes": (BODY % (b'"' + b"\\" * 4_000_000 + b'"') + b"[" * 65, 400, "can't be read"),
    "long numbers": (BODY % (b"[" + b",".join([b"7" * 4_200] * 900) + b"]"), 400, "32 digits"),
    "many fractions": (BODY % (b"[" + b",".join([b"1.23456789012345678901e-300"] * 50_000) + b"]"), 413, "fractions"),
    "long fractions": (BODY % (b"[" + b",".join([b"1.2345678901234567890123456789e-300"] * 24_000) + b"]"), 400, ""),
    "an exponent": (BODY % b"1e999", 400, "out of range"),
    "more bytes than are read": (BODY % (b'"' + b"x" * bodies.LARGEST + b'"'), 413, "4,194,304 bytes"),
    "half a surrogate pair": (BODY % b'"\\ud800"', 400, "can't be read"),
    "no number": (BODY % b"NaN", 400, "can't be read"),
    "no UTF-8": (BODY % b'"\xff"', 400, "can't be read"),
    "nothing": (b"", 400, "can't be read"),
}  # fmt: skip


@pytest.fixture(scope="module")
def schema() -> Schema:
    return load_schema("ambassador", "contrail")


@pytest.fixture
async def api(schema: Schema, path: str) -> AsyncIterator[httpx2.AsyncClient]:
    store = MemoryStore()
    async with served(store, schema, path) as client:
        yield client
    await store.close()


@pytest.mark.parametrize(
    ("method", "url", "headers", "cases"),
    [("PATCH", f"{MAPPING}?fieldManager=t", APPLY, YAML), ("POST", "/virtual-networks", JSON, JSONS)],
    ids=["yaml", "json"],
)
async def test_a_body_beyond_a_limit_is_rejected(
    api: httpx2.AsyncClient, method: str, url: str, headers: dict[str, str], cases: dict[str, tuple[bytes, int, str]]
) -> None:
    for what, (raw, status, words) in cases.items():
        await api.get("/healthz")
        with measured_holds() as holds:
            answer = await api.request(method, url, content=raw, headers=headers)
        assert (answer.status_code, words in answer.json()["message"]) == (status, True), (what, answer.text)
        assert (await api.get("/readyz")).status_code == 200
        assert holds.longest < LONGEST, (what, holds.by)


WITH_BODIES = [
    ("POST", "/sync"), ("POST", "/ref-update"), ("POST", "/ref-relax-for-delete"), ("POST", "/fqname-to-id"),
    ("POST", "/id-to-fqname"), ("POST", "/prop-collection-update"), ("POST", "/int-pools"),
    ("DELETE", "/int-pools"), ("POST", "/int-pool"), ("DELETE", "/int-pool"), ("POST", "/virtual-networks"),
    ("PUT", "/virtual-network/u"), ("PUT", "/mapping/u/status"), ("POST", "/keystone/v3/auth/tokens"),
    ("POST", MAPPING.removesuffix("/m")), ("PUT", MAPPING), ("DELETE", MAPPING), ("DELETE", MAPPING.removesuffix("/m")),
]  # fmt: skip


async def test_every_call_that_takes_a_body_limits_its_nesting(schema: Schema) -> None:
    store = MemoryStore()
    async with served(store, schema, "limits", keystone=Keystone([user("admin")])) as client:
        headers = JSON | {"x-auth-token": await token(client, "admin")}
        for method, path in WITH_BODIES:
            answer = await client.request(method, path, content=b"[" * 60_000, headers=headers)
            assert answer.status_code == 400, (method, path, answer.text)
            assert "nested deeper than 64 levels" in answer.json()["message"]
    await store.close()


def user(name: str) -> StaticUser:
    return StaticUser(name, name, lambda: "p", roles=(StaticRole(name, "project", "project"),))


async def token(client: httpx2.AsyncClient, name: str) -> str:
    identity = {"methods": ["password"], "password": {"user": {"name": name, "password": "p"}}}
    answer = await client.post("/keystone/v3/auth/tokens", json={"auth": {"identity": identity}})
    return answer.headers["x-subject-token"]


READS = {"rule_object": "virtual-network", "rule_perms": [{"role_name": "member", "role_crud": "R"}]}
"""All that a member may do."""
WRITES = [
    ("PATCH", MAPPING, APPLY), ("PATCH", MAPPING, {"content-type": "application/json-patch+json"}),
    ("PUT", MAPPING, JSON), ("POST", MAPPING.removesuffix("/m"), JSON), ("DELETE", MAPPING, JSON),
    ("POST", "/virtual-networks", JSON), ("PUT", "/virtual-network/5b0f0000-0000-4000-8000-000000000001", JSON),
    ("PUT", "/mapping/5b0f0000-0000-4000-8000-000000000002/status", JSON), ("POST", "/int-pools", JSON),
]  # fmt: skip


@pytest.mark.parametrize(("role", "status"), [("", 401), ("member", 403)])
async def test_an_unauthorized_write_is_rejected_before_its_body_is_read(
    schema: Schema, role: str, status: int
) -> None:
    store = MemoryStore()
    keystone, policy = Keystone([user("admin"), user("member")]), Policy(Mode.RBAC)
    async with served(store, schema, "rights", keystone=keystone, policy=policy) as client:
        admin = {"x-auth-token": await token(client, "admin")}
        rules = {
            "fq_name": ["default-global-system-config", "members"],
            "parent_type": "global-system-config",
            "api_access_list_entries": {"rbac_rule": [READS]},
        }
        assert (await client.post("/api-access-lists", json={"api-access-list": rules}, headers=admin)).is_success
        asked = {"x-auth-token": await token(client, role)} if role else {}
        for method, called, media in WRITES:
            answer = await begun(client, method, called, asked | media)
            assert answer.split()[1] == str(status).encode(), (method, called, answer)
        for called in (f"{MAPPING.removesuffix('/m')}?labelSelector=((", "/mappings?filters=nonsense"):
            assert (await client.get(called, headers=asked)).status_code == status, called
    await store.close()


async def begun(client: httpx2.AsyncClient, method: str, path: str, headers: dict[str, str]) -> bytes:
    """The answer to a request whose body never arrives: who reads it waits for it."""
    head = {"host": "localhost", "content-length": "1000", **headers}
    lines = [f"{method} {path}?fieldManager=t HTTP/1.1", *(f"{name}: {value}" for name, value in head.items())]
    with anyio.fail_after(PATIENCE):
        async with await anyio.connect_tcp("127.0.0.1", client.base_url.port or 0) as stream:
            await stream.send("\r\n".join([*lines, "", "["]).encode())
            return await stream.receive()
