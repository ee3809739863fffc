"""The units whose instructions are counted can be compiled, and the counts make a table."""

from __future__ import annotations

import pytest

from tests.perf.instructions import table
from tests.perf.units import UNITS, compile_units


@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_is_compiled_written_and_seen(unit: str) -> None:
    compile_units(unit, 3, 4)


def test_the_table_compares_two_commits() -> None:
    text = table({"Mapping": [4_000_000, 5_000_000], "security group": [2_500_000]})
    assert "| Mapping | 4,000k | 0.800 |" in text
    assert "| security group | 2,500k |  |" in text
