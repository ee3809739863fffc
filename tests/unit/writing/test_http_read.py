"""Reading back over HTTP."""

from __future__ import annotations

import msgspec
import pytest
from starlette.responses import JSONResponse, PlainTextResponse, Response

from intentc.model import Key, Name
from intentc.reconcile.failures import Rejected, Throttled, Unavailable
from intentc.writing import Allocation
from intentc.writing.http import HttpReadService
from tests.unit.writing.toy_api import Sent, ToyApi, reject

pytestmark = pytest.mark.anyio

KEY = Key("access_list", "a1")


async def test_an_object_comes_without_envelope_and_with_its_revision(api: ToyApi, read: HttpReadService) -> None:
    api.rule = lambda sent: JSONResponse({"access-list": {"uuid": "a1"}}, headers={"X-Etcd-Revision": "42"})
    back = await read.read(KEY)
    assert back is not None
    assert (msgspec.json.decode(back.value), back.revision) == ({"uuid": "a1"}, 42)
    assert (api.sent[0].method, api.sent[0].path) == ("GET", "/access-list/a1")


async def test_an_absent_object_is_none(api: ToyApi, read: HttpReadService) -> None:
    api.rule = lambda sent: reject(404)
    assert await read.read(KEY) is None


async def test_an_object_of_another_kind_is_an_error(api: ToyApi, read: HttpReadService) -> None:
    api.rule = lambda sent: JSONResponse({"target": {}})
    with pytest.raises(Rejected, match="no 'access-list' in the answer"):
        await read.read(KEY)


async def test_a_name_is_resolved_to_a_key(api: ToyApi, read: HttpReadService) -> None:
    api.rule = lambda sent: JSONResponse({"uuid": "a1"})
    assert await read.identify(Name("access_list", ("acme", "in"))) == KEY
    assert api.sent[0].body == {"type": "access-list", "fq_name": ["acme", "in"]}


async def test_an_unknown_name_is_none(api: ToyApi, read: HttpReadService) -> None:
    api.rule = lambda sent: reject(404)
    assert await read.identify(Name("access_list", ("nobody",))) is None


async def test_all_allocations_are_those_of_all_pools_under_the_prefix(api: ToyApi, read: HttpReadService) -> None:
    api.rule = lambda sent: JSONResponse({"allocations": [{"owner": "main/u/rt & co", "value": 8000100}]})
    assert await read.all_allocations("main/") == (Allocation("numbers", "main/u/rt & co", 8000100),)
    assert (api.sent[0].path, api.sent[0].query) == ("/int-pool", {"pool": "numbers", "owner": "main/"})


async def test_a_server_that_lists_no_numbers_is_not_one_without_allocations(
    api: ToyApi, read: HttpReadService
) -> None:
    api.rule = lambda sent: reject(404)
    with pytest.raises(Rejected, match="doesn't list the numbers of pool 'numbers'"):
        await read.all_allocations("main/")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (reject(500, "the stored value can't be read"), Rejected),
        (PlainTextResponse("", 500), Unavailable),
        (reject(503), Throttled),
        (PlainTextResponse("<html>"), Rejected),
    ],
)
async def test_a_read_that_fails_says_what_it_means(
    api: ToyApi, read: HttpReadService, answer: Response, error: type[Exception]
) -> None:
    def rule(sent: Sent) -> Response:
        return answer

    api.rule = rule
    with pytest.raises(error):
        await read.read(KEY)
