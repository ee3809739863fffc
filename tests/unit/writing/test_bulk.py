"""Gathering: which writes share a request, how large it gets, and what happens to a rejected batch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from starlette.responses import JSONResponse, PlainTextResponse, Response

from intentc.reconcile.failures import Conflict, Fenced, Rejected, Throttled, Unavailable, UnknownOutcome
from intentc.writing import Written
from intentc.writing.endpoint import Endpoint
from intentc.writing.http import HttpWriteService, http_services
from tests.unit.writing.toy_api import SCHEMA, Rule, Sent, ToyApi, create, delete, reject, update, uuids

pytestmark = pytest.mark.anyio


async def outcomes(writes: Iterable[Awaitable[Written]]) -> list[Any]:
    return await asyncio.gather(*writes, return_exceptions=True)


def creates(write: HttpWriteService, count: int, fence: str | None = None) -> list[Awaitable[Written]]:
    return [write.create(create(f"u{number:03}"), fence) for number in range(count)]


def rejecting(answer: Response, *guilty: str) -> Rule:
    """Rejects whatever holds one of ``guilty``; with nobody named, every write."""
    return lambda sent: answer if sent.path != "/" and (not guilty or set(uuids(sent)) & set(guilty)) else None


@asynccontextmanager
async def writing(api: ToyApi, **options: Any) -> AsyncIterator[HttpWriteService]:
    endpoint = Endpoint("http://api", **options)
    async with http_services(endpoint, SCHEMA, pools=[], transport=httpx2.ASGITransport(api.app)) as (write, _):
        yield write


async def test_a_single_write_goes_alone_at_once(api: ToyApi, write: HttpWriteService) -> None:
    await write.create(create())
    assert [sent.path for sent in api.sent] == ["/access-lists"]


async def test_writes_asked_for_together_share_one_request(api: ToyApi, write: HttpWriteService) -> None:
    assert await outcomes(creates(write, 60)) == [Written(101)] * 60
    assert [sent.path for sent in api.sent] == ["/", "/sync"]
    assert api.sent[1].body["resources"][0] == {
        "kind": "access_list",
        "operation": "CREATE",
        "data": api.sent[1].body["resources"][0]["data"],
        "if_none_match": True,
    }


async def test_writes_that_arrive_while_all_slots_are_taken_are_gathered(api: ToyApi, write: HttpWriteService) -> None:
    api.gate = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for number in range(4):
            group.create_task(write.create(create(f"first{number}")))
            await anyio.wait_all_tasks_blocked()
        for number in range(50):
            group.create_task(write.create(create(f"later{number}")))
            await anyio.wait_all_tasks_blocked()
        assert [sent.path for sent in api.sent] == ["/access-lists"] * 4
        api.gate.set()
    assert [len(batch) for batch in api.batches] == [50]


async def test_two_hundred_and_fifty_writes_are_three_requests(api: ToyApi, write: HttpWriteService) -> None:
    await outcomes(creates(write, 250))
    assert sorted(len(batch) for batch in api.batches) == [50, 100, 100]


async def test_no_more_batches_than_allowed_are_under_way(api: ToyApi) -> None:
    async with writing(api, batches=2, batch_items=10) as write:
        await outcomes(creates(write, 200))
    assert len(api.batches) == 20
    assert api.most_at_once == 2


async def test_the_servers_operation_limit_bounds_a_batch(api: ToyApi, write: HttpWriteService) -> None:
    api.limit = 20
    await outcomes(creates(write, 60))
    assert max(len(batch) for batch in api.batches) <= 20
    assert sum(len(batch) for batch in api.batches) == 60
    assert [sent.path for sent in api.sent].count("/") == 1, "the limit is asked for once"


async def test_a_server_that_reports_no_limit_is_asked_once(api: ToyApi, write: HttpWriteService) -> None:
    api.limit = None
    for _ in range(2):
        await outcomes(creates(write, 5))
    assert [sent.path for sent in api.sent] == ["/", "/sync", "/sync"]


async def test_a_batch_has_a_limit_in_bytes(api: ToyApi) -> None:
    async with writing(api, batch_bytes=2000) as write:
        await outcomes(write.update(update(f"u{n}", digest="x" * 700)) for n in range(6))
    assert [len(batch) for batch in api.batches] == [2, 2, 2]


async def test_one_batch_has_one_fence_and_carries_it(api: ToyApi, write: HttpWriteService) -> None:
    await outcomes([*creates(write, 3, "main/5"), *(write.update(update(f"x{n}"), "main/6") for n in range(2))])
    batches = [(len(uuids(s)), s.headers["x-intentc-fence"]) for s in api.sent if s.path == "/sync"]
    assert sorted(batches) == [(2, "main/6"), (3, "main/5")]


async def test_deletes_go_apart_from_other_writes(api: ToyApi, write: HttpWriteService) -> None:
    await outcomes([*creates(write, 3), *(write.delete(delete(f"d{n}")) for n in range(3))])
    assert sorted(api.batches) == [["d0", "d1", "d2"], ["u000", "u001", "u002"]]


async def test_one_object_is_never_twice_in_a_batch(api: ToyApi, write: HttpWriteService) -> None:
    await outcomes(write.update(update(f"u{n % 3}", digest=str(n))) for n in range(12))
    assert all(len(batch) == len(set(batch)) for batch in api.batches)
    assert sum(len(uuids(sent)) for sent in api.writes) == 12


async def test_a_rejected_batch_is_halved_until_the_bad_item_is_alone(api: ToyApi, write: HttpWriteService) -> None:
    api.rule = rejecting(reject(403, "u037 is not allowed"), "u037")
    results = await outcomes(creates(write, 100))
    guilty = results.pop(37)
    assert isinstance(guilty, Rejected)
    assert guilty.message == "u037 is not allowed"
    assert all(isinstance(result, Written) for result in results)
    assert len(api.writes) <= 2 * 7 + 1


def naming(*guilty: str) -> Rule:
    """Rejects a batch for the first of ``guilty`` in it, and names that; a single write with the same words."""

    def rule(sent: Sent) -> Response | None:
        there = [place for place, uuid in enumerate(uuids(sent)) if uuid in guilty] if sent.path != "/" else []
        if not there:
            return None
        detail = f"{uuids(sent)[there[0]]} exists already"
        if sent.path != "/sync":
            return reject(409, detail)
        return JSONResponse(
            {"message": f"item {there[0]} (x): {detail}", "item": there[0], "detail": detail}, status_code=409
        )

    return rule


async def test_those_that_the_server_names_are_taken_out_one_by_one(api: ToyApi, write: HttpWriteService) -> None:
    api.rule = naming("u003", "u009", "u019")
    results = await outcomes(creates(write, 20))
    assert [number for number, result in enumerate(results) if isinstance(result, Conflict)] == [3, 9, 19]
    assert next(result.message for result in results if isinstance(result, Conflict)) == "u003 exists already"
    assert len(api.writes) == 3 + 1


async def test_a_batch_of_only_bad_items_costs_one_request_each(api: ToyApi, write: HttpWriteService) -> None:
    api.rule = naming(*(f"u{number:03}" for number in range(100)))
    assert {type(result) for result in await outcomes(creates(write, 100))} == {Conflict}
    assert len(api.writes) == 100


async def test_what_a_named_item_means_follows_from_the_item(api: ToyApi, write: HttpWriteService) -> None:
    def rule(sent: Sent) -> Response | None:
        if "u001" in (uuids(sent) if sent.path != "/" else ()):
            return JSONResponse({"message": "item 1: bad", "item": uuids(sent).index("u001"), "detail": "bad"}, 400)
        return None

    api.rule = rule
    with_parent = await outcomes(creates(write, 3))
    assert [type(result) for result in with_parent] == [Written, Conflict, Written]
    without = await outcomes(write.create(create(f"u{number:03}", parent=None)) for number in range(3))
    assert [type(result) for result in without] == [Written, Rejected, Written]


async def test_an_item_that_is_not_in_the_batch_is_not_believed(api: ToyApi, write: HttpWriteService) -> None:
    guilty = JSONResponse({"message": "no", "item": 99, "detail": "no"}, 403)
    api.rule = rejecting(guilty, "u002")
    results = await outcomes(creates(write, 4))
    assert [type(result) for result in results] == [Written, Written, Rejected, Written]


async def test_a_server_error_fails_the_whole_batch_though_it_names_an_item(
    api: ToyApi, write: HttpWriteService
) -> None:
    api.rule = rejecting(JSONResponse({"message": "etcd can't be reached", "item": 1, "detail": "x"}, 503))
    assert {type(result) for result in await outcomes(creates(write, 4))} == {Throttled}
    assert len(api.writes) == 1


async def test_a_conflict_in_a_batch_concerns_only_its_own_item(api: ToyApi, write: HttpWriteService) -> None:
    api.rule = rejecting(reject(412, "access_list/u003 is at 12, not at 7"), "u003", "u009")
    results = await outcomes(creates(write, 20))
    assert [number for number, result in enumerate(results) if isinstance(result, Conflict)] == [3, 9]


async def test_an_error_that_the_server_explains_is_found_in_a_batch_too(api: ToyApi, write: HttpWriteService) -> None:
    api.rule = rejecting(reject(500, "stored value of u001 can't be read"), "u001")
    results = await outcomes(creates(write, 4))
    assert [type(result) for result in results] == [Written, Rejected, Written, Written]


async def test_after_a_batch_was_too_large_the_next_ones_are_smaller(api: ToyApi, write: HttpWriteService) -> None:
    api.rule = lambda sent: (
        reject(413, "too many operations") if sent.path == "/sync" and len(uuids(sent)) > 25 else None
    )
    assert all(isinstance(result, Written) for result in await outcomes(creates(write, 100)))
    api.sent.clear()
    assert all(isinstance(result, Written) for result in await outcomes(creates(write, 100)))
    assert [len(batch) for batch in api.batches] == [25, 25, 25, 25], "nothing may be rejected any more"


async def test_the_size_of_batches_recovers_from_an_exception(api: ToyApi) -> None:
    async with writing(api, batch_items=8, batches=1) as write:
        api.rule = rejecting(reject(413, "too large"), "u000")
        await outcomes(creates(write, 8))
        api.rule = lambda sent: None
        api.sent.clear()
        await outcomes(creates(write, 800))
        assert len(api.batches[0]) < 8
        assert len(api.batches[-2]) == 8


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (reject(412, "fence: another leads"), Fenced),
        (reject(429, "slow down", Retry_After="7"), Throttled),
        (PlainTextResponse("", 500), UnknownOutcome),
        (reject(504, "etcd did not answer"), UnknownOutcome),
    ],
)
async def test_an_error_of_a_whole_batch_fails_all_its_writes_after_one_request(
    api: ToyApi, write: HttpWriteService, answer: Response, error: type[Exception]
) -> None:
    api.rule = rejecting(answer)
    assert {type(result) for result in await outcomes(creates(write, 10))} == {error}
    assert len(api.writes) == 1


async def test_a_server_without_sync_gets_single_writes_and_is_logged_once(
    api: ToyApi, write: HttpWriteService, caplog: pytest.LogCaptureFixture
) -> None:
    api.rule = lambda sent: PlainTextResponse("Not Found", 404) if sent.path == "/sync" else None
    for _ in range(2):
        assert all(isinstance(result, Written) for result in await outcomes(creates(write, 10)))
    assert [sent.path for sent in api.sent].count("/sync") == 1
    assert len([record for record in caplog.records if "/sync" in record.message]) == 1


async def test_an_error_half_way_through_leaves_the_acknowledged_ones_alone(
    api: ToyApi, write: HttpWriteService
) -> None:
    def rule(sent: Sent) -> Response | None:
        if sent.path == "/sync":
            return PlainTextResponse("Not Found", 404)
        return PlainTextResponse("", 500) if uuids(sent) == ["u002"] else None

    api.rule = rule
    results = await outcomes(creates(write, 5))
    assert [type(result) for result in results] == [Written, Written, UnknownOutcome, Written, Written]
    assert isinstance((await outcomes(creates(write, 1)))[0], Written), "every object's turn must have ended"


async def test_single_writes_overlap_where_there_is_no_sync(api: ToyApi) -> None:
    api.rule = lambda sent: PlainTextResponse("Not Found", 404) if sent.path == "/sync" else None
    async with writing(api, singles=6) as write:
        await outcomes(creates(write, 2))
        await outcomes(creates(write, 30))
    assert api.most_at_once == 6


async def test_closing_lets_writes_under_way_end_and_rejects_the_others(api: ToyApi) -> None:
    api.gate = asyncio.Event()
    async with writing(api, batches=1) as write, asyncio.TaskGroup() as group:
        first = group.create_task(write.create(create("a")))
        await anyio.wait_all_tasks_blocked()
        second = group.create_task(outcomes([write.create(create("b"))]))
        await anyio.wait_all_tasks_blocked()
        closing = group.create_task(write.aclose())
        await anyio.wait_all_tasks_blocked()
        api.gate.set()
        await closing
    assert first.result() == Written(101)
    assert isinstance(second.result()[0], Unavailable)
    assert isinstance((await outcomes([write.create(create("c"))]))[0], Unavailable)
    assert [uuids(sent) for sent in api.sent] == [["a"]]


async def test_a_cancelled_caller_does_not_take_its_batch_along(api: ToyApi, write: HttpWriteService) -> None:
    api.gate = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        callers = [group.create_task(write.create(create(f"u{n}"))) for n in range(3)]
        await anyio.wait_all_tasks_blocked()
        callers[1].cancel()
        await anyio.wait_all_tasks_blocked()
        api.gate.set()
    assert callers[0].result() == callers[2].result() == Written(101)
