"""How often a service audits itself is a setting."""

from __future__ import annotations

from intentc.loading.configuration import load
from intentc.loading.configuration.setting_types import Seconds


def test_once_an_hour_and_ten_minutes_at_most_by_default() -> None:
    audit = load(None, {}).configuration.intentc.audit
    assert (audit.period, audit.time_limit) == (Seconds(3600), Seconds(600))


def test_period_and_time_limit_can_be_set_and_0_is_a_period() -> None:
    environment = {"INTENTC_INTENTC__AUDIT__PERIOD": "0", "INTENTC_INTENTC__AUDIT__TIME_LIMIT": "90s"}
    audit = load(None, environment).configuration.intentc.audit
    assert (audit.period, audit.time_limit) == (Seconds(0), Seconds(90))
