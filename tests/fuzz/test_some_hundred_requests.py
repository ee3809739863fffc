"""The short form of ``make fuzz``: some hundred random requests, always the same."""

from __future__ import annotations

import pytest

from tests.fuzz.running import run

pytestmark = [pytest.mark.etcd, pytest.mark.http]


def test_no_request_makes_the_server_fail_or_hold_its_loop() -> None:
    ran = run(seed=1, count=800)
    assert [str(found) for found in ran.found] == []
    assert ran.statuses[200] > 100
    assert ran.statuses[400] > 100
