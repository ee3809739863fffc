"""References that must not block a user's delete: with their write where the server can, after it where it can't."""

from __future__ import annotations

import asyncio

import anyio
import pytest
from starlette.responses import PlainTextResponse, Response

from intentc.model import AddReference, Key, Name
from intentc.reconcile.backoff import Backoff
from intentc.reconcile.failures import Rejected, UnknownOutcome
from intentc.writing import Written, relaxing
from intentc.writing.http import HttpWriteService
from tests.support.waiting import until
from tests.unit.writing.toy_api import Rule, Sent, ToyApi, create, reject, to_target, update

pytestmark = pytest.mark.anyio

KEY, NAME = Key("access_list", "a1"), Name("access_list", ("acme", "a1"))
ADD = AddReference(KEY, NAME, "target", to_target("t1"), relaxed=True)
UPDATE = update()._replace(relaxed=(Key("target", "t1"), Key("target", "t2")))
RELAX = "/ref-relax-for-delete"


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relaxing, "_AGAIN", Backoff(0.001, 0.01))
    monkeypatch.setattr(relaxing, "RECONNECT", Backoff(0.001, 0.01))


def failing(times: int, answer: Response) -> Rule:
    """Answers the first ``times`` relaxations with ``answer``."""
    left = [times]

    def rule(sent: Sent) -> Response | None:
        if sent.path != RELAX or not left[0]:
            return None
        left[0] -= 1
        return answer

    return rule


def relaxed(api: ToyApi) -> list[str]:
    """The targets that were asked to be relaxed in a request of their own, in order."""
    return [sent.body["ref-uuid"] for sent in api.writes if sent.path == RELAX]


async def nothing_is_owed(write: HttpWriteService) -> None:
    await until(lambda: not write.relaxations.owed)


async def test_a_server_that_has_it_relaxes_a_reference_with_its_write(api: ToyApi, write: HttpWriteService) -> None:
    api.relaxes = True
    assert await write.add_ref(ADD) == Written(101)
    (sent,) = api.writes
    assert (sent.path, sent.body["relaxed"]) == ("/ref-update", True)


async def test_a_server_that_has_it_relaxes_an_updates_references_with_it(api: ToyApi, write: HttpWriteService) -> None:
    api.relaxes = True
    await write.update(UPDATE)
    (sent,) = api.writes
    assert (sent.path, sent.body["relaxed"]) == ("/access-list/a1", ["t1", "t2"])


async def test_a_server_that_has_it_relaxes_a_new_objects_references_with_it(
    api: ToyApi, write: HttpWriteService
) -> None:
    api.relaxes = True
    await write.create(create()._replace(relaxed=(Key("target", "t1"),)))
    (sent,) = api.writes
    assert (sent.path, sent.body["relaxed"]) == ("/access-lists", ["t1"])


async def test_elsewhere_a_new_objects_references_are_relaxed_after_it(api: ToyApi, write: HttpWriteService) -> None:
    await write.create(create()._replace(relaxed=(Key("target", "t1"),)))
    assert [sent.path for sent in api.writes] == ["/access-lists", RELAX]
    assert relaxed(api) == ["t1"]


async def test_a_gathered_update_carries_what_it_relaxes(api: ToyApi, write: HttpWriteService) -> None:
    api.relaxes = True
    await write.update(UPDATE)  # the server is known now
    await asyncio.gather(write.update(UPDATE), write.update(update("a2")), write.create(create("a3")))
    (sent,) = (sent for sent in api.writes if sent.path == "/sync")
    items = {item["data"]["uuid"]: item.get("relaxed") for item in sent.body["resources"]}
    assert items == {"a1": ["t1", "t2"], "a2": None, "a3": None}


async def test_nothing_is_said_of_relaxing_where_nothing_is_to_be_relaxed(api: ToyApi, write: HttpWriteService) -> None:
    await write.add_ref(ADD._replace(relaxed=False))
    await write.update(update())
    assert [sent.path for sent in api.sent] == ["/ref-update", "/access-list/a1"], "nobody needs to ask the server"
    assert all("relaxed" not in sent.body for sent in api.sent)


