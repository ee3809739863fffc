"""Kinds that take part in walks: nothing follows from them alone (docs/contrail.md D.14, D.15; E.1
TestCreateFloatingIP)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.evaluation import Status
from tests.unit.contrail.tenant import Tenant, reasons


@pytest.mark.parametrize(
    "kind",
    ["alias_ip", "floating_ip", "instance_ip", "network_policy", "project", "virtual_machine_interface"],
)
def test_nothing_follows_from_them(kind: Any) -> None:
    tenant = Tenant()
    outcome = tenant.run(tenant.put(kind, "default-domain:blue:x"))
    assert (outcome.status, outcome.claims, outcome.problems) == (Status.DONE, (), ())


@pytest.mark.parametrize("kind", ["alias_ip", "floating_ip", "instance_ip"])
@pytest.mark.parametrize(
    ("address", "expected"),
    [("10.10.10.10", []), ("::1", []), ("10.10.10.10.10", ["MalformedAddress"])],
)
def test_an_address_that_is_none_is_reported(kind: Any, address: Any, expected: Any) -> None:
    tenant = Tenant()
    outcome = tenant.run(tenant.put(kind, "x", **{f"{kind}_address": address}))
    assert (outcome.status, reasons(outcome)) == (Status.DONE, expected)
