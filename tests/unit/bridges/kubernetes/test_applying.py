"""What a server says of a guarded creation decides whether the object is read again, or the server left alone."""

from __future__ import annotations

from typing import Any, cast

import pytest

from intentc.bridges.kubernetes.applying import NotAsExpected, apply
from intentc.bridges.kubernetes.cluster import Cluster
from intentc.reconcile.failures import Unavailable

pytestmark = pytest.mark.anyio
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"}}
WORDS = "resourceVersion should not be set on objects to be created (500)"


class Answering:
    """A cluster that answers each write with the same error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def send(self, *request: Any) -> bytes:
        raise self.error


async def apply_to(error: Exception, uid: str = "", *, create_only: bool = True) -> None:
    await apply(cast(Cluster, Answering(error)), "/api/v1/services/web", SERVICE, uid, create_only=create_only)


async def test_a_server_that_knows_no_guarded_creation_of_services_gets_one_without() -> None:
    with pytest.raises(NotAsExpected, match="resourceVersion should not be set"):
        await apply_to(Unavailable(WORDS))


@pytest.mark.parametrize(("uid", "create_only"), [("1", True), ("", False)])
async def test_without_a_guard_the_same_answer_is_the_servers_fault(uid: str, create_only: bool) -> None:
    with pytest.raises(Unavailable):
        await apply_to(Unavailable(WORDS), uid, create_only=create_only)


async def test_another_fault_of_the_server_is_no_reason_to_read_the_object() -> None:
    with pytest.raises(Unavailable):
        await apply_to(Unavailable("etcdserver: leader changed (500)"))