async def test_elsewhere_it_is_a_request_after_the_write(api: ToyApi, write: HttpWriteService) -> None:
    written = await write.add_ref(ADD, "main/5")
    assert [sent.path for sent in api.writes] == ["/ref-update", RELAX]
    assert api.writes[1].body == {"uuid": "a1", "ref-uuid": "t1"}
    assert api.writes[1].headers["x-intentc-fence"] == "main/5"
    assert written == Written(101), "the holder was written by the first of the two"
    await write.update(UPDATE)
    assert relaxed(api) == ["t1", "t1", "t2"]
    assert all("relaxed" not in sent.body for sent in api.writes)


@pytest.mark.parametrize(
    "answer", [reject(403, "forbidden"), reject(503, "later"), PlainTextResponse("", 500), reject(500, "no")]
)
async def test_a_relaxation_that_fails_is_no_failure_of_the_write_and_is_repeated(
    api: ToyApi, write: HttpWriteService, answer: Response
) -> None:
    api.rule = failing(4, answer)
    assert await write.add_ref(ADD) == Written(101)
    assert list(write.relaxations.owed) == [(KEY, Key("target", "t1"))]
    await nothing_is_owed(write)
    assert relaxed(api) == ["t1"] * 5


async def test_a_failure_is_logged_once(api: ToyApi, write: HttpWriteService, caplog: pytest.LogCaptureFixture) -> None:
    api.rule = failing(9, reject(403, "forbidden"))
    await write.update(UPDATE)
    await nothing_is_owed(write)
    assert (
        len([record for record in caplog.records if record.levelname == "WARNING" and "blocks" in record.message]) == 1
    )


async def test_what_is_owed_is_tried_again_when_another_relaxation_succeeds(
    api: ToyApi, write: HttpWriteService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relaxing, "_AGAIN", Backoff(3600.0, 3600.0))
    api.rule = failing(1, reject(403, "forbidden"))
    await write.add_ref(ADD)
    assert write.relaxations.owed
    await write.add_ref(ADD._replace(target=to_target("t2")))
    await nothing_is_owed(write)
    assert relaxed(api) == ["t1", "t2", "t1"]


async def test_a_reference_that_is_gone_is_owed_no_more(api: ToyApi, write: HttpWriteService) -> None:
    api.rule = lambda sent: reject(404, "no such reference") if sent.path == RELAX else None
    await write.add_ref(ADD)
    assert not write.relaxations.owed
    assert relaxed(api) == ["t1"]


async def test_a_write_of_unknown_outcome_is_relaxed_in_case_it_happened(api: ToyApi, write: HttpWriteService) -> None:
    api.rule = lambda sent: PlainTextResponse("", 500) if sent.path == "/ref-update" else None
    with pytest.raises(UnknownOutcome):
        await write.add_ref(ADD)
    await nothing_is_owed(write)
    assert relaxed(api) == ["t1"]


async def test_a_rejected_write_owes_nothing(api: ToyApi, write: HttpWriteService) -> None:
    api.rule = lambda sent: reject(403, "no") if sent.path == "/ref-update" else None
    with pytest.raises(Rejected):
        await write.add_ref(ADD)
    assert not write.relaxations.owed


async def test_a_caller_that_is_cancelled_leaves_its_relaxation_owed(api: ToyApi, write: HttpWriteService) -> None:
    await write.add_ref(ADD)
    api.gate = asyncio.Event()
    task = asyncio.create_task(write.add_ref(ADD))
    await anyio.wait_all_tasks_blocked()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert write.relaxations.owed
    api.gate.set()
    await nothing_is_owed(write)


async def test_closing_logs_what_is_still_owed(
    api: ToyApi, write: HttpWriteService, caplog: pytest.LogCaptureFixture
) -> None:
    api.rule = lambda sent: reject(403, "forbidden") if sent.path == RELAX else None
    await write.update(UPDATE)
    await write.aclose()
    assert "2 references still block" in caplog.text
