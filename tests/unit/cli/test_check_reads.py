"""``check --reads``: the map beside what was really read, of files and of the running compiler."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from intentc.testing import load
from tests.support.shipped_map import WITHOUT_GROUPS
from tests.unit.cli.asked_compiler import answering
from tests.unit.cli.running import Intentc

ROOT = Path(__file__).resolve().parents[3]
TENANT = ROOT / "sample" / "tenant.yml"


def reads(document: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(document)["reads"]
    return found


@pytest.fixture
def with_map(tmp_path: Path) -> Callable[[str], Path]:
    """A configuration with this map in place of Contrail's own."""

    def write(text: str) -> Path:
        reactions, configuration = tmp_path / "map.yml", tmp_path / "contrail.yml"
        reactions.write_text(text)
        configuration.write_text(f"intentc: {{reactions: {{contrail: {reactions}}}}}")
        return configuration

    return write


def test_nothing_is_missing_in_what_ships_and_idle_entries_are_notes(intentc: Intentc) -> None:
    ended = intentc("check", "--reads", TENANT, "--strict", "-o", "json")
    assert ended.code == 0
    assert reads(ended.out)["missing"] == []
    assert {finding["reason"] for finding in json.loads(ended.out)["findings"]} == {"Unreachable", "IdleReaction"}
    edges = {(edge["kind"], edge["cause"], edge["to"]): edge for edge in reads(ended.out)["edges"]}
    assert edges["security_group", "self", "security_group"]["needed"] > 0
    assert edges["virtual_network", "self", "virtual_network"]["needed"] == 0


def test_a_missing_reaction_is_a_warning_with_an_example(intentc: Intentc, with_map: Callable[[str], Path]) -> None:
    configuration = with_map(WITHOUT_GROUPS)
    ended = intentc("check", "--reads", TENANT, "--config-file", configuration)
    assert ended.code == 0
    assert "MissingReaction" in ended.out
    assert "default-domain:shop:web reads default-domain:shop:database, for example" in ended.out
    assert "add security_group to `security_group: self:`" in ended.out
    assert intentc("check", "--reads", TENANT, "--strict", "--config-file", configuration).code == 3
    found = intentc("check", "--reads", TENANT, "-o", "json", "--config-file", configuration)
    assert [(one["reader"], one["read"]) for one in reads(found.out)["missing"]] == [
        ("security_group", "security_group")
    ]


def test_check_says_that_reads_of_a_held_intent_are_unknown(intentc: Intentc, tmp_path: Path, mocker: Any) -> None:
    mocker.patch(
        "intentc.compilers.contrail.security_group.SecurityGroupIntent.evaluate", side_effect=RuntimeError("no")
    )
    ended = intentc("check", "--reads", TENANT)
    assert "security_group default-domain:shop:web is held: its further reads are unknown" in ended.err


def test_a_file_that_is_wrong_is_reported_as_compile_does(intentc: Intentc, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yml"
    wrong.write_text("resources:\n  - {kind: virtual_netwrok, data: {fq_name: [a]}}\n")
    ended = intentc("check", "--reads", wrong)
    assert ended.code == 3
    assert f"{wrong}:2" in ended.err


def test_files_without_reads_are_rejected(intentc: Intentc) -> None:
    ended = intentc("check", TENANT)
    assert ended.code == 2
    assert "FILE needs --reads" in ended.err


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with answering("contrail", load(TENANT.read_text())) as address:
        monkeypatch.setenv("INTENTC_INTENTC__DIAGNOSTICS__ADDRESS", address)
        yield


@pytest.mark.usefixtures("running")
def test_without_files_the_running_compiler_is_asked_for_what_it_counted(intentc: Intentc) -> None:
    ended = intentc("check", "--reads", "-o", "json")
    assert ended.code == 0
    found = reads(ended.out)
    assert found["missing"] == []
    edges = {(edge["kind"], edge["cause"], edge["to"]) for edge in found["edges"]}
    assert ("port_tuple", "virtual_machine_interface", "service_instance") in edges


def test_nobody_who_runs_is_reported(intentc: Intentc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTENTC_INTENTC__DIAGNOSTICS__ADDRESS", "127.0.0.1:1")
    ended = intentc("check", "--reads")
    assert ended.code == 4
    assert "intentc run" in ended.err
