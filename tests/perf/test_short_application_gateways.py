"""The bench of Application Gateways in its short form, with bounds that only a broken path misses."""

from __future__ import annotations

import pytest

from tests.perf.application_gateways import Cost, measure, table

INGRESSES = 20


@pytest.fixture(scope="module")
def cost() -> Cost:
    return measure(INGRESSES, changes=3)


def test_a_changed_endpoint_changes_its_pool_alone(cost: Cost) -> None:
    assert cost.endpoint_objects == 1


def test_a_changed_path_changes_what_belongs_to_its_ingress(cost: Cost) -> None:
    assert 0 < cost.ingress_objects <= 6


def test_every_world_is_a_row_of_the_table(cost: Cost) -> None:
    assert f"| {INGRESSES} | {cost.objects} |" in table([cost])
