"""Records of rejections that the store does not take delay no other record."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest

from intentc.bridges.xds.elements import Rejection
from intentc.bridges.xds.rejection_records import Records, record_uuid
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Compare, Operation, Put, RequestTooLarge, TransactionResult
from tests.support.waiting import until

pytestmark = pytest.mark.anyio


class _Store(MemoryStore):
    """Takes no value with the word "large"."""

    async def transaction(
        self, compares: Sequence[Compare], success: Sequence[Operation], failure: Sequence[Operation] = ()
    ) -> TransactionResult:
        if any(isinstance(one, Put) and b"large" in one.value for one in success):
            raise RequestTooLarge("put: etcdserver: request is too large")
        return await super().transaction(compares, success, failure)


def _rejection(name: str) -> Rejection:
    return Rejection("envoy_route", name, "digest", "no", (), None, (), "")


@pytest.mark.parametrize("count", [1, 10, 50])
async def test_records_that_the_store_does_not_take_delay_no_other(count: int) -> None:
    store = _Store()
    records = Records(store, "test", {})
    names = [*(f"large-{number}" for number in range(count)), "small"]
    for name in names:
        records.record(("envoy_route", name), _rejection(name))
    async with anyio.create_task_group() as group:
        group.start_soon(records.loop.run)
        await until(lambda: records.waiting == count)
        group.cancel_scope.cancel()
    found = await store.range("/test/", "/test0")
    assert [item.key for item in found.items] == [f"/test/envoy_rejection/{record_uuid(('envoy_route', 'small'))}"]
