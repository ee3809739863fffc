"""A live system: a path of its own in a real etcd, a real API server over HTTP, and a user who calls it.

Use it where sockets, etcd or HTTP matter, and a compiler in the test's own process will do; ``process_system.py`` runs
processes. Compilers are started over it as ``intentc run`` starts them (``CompilerService`` on etcd and HTTP), as often
as a test likes. Every request is counted at the server, the user's apart from the compilers'. The naive oracle, which
shares no code with the compiler, says what should be there.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from intentc.apiserver import serving
from intentc.apiserver.app import create_app
from intentc.apiserver.serving import Running
from intentc.engine.permission import OBSERVING
from intentc.loading.configuration import Configuration
from intentc.loading.configuration.sections import Etcd, Intentc
from intentc.plugins import Loaded
from intentc.service.service import CompilerService, build_service
from intentc.watch.etcd import EtcdStore
from intentc.watch.protocol import Delete as DeleteKey
from intentc.watch.protocol import Put, prefix_end
from intentc.writing.endpoint import Endpoint
from intentc.writing.http import http_services
from tests.oracle import contrail as oracle
from tests.support.waiting import PATIENCE, until

POOL = "route_target_number"
PROJECT = ("default-domain", "default-project")
PERSON = {"X-Test": "a person"}
_READS = {("POST", "/fqname-to-id"), ("POST", "/id-to-fqname")}
_PATHS = itertools.count(1)


class Calls:
    """ASGI middleware that counts what compilers ask: (method, path) → how often."""

    def __init__(self) -> None:
        self.seen: Counter[tuple[str, str]] = Counter()
        self._trap: tuple[int, Callable[[], None]] | None = None

    def at_mutation(self, number: int, then: Callable[[], None]) -> None:
        """Call ``then`` once, when the mutation of this number has arrived and is not yet carried out."""
        self._trap = (number, then)

    def around(self, app: ASGIApp) -> ASGIApp:
        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http" and (b"x-test", b"a person") not in scope["headers"]:
                self.seen[scope["method"], scope["path"]] += 1
                if self._trap is not None and sum(self.mutations.values()) >= self._trap[0]:
                    then, self._trap = self._trap[1], None
                    then()
            await app(scope, receive, send)

        return counted

    @property
    def mutations(self) -> dict[str, int]:
        """``"POST /int-pool"`` → how often; reads by POST are left out."""
        return {" ".join(call): count for call, count in self.seen.items() if call[0] != "GET" and call not in _READS}


class LiveSystem:
    """``person``: an HTTP client that is not counted. ``revision``: of the person's last mutation."""

    made = "access_control_list"
    """A kind of objects that the compiler makes, for tests that take one of them away."""
    max_txn_ops = 1024
    """The limit with which its etcd was started."""

    def __init__(self, store: EtcdStore, loaded: Loaded) -> None:
        self.store = store
        self.loaded = loaded
        self.path = f"compile-test-{next(_PATHS)}"
        self.calls = Calls()
        self.revision = 0
        self.port = 0
        self.keys = ""
        """Those of ``intentc.api.secret_keys``, as the running server knows them."""
        self.persons_url = ""
        """Where the person calls, if that is not the server that compilers use."""
        self.person: httpx2.AsyncClient
        self.configuration = Configuration(etcd=Etcd(path=self.path), intentc=Intentc(installation=self.path))

    # Servers and compilers

    @asynccontextmanager
    async def serving(self, store: EtcdStore | None = None, *, port: int | None = None) -> AsyncIterator[Running]:
        """An API server on this world, counted; on the same port if it runs again."""
        chosen = self.port if port is None else port
        async with serving.running_api_server(
            store or self.store,
            self.loaded.schema,
            path=self.path,
            port=chosen,
            max_txn_ops=self.max_txn_ops,
            secret_keys=lambda: self.keys,
        ) as running:
            self.port = self.port or int(running.url.rsplit(":", 1)[1])
            yield running

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @asynccontextmanager
    async def compiling(
        self, *, observe: bool = False, url: str | None = None, store: EtcdStore | None = None
    ) -> AsyncIterator[CompilerService]:
        """A compiler at work; drained when the block is left."""
        async with (
            http_services(Endpoint(url or self.url), self.loaded.schema, pools=self.loaded.pools) as (write, read),
            anyio.create_task_group() as group,
        ):
            service = build_service(self.configuration, self.loaded, store or self.store, write, read, observe=observe)
            group.start_soon(service.run)
            yield service
            group.cancel_scope.cancel()

    async def settle(self, service: CompilerService) -> None:
        """Wait until the compiler leads (unless it only observes), has applied the person's last mutation and has
        nothing left to do."""
        engine = service.engine
        await until(lambda: engine.may_write or OBSERVING in engine.permission.withheld_for)
        with anyio.fail_after(PATIENCE):
            await service.engine.settled(self.revision)

    async def compile_once(self) -> CompilerService:
        """Start a compiler, let it finish, stop it; it can still be asked for its status."""
        async with self.compiling() as service:
            await self.settle(service)
        return service

    # The person

    async def create(self, kind: str, name: str, parent: tuple[str, ...] = PROJECT, **fields: Any) -> str:
        """Create ``parent:name``; its uuid."""
        path = kind.replace("_", "-")
        body = {path: {"fq_name": [*parent, name], **fields}}
        return str((await self._send("POST", f"/{path}s", body)).json()[path]["uuid"])

    async def update(self, kind: str, uuid: str, **fields: Any) -> None:
        path = kind.replace("_", "-")
        await self._send("PUT", f"/{path}/{uuid}", {path: fields})

    async def delete(self, kind: str, uuid: str) -> None:
        await self._send("DELETE", f"/{kind.replace('_', '-')}/{uuid}")

    async def refer(self, operation: str, kind: str, uuid: str, target: str, target_uuid: str) -> None:
        """``operation``: ADD or DELETE."""
        body = {"operation": operation, "type": kind.replace("_", "-"), "uuid": uuid,
                "ref-type": target.replace("_", "-"), "ref-uuid": target_uuid}  # fmt: skip
        await self._send("POST", "/ref-update", body)

    async def sync(self, *changes: tuple[str, str, dict[str, Any]]) -> None:
        """(operation, kind, data) in one transaction."""
        entries = [{"operation": operation, "kind": kind, "data": data} for operation, kind, data in changes]
        await self._send("POST", "/sync", {"resources": entries})

    async def put_raw(self, kind: str, uuid: str, value: bytes) -> None:
        """Put a value into etcd past the API server."""
        done = await self.store.transaction((), [Put(f"/{self.path}/{kind}/{uuid}", value)])
        self.revision = max(self.revision, done.revision)

    async def delete_raw(self, kind: str, uuid: str) -> None:
        done = await self.store.transaction((), [DeleteKey(f"/{self.path}/{kind}/{uuid}")])
        self.revision = max(self.revision, done.revision)

    async def _send(self, method: str, path: str, body: Any = None) -> httpx2.Response:
        answer = await self.person.request(method, (self.persons_url or self.url) + path, json=body)
        assert answer.status_code == 200, f"{method} {path}: {answer.status_code} {answer.text}"
        self.revision = max(self.revision, int(answer.headers.get("X-Etcd-Revision", 0)))
        return answer

    # What is there, and what should be

    async def stored(self) -> oracle.World:
        """Every readable value in etcd below this world's path: kind → uuid → resource."""
        prefix = f"/{self.path}/"
        found: oracle.World = {}
        for item in (await self.store.range(prefix, prefix_end(prefix))).items:
            kind, uuid = item.key.removeprefix(prefix).split("/")
            try:
                found.setdefault(kind, {})[uuid] = msgspec.json.decode(item.value)
            except msgspec.DecodeError:
                continue
        return found

    async def values(self) -> dict[str, tuple[bytes, int]]:
        """Key → (value, mod revision): equal means that nobody wrote."""
        prefix = f"/{self.path}/"
        items = (await self.store.range(prefix, prefix_end(prefix))).items
        return {item.key: (item.value, item.mod_revision) for item in items}

    async def numbers(self) -> dict[str, int]:
        """The route targets' numbers: owner → number."""
        return await self._allocations(POOL)

    async def ports(self) -> dict[str, int]:
        """The ports of BGP services: owner → port."""
        return await self._allocations("bgpaas_port")

    async def _allocations(self, pool: str) -> dict[str, int]:
        answer = await self.person.get(f"{self.persons_url or self.url}/int-pool", params={"pool": pool, "owner": ""})
        return {entry["owner"]: entry["value"] for entry in answer.json()["allocations"]}

    async def owned(self) -> list[dict[str, Any]]:
        """Every object that carries a compiler's mark."""
        world = await self.stored()
        return [resource for kind in world.values() for resource in kind.values() if oracle.mark(resource)]

    async def targets(self, kind: str, *name: str) -> dict[str, str]:
        """The route targets of a holder: target → import_export, "" for both."""
        found: dict[str, str] = oracle.actual(await self.stored())[kind, name]["route_target_refs"]
        return found

    async def rules(self, group: str, direction: str, parent: tuple[str, ...] = PROJECT) -> list[dict[str, Any]] | None:
        """The rules of a group's list without what means nothing; None if there is no such list."""
        name = (*parent, group, f"{direction}-access-control-list")
        found = oracle.actual(await self.stored()).get(("access_control_list", name))
        return None if found is None else list(found.get("access_control_list_entries", {}).get("acl_rule", []))

    async def assert_compiled(self) -> None:
        """What is there is what the naive oracle expects, no object twice, and allocations are exact: each number
        has one owner that lives, and a route target that carries it."""
        world, numbers = await self.stored(), await self.numbers()
        there, wanted = oracle.actual(world), oracle.expected(world, numbers | await self.ports())
        assert there == wanted, json.dumps(_difference(there, wanted), indent=1)
        for kind, resources in world.items():
            names = [tuple(resource["fq_name"]) for resource in resources.values()]
            assert len(names) == len(set(names)), f"a name twice among {kind}"
        assert len(set(numbers.values())) == len(numbers)
        living = {uuid for kind in ("routing_instance", "logical_router") for uuid in world.get(kind, {})}
        assert {owner.split("/")[1] for owner in numbers} <= living, "a number of an owner that is gone"


def _difference(there: oracle.Expected, wanted: oracle.Expected) -> dict[str, Any]:
    return {
        str(name): {"there": there.get(name, "absent"), "wanted": wanted.get(name, "absent")}
        for name in sorted(there.keys() | wanted.keys())
        if there.get(name) != wanted.get(name)
    }


@asynccontextmanager
async def counted_world(
    store: EtcdStore, loaded: Loaded, patch: Any, world: LiveSystem | None = None
) -> AsyncIterator[LiveSystem]:
    """A world without a server yet: ``world``, or a new one. ``patch``: pytest's ``monkeypatch``, by which the counter
    gets around the application."""
    world = world or LiveSystem(store, loaded)
    patch.setattr(serving, "create_app", lambda *given, **more: world.calls.around(create_app(*given, **more)))
    async with httpx2.AsyncClient(timeout=PATIENCE, headers=PERSON, trust_env=False, verify=False) as person:
        world.person = person
        yield world
