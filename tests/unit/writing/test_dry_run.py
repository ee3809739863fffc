"""The write service that only records."""

from __future__ import annotations

import pytest

from intentc.model import AddReference, Key, Name, RemoveReference
from intentc.reconcile.failures import Rejected
from intentc.writing import DryRun, WriteService, Written
from tests.unit.writing.toy_api import create, delete, to_target, update

pytestmark = pytest.mark.anyio

KEY, NAME = Key("access_list", "a1"), Name("access_list", ("acme", "a1"))


async def test_it_records_every_operation_in_order_and_acknowledges() -> None:
    dry = DryRun()
    service: WriteService = dry
    add = AddReference(KEY, NAME, "target", to_target("t1"))
    remove = RemoveReference(KEY, NAME, "target", Key("target", "t1"))
    answers = [
        await service.create(create()),
        await service.update(update()),
        await service.add_ref(add),
        await service.remove_ref(remove),
        await service.delete(delete()),
    ]
    assert answers == [Written(None)] * 5
    assert dry.operations == [create(), update(), add, remove, delete()]


async def test_a_dry_run_allocates_nothing_and_records_the_request() -> None:
    dry = DryRun()
    with pytest.raises(Rejected, match="dry run"):
        await dry.allocate("numbers", "main/u/rt")
    await dry.free("numbers", "main/u/rt", 5)
    assert (dry.requested, dry.freed) == ([("numbers", "main/u/rt")], [("numbers", "main/u/rt", 5)])
