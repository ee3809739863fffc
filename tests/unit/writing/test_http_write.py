"""Single writes over HTTP: paths, headers, revisions, errors."""

from __future__ import annotations

import asyncio

import anyio
import pytest
from starlette.responses import JSONResponse

from intentc.model import AddReference, Key, Name, RemoveReference
from intentc.reconcile.failures import Conflict, Fenced, Rejected, Throttled, UnknownOutcome
from intentc.writing import Written
from intentc.writing.http import HttpWriteService
from tests.unit.writing.toy_api import Sent, ToyApi, create, delete, reject, to_target, update

pytestmark = pytest.mark.anyio

KEY, NAME = Key("access_list", "a1"), Name("access_list", ("acme", "a1"))
ADD = AddReference(KEY, NAME, "target", to_target("t1"))
REMOVE = RemoveReference(KEY, NAME, "target", Key("target", "t1"))


async def test_a_create_goes_alone_with_its_condition_and_the_fence(api: ToyApi, write: HttpWriteService) -> None:
    assert await write.create(create(), "main/5") == Written(101)
    (sent,) = api.sent
    assert (sent.method, sent.path) == ("POST", "/access-lists")
    assert sent.headers["if-none-match"] == "*"
    assert sent.headers["x-intentc-fence"] == "main/5"
    assert sent.headers["content-type"] == "application/json"


async def test_updates_and_deletes_are_compare_and_set(api: ToyApi, write: HttpWriteService) -> None:
    await write.update(update(), "main/5")
    await write.delete(delete(revision=9), "main/5")
    assert [(s.method, s.path, s.headers["if-match"]) for s in api.sent] == [
        ("PUT", "/access-list/a1", "7"),
        ("DELETE", "/access-list/a1", "9"),
    ]
    assert {sent.headers["x-intentc-fence"] for sent in api.sent} == {"main/5"}


async def test_without_a_fence_no_header_is_sent(api: ToyApi, write: HttpWriteService) -> None:
    await write.create(create())
    assert "x-intentc-fence" not in api.sent[0].headers


async def test_shared_references_are_written_one_by_one(api: ToyApi, write: HttpWriteService) -> None:
    assert await write.add_ref(ADD, "main/5") == Written(101)
    assert await write.remove_ref(REMOVE, "main/5") == Written(102)
    assert [(s.path, s.body["operation"], s.headers["x-intentc-fence"]) for s in api.sent] == [
        ("/ref-update", "ADD", "main/5"),
        ("/ref-update", "DELETE", "main/5"),
    ]


async def test_a_number_is_asked_for_by_pool_and_owner(api: ToyApi, write: HttpWriteService) -> None:
    api.rule = lambda sent: JSONResponse({"value": 8000100})
    assert await write.allocate("numbers", "main/u/rt", "main/5") == 8000100
    (sent,) = api.sent
    assert (sent.method, sent.path, sent.body) == ("POST", "/int-pool", {"pool": "numbers", "owner": "main/u/rt"})
    assert sent.headers["x-intentc-fence"] == "main/5"


async def test_a_number_is_given_back_by_its_owner_only(api: ToyApi, write: HttpWriteService) -> None:
    await write.free("numbers", "main/u/rt", 8000100)
    (sent,) = api.sent
    assert (sent.method, sent.path) == ("DELETE", "/int-pool")
    assert sent.body == {"pool": "numbers", "value": 8000100, "owner": "main/u/rt"}


async def test_an_unreadable_number_is_an_unknown_outcome(api: ToyApi, write: HttpWriteService) -> None:
    with pytest.raises(UnknownOutcome, match="int-pool"):
        await write.allocate("numbers", "o")


async def test_an_exhausted_pool_is_rejected_with_the_servers_words(api: ToyApi, write: HttpWriteService) -> None:
    api.rule = lambda sent: reject(400, "pool numbers is exhausted")
    with pytest.raises(Rejected, match="pool numbers is exhausted"):
        await write.allocate("numbers", "o")


@pytest.mark.parametrize(
    ("status", "message", "error"),
    [
        (409, "exists", Conflict),
        (400, "no such parent", Conflict),
        (403, "no", Rejected),
        (429, "slow", Throttled),
        (412, "fence", Fenced),
        (500, "", UnknownOutcome),
    ],
)
async def test_a_rejected_write_is_sent_once_and_raises(
    api: ToyApi, write: HttpWriteService, status: int, message: str, error: type[Exception]
) -> None:
    api.rule = lambda sent: reject(status, message)
    with pytest.raises(error):
        await write.create(create())
    assert len(api.sent) == 1


async def test_a_bad_request_without_relations_is_the_writes_own_fault(api: ToyApi, write: HttpWriteService) -> None:
    api.rule = lambda sent: reject(400, "digest must be hexadecimal")
    with pytest.raises(Rejected, match="digest must be hexadecimal"):
        await write.update(update())


async def test_a_bad_request_on_a_reference_is_a_conflict(api: ToyApi, write: HttpWriteService) -> None:
    api.rule = lambda sent: reject(400, "no such target")
    with pytest.raises(Conflict):
        await write.add_ref(ADD)


async def test_a_server_without_revisions_is_logged_once_and_used(
    api: ToyApi, write: HttpWriteService, caplog: pytest.LogCaptureFixture
) -> None:
    api.revisions = False
    assert await write.create(create("a")) == Written(None)
    assert await write.create(create("b")) == Written(None)
    assert await write.add_ref(ADD) == Written(None)
    assert len([record for record in caplog.records if "X-Etcd-Revision" in record.message]) == 1
    assert write.capabilities.revisions is False


async def test_two_writes_of_one_object_never_overlap_and_keep_their_order(
    api: ToyApi, write: HttpWriteService
) -> None:
    overlaps: list[int] = []

    def observe(sent: Sent) -> None:
        overlaps.append(api.most_at_once)

    api.rule = observe
    async with asyncio.TaskGroup() as group:
        group.create_task(write.update(update(digest="1")))
        group.create_task(write.add_ref(ADD))
        group.create_task(write.update(update(digest="2")))
    assert [sent.path for sent in api.sent] == ["/access-list/a1", "/ref-update", "/access-list/a1"]
    assert max(overlaps) == 1


async def test_a_write_whose_caller_is_cancelled_while_it_waits_is_not_sent(
    api: ToyApi, write: HttpWriteService
) -> None:
    api.gate = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(write.update(update(digest="1")))
        await anyio.wait_all_tasks_blocked()
        second = group.create_task(write.update(update(digest="2")))
        third = group.create_task(write.update(update(digest="3")))
        await anyio.wait_all_tasks_blocked()
        second.cancel()
        await anyio.wait_all_tasks_blocked()
        assert not third.done(), "it must still wait for the first"
        api.gate.set()
    assert [sent.body["access-list"]["digest"] for sent in api.sent] == ["1", "3"]
