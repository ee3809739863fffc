"""``intentc.testing``: resources in, writes out, without any server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pytest_mock import MockerFixture

from intentc.model import InvalidInput
from intentc.testing import Create, Rejected, WriteService, load, service_for

pytestmark = pytest.mark.anyio

PROJECT = load("{kind: project, data: {fq_name: [default-domain, blue]}}\n")
ROUTER = load(
    """
    kind: logical_router
    data: {fq_name: [default-domain, blue, router], parent_type: project}
    """
)


@pytest.fixture
def write(mocker: MockerFixture) -> Any:
    return mocker.AsyncMock(spec=WriteService)


async def test_without_a_mock_the_writes_go_through_the_api_server_and_are_recorded() -> None:
    service = service_for("contrail", cached=[PROJECT])
    await service.create(ROUTER)
    assert [type(operation).__name__ for operation in service.written] == ["Create", "AddReference"]
    assert service.problems == ()


async def test_what_follows_from_cached_resources_does_not_reach_the_mock(write: Any) -> None:
    service = service_for("contrail", write_service=write, cached=[PROJECT, ROUTER])
    await service.update(PROJECT)
    assert write.mock_calls == []
    assert service.written == []


async def test_what_a_mock_has_seen_is_written(write: Any) -> None:
    service = service_for("contrail", write_service=write, cached=[PROJECT])
    await service.create(ROUTER)
    await service.update(PROJECT)
    assert (write.create.await_count, write.add_ref.await_count) == (1, 1)
    assert write.allocate.await_count == 1


async def test_a_mock_may_reject_and_the_rejection_is_a_problem(write: Any) -> None:
    write.create.side_effect = Rejected(403, "not today")
    service = service_for("contrail", write_service=write, cached=[PROJECT])
    await service.create(ROUTER)
    assert [(problem.reason, "not today" in problem.message) for problem in service.problems] == [("Rejected", True)]


async def test_a_resource_is_found_by_its_name_to_be_updated_and_deleted(write: Any) -> None:
    service = service_for("contrail", write_service=write, cached=[PROJECT])
    await service.create(ROUTER)
    made = service.written[0]
    assert isinstance(made, Create) and made.fq_name == ("target:64512:8000102",)
    await service.delete(ROUTER)
    assert [operation.key for operation in service.written[2:]] == [made.key]
    write.free.assert_awaited_once()


async def test_what_is_not_there_cannot_be_deleted(write: Any) -> None:
    with pytest.raises(InvalidInput, match="there is no logical_router"):
        await service_for("contrail", write_service=write).delete(ROUTER)


def test_a_file_is_read_relative_to_a_folder(tmp_path: Path) -> None:
    (tmp_path / "thing.yml").write_text("kind: thing\ndata: {}\n")
    assert load("thing.yml", tmp_path).documents[0].value == {"kind": "thing", "data": {}}


def test_a_changed_resource_leaves_the_original_as_it_is() -> None:
    other = ROUTER.changed(logical_router_type="vxlan-routing")
    assert "logical_router_type" not in ROUTER.documents[0].value["data"]
    assert other.documents[0].value["data"]["logical_router_type"] == "vxlan-routing"


def test_an_unknown_compiler_is_rejected() -> None:
    with pytest.raises(InvalidInput, match="there is no compiler 'contrial'"):
        service_for("contrial")


def test_a_resource_of_an_unknown_kind_is_rejected() -> None:
    with pytest.raises(InvalidInput, match="unknown kind"):
        service_for("contrail", cached=[{"kind": "proyect", "data": {"fq_name": ["blue"]}}])
