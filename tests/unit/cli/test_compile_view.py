"""``intentc compile --view``: a view of what files make, without any server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from intentc.cli.command_error import Exit
from tests.unit.cli.running import Intentc

MAPPING = """
apiVersion: getambassador.io/v3alpha1
kind: Mapping
metadata: {name: echo, namespace: shop}
spec: {hostname: shop.example, prefix: /echo/, service: echo}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "echo.yaml"
    path.write_text(MAPPING)
    return path


def test_the_routes_of_files_are_a_table(intentc: Intentc, file: Path) -> None:
    header, row = intentc("compile", "--compiler", "ambassador", "--view", "routes", file).out.splitlines()
    assert header.split()[:3] == ["HOSTNAMES", "PATH", "MATCH"]
    assert row.split()[:3] == ["shop.example", "/echo/", "prefix"]


def test_a_view_is_json_for_programs(intentc: Intentc, file: Path) -> None:
    found = json.loads(intentc("compile", "--compiler", "ambassador", "--view", "services", "-o", "json", file).out)
    assert (found["view"], found["total"], [row["service"] for row in found["rows"]]) == ("services", 1, ["echo"])


def test_an_unknown_view_is_rejected_with_those_that_there_are(intentc: Intentc, file: Path) -> None:
    ended = intentc("compile", "--compiler", "ambassador", "--view", "route", file)
    assert ended.code == Exit.USAGE
    assert "there is no view 'route'; there are problems, planned, routes, " in ended.err


def test_a_view_is_no_configuration_of_envoy(intentc: Intentc, file: Path) -> None:
    assert intentc("compile", "--view", "routes", "-o", "envoy", file).code == Exit.USAGE
