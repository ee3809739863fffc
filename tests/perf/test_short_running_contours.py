"""The bench of running Contours in its short form, with bounds that only a broken path misses."""

from __future__ import annotations

import pytest

from tests.perf.running_contours import Cost, measure, table

GATEWAYS = 20


@pytest.fixture(scope="module")
def cost() -> Cost:
    return measure(GATEWAYS, changes=3)


def test_each_object_is_written_once(cost: Cost) -> None:
    assert cost.objects == 15 * GATEWAYS
    owners = GATEWAYS + 1
    assert cost.writes == cost.objects + 2 * owners, "and a finalizer and a status on each Gateway and on the class"


def test_answers_of_the_cluster_write_nothing_but_status(cost: Cost) -> None:
    assert cost.statuses == GATEWAYS


def test_one_changed_listener_writes_the_service_and_the_status(cost: Cost) -> None:
    assert cost.change_writes == 2


def test_every_world_is_a_row_of_the_table(cost: Cost) -> None:
    assert f"| {GATEWAYS} | {15 * GATEWAYS} |" in table([cost])
