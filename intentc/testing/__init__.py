"""Lets authors test their intents (docs/authoring.md): the whole engine and the API server over memory, and a mock
that sees the writes.

    write = mocker.AsyncMock(spec=WriteService)
    service = service_for("mycompiler", write_service=write, cached=[load("parent.yml")])
    await service.create(load("thing.yml"))
    assert [call.args[0].fq_name[-1] for call in write.create.await_args_list] == [...]

It depends on no test framework. A compiler is given itself, or by the name of its entry point. ``FakeCluster`` carries
out the manifests that it makes.
"""

from intentc.model import AddReference, Create, Delete, Operation, Problem, RemoveReference, Update, UpdateStatus
from intentc.reconcile.failures import Conflict, Rejected
from intentc.writing import WriteService, Written

from .fake_cluster import FakeCluster
from .given import Given, load
from .memory_service import MemoryService, service_for

__all__ = [
    "AddReference",
    "Conflict",
    "Create",
    "Delete",
    "FakeCluster",
    "Given",
    "MemoryService",
    "Operation",
    "Problem",
    "Rejected",
    "RemoveReference",
    "Update",
    "UpdateStatus",
    "WriteService",
    "Written",
    "load",
    "service_for",
]
