"""What is reported of finalizers that the cluster does not let us change, and until when."""

from __future__ import annotations

import anyio
import msgspec
import pytest
from pytest_mock import MockerFixture

from intentc.bridges.kubernetes.owner_finalizers import OwnerFinalizers
from intentc.bridges.kubernetes.rest_mapping import Served
from intentc.bridges.kubernetes.wire import Identity
from intentc.model import Key
from intentc.reconcile.failures import Rejected
from tests.support.waiting import until

pytestmark = pytest.mark.anyio

OURS = "example.com/ours"
KEY = Key("app", "uid-1")
APPS = Served("v1", "/apis/example.com/v1/apps", "apps", namespaced=True, has_status=True)


def body(*finalizers: str) -> bytes:
    metadata = {"uid": KEY.uuid, "resourceVersion": "1", "finalizers": finalizers, "mirrored": True}
    return msgspec.json.encode({"metadata": metadata})


@pytest.mark.parametrize("copy", [body(), None], ids=["the copy has none either", "the copy is gone"])
async def test_a_rejection_is_reported_until_nothing_is_to_be_changed(
    mocker: MockerFixture, copy: bytes | None
) -> None:
    cluster = mocker.AsyncMock()
    cluster.get.return_value = body()
    cluster.send.side_effect = Rejected(403, "not yours", "Forbidden")
    carried = OwnerFinalizers(
        cluster, frozenset({OURS}), lambda key: Identity("shop", "web"), lambda kind: APPS, lambda: True, lambda: None
    )
    async with anyio.create_task_group() as group:
        group.start_soon(carried.loop.run)
        carried.live(KEY, body())
        carried.stored(KEY, body(OURS))
        await until(lambda: carried.rejected == {KEY: "not yours (403)"})
        group.cancel_scope.cancel()
    carried.stored(KEY, copy)
    assert carried.rejected == {}
