"""Runs a compiler's whole engine over memory, as a service to which a test gives resources.

Resources pass through the API server in this process, with its seeds and its rules, as in ``intentc compile``, and so
do the engine's writes. A mocked ``WriteService`` sees them before; a ``FakeCluster`` carries out manifests. The service
shows writes, problems and statuses. ``offline`` puts engine, server and store together; ``given`` reads the test's
resources.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from intentc.evaluation import Compiler
from intentc.loading.resource_files import Loaded
from intentc.model import InvalidInput, Name, Operation, Problem
from intentc.model.status import STATUS, timeless, without_empty
from intentc.model.values import thaw
from intentc.offline.offline import Offline
from intentc.plugins import Loaded as Plugins
from intentc.plugins import find_compilers, load_all
from intentc.writing import DryRun, WriteService

from .fake_cluster import FakeCluster
from .given import Resource, understood
from .recording import Recording


def service_for(
    compiler: str | Compiler,
    *,
    write_service: WriteService | None = None,
    cached: Iterable[Resource] = (),
    settings: Mapping[str, Any] | None = None,
    cluster: FakeCluster | None = None,
) -> MemoryService:
    """Create the service of one compiler, which is given itself or by the name of its entry point.

    ``write_service``: a mock, or another ``WriteService``, that is called before each write of the engine; if it raises
    a ``Failure``, the write fails with it, and its other answers mean nothing. ``cached``: resources that exist
    already, compiled and written; none of these writes reaches ``write_service``. ``settings``: the compilers'
    configuration. ``cluster``: carries out the manifests that the compiler makes, until nothing is left to do. Raises
    ``InvalidInput`` for an unknown compiler, unusable schemas or maps, and resources of unknown kinds.
    """
    compilers = find_compilers([compiler]) if isinstance(compiler, str) else (compiler,)
    plugins = load_all(compilers)
    return MemoryService(plugins, write_service, understood(cached, plugins.schema), settings or {}, cluster)


class MemoryService:
    """The service of ``service_for``.

    Each change is one transaction, and its method returns when the engine has converged, without waiting for failed
    writes that back off. ``create``, ``update`` and ``delete`` raise the API server's errors.
    """

    def __init__(
        self,
        plugins: Plugins,
        write_service: WriteService | None,
        cached: list[Loaded],
        settings: Mapping[str, Any],
        cluster: FakeCluster | None = None,
    ) -> None:
        self._cluster = cluster
        self._schema = plugins.schema
        self._write_service = write_service
        self._cached = cached
        self._started = False
        self._recording = Recording(DryRun())
        self.offline = Offline(plugins, settings=settings, write=self._recording)
        """Store, server and engine, for tests that need more than the methods here."""
        self._recording.target = self.offline.local

    @property
    def written(self) -> list[Operation]:
        """The engine's writes in order, without those for the cached resources."""
        return list(self._recording.written)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems that people must fix now."""
        return self.offline.problems()

    def status(self, kind: str, fq_name: Sequence[str]) -> dict[str, Any]:
        """The status of a resource as plain JSON, as the engine has written it. The server gives conditions their time,
        so they have none here. Raises ``LookupError`` if there is no such resource, or none with a status."""
        actual = self.offline.engine.planner.assumed.actual(Name(kind, tuple(fq_name)))
        if actual is None or actual.kind.status is None:
            raise LookupError(f"there is no {kind} {':'.join(fq_name)} with a status")
        found: dict[str, Any] = without_empty(thaw(timeless(actual.value(STATUS))))
        return found

    async def create(self, *resources: Resource) -> None:
        """Add resources."""
        await self._change("CREATE", resources)

    async def update(self, *resources: Resource) -> None:
        """Set the given fields of existing resources, found by uuid or name; the other fields stay. A manifest replaces
        the former one."""
        await self._change("UPDATE", resources)

    async def delete(self, *resources: Resource) -> None:
        """Delete resources, found by uuid or name."""
        await self._change("DELETE", resources)

    async def settle(self) -> None:
        """Work until neither the engine nor the cluster has anything left to do. Called by the methods above; tests
        call it after they have changed the cluster."""
        await self.offline.settle()
        while self._cluster is not None and await self._cluster.step(self.offline):
            await self.offline.settle()

    async def _change(self, operation: str, resources: Iterable[Resource]) -> None:
        await self._start()
        await self._carry_out(operation, understood(resources, self._schema))
        await self.settle()

    async def _start(self) -> None:
        """Write the cached resources and compile them, before the test begins."""
        if self._started:
            return
        self._started = True
        await self.offline.seed()
        await self._carry_out("CREATE", self._cached)
        await self.settle()
        self._recording.between = self._write_service
        self._recording.written.clear()

    async def _carry_out(self, operation: str, resources: list[Loaded]) -> None:
        if resources:
            await self.offline.server.sync([self._element(operation, loaded) for loaded in resources])

    def _element(self, operation: str, loaded: Loaded) -> dict[str, Any]:
        """An entry of ``/sync``; existing resources are found by their name."""
        data = loaded.data
        if operation == "UPDATE" and loaded.whole:
            data = dict.fromkeys(self._schema.kind(loaded.kind).user_fields) | data
        if operation != "CREATE" and not data.get("uuid"):
            name = Name(loaded.kind, tuple(data["fq_name"]))
            world = self.offline.engine.world
            key = world.named(name.kind, name.fq_name)
            if key is None:
                raise InvalidInput(f"there is no {name}", source=loaded.source)
            data["uuid"] = key.uuid
        return {
            "kind": loaded.kind,
            "operation": operation,
            "data": {"uuid": data["uuid"]} if operation == "DELETE" else data,
        }
