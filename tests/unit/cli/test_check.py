"""``check``: what can be proved before the service starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from intentc import plugins
from tests.support.pair.compilers import EAST, WEST
from tests.unit.cli.running import Intentc

SAMPLE = Path(__file__).resolve().parents[3] / "sample" / "contrail.yml"


@pytest.fixture
def configuration(tmp_path: Path) -> Path:
    return tmp_path / "contrail.yml"


def test_the_sample_and_what_ships_are_free_of_errors(intentc: Intentc) -> None:
    ended = intentc("check", "--config-file", SAMPLE, "-o", "json")
    assert ended.code == 0
    assert [f for f in json.loads(ended.out)["findings"] if f["severity"] == "error"] == []


def test_an_error_in_a_map_is_shown_with_its_line(intentc: Intentc, configuration: Path, tmp_path: Path) -> None:
    reactions = tmp_path / "map.yml"
    reactions.write_text("intent-compiler:\n  virtual_netwrok:\n    self: []\n")
    configuration.write_text(f"intentc: {{reactions: {{contrail: {reactions}}}}}")
    ended = intentc("check", "--config-file", configuration)
    assert ended.code == 3
    assert f"{reactions}:" in ended.out
    assert "did you mean virtual_network" in ended.out


def test_check_reports_the_shipped_files_as_clean_and_counts_no_notes(intentc: Intentc) -> None:
    ended = intentc("check", "--strict", "--config-file", SAMPLE)
    assert ended.code == 0
    assert ended.err.splitlines()[-1] == "0 errors, 0 warnings; 4 notes, which need no action: --notes lists them"
    assert ended.out == ""


def test_notes_are_listed_when_asked_for(intentc: Intentc) -> None:
    ended = intentc("check", "--notes", "--config-file", SAMPLE)
    assert [line.split()[0] for line in ended.out.splitlines()] == ["SEVERITY", *["note"] * 4]
    assert ended.err.splitlines()[-1] == "0 errors, 0 warnings; 4 notes, which need no action"


@pytest.mark.parametrize(
    "text",
    [
        (SAMPLE.parent / "tenant.yml").read_text(),
        "kind: project\ndata: {fq_name: [a]}\n",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: b}\n",
        "- {kind: project, data: {fq_name: [a]}}\n",
        "etcd: {}\nresources: []\n",
    ],
)
@pytest.mark.parametrize("command", [("check",), ("run",), ("get", "project")])
def test_resources_are_no_configuration(
    intentc: Intentc, configuration: Path, text: str, command: tuple[str, ...]
) -> None:
    configuration.write_text(text)
    ended = intentc("--config-file", configuration, *command)
    assert (ended.code, ended.out) == (3, "")
    what, where, following = ended.err.splitlines()
    assert what == "error: these are resources, not a configuration"
    assert where.startswith(f"  where: {configuration}:")
    assert following.startswith(f"  next:  `intentc apply {configuration}` applies them; ")


def test_a_configuration_without_any_known_key_is_an_error(intentc: Intentc, configuration: Path) -> None:
    configuration.write_text("# one\ncompilers: [contrail]\nfrobnicate: 1\n")
    ended = intentc("check", "--config-file", configuration)
    assert (ended.code, ended.out) == (3, "")
    assert (
        "this is no configuration: unknown are compilers, frobnicate; compilers belongs below `intentc:`" in ended.err
    )


@pytest.mark.parametrize("text", ["", "{}", "database: {}", "log_level_file: level"])
def test_a_configuration_with_nothing_of_ours_may_be_empty_or_anothers(
    intentc: Intentc, configuration: Path, text: str
) -> None:
    (configuration.parent / "level").write_text("info")
    configuration.write_text(text.replace("level_file: ", f"level_file: {configuration.parent}/"))
    assert intentc("check", "--config-file", configuration).code == 0


def test_a_tab_in_a_file_is_called_a_tab(intentc: Intentc, configuration: Path) -> None:
    configuration.write_text("intentc:\n\tcompilers: [contrail]\n")
    ended = intentc("check", "--config-file", configuration)
    assert ended.code == 3
    assert ended.err.startswith("error: is no valid YAML: a tab; indent with spaces\n")
    assert f"{configuration}:2" in ended.err


def test_ambassadors_map_has_nothing_to_remark_on(intentc: Intentc) -> None:
    ended = intentc("check", "--strict", "--compiler", "ambassador")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.splitlines()[-1] == "0 errors, 0 warnings"


def test_an_error_in_a_kind_is_shown_with_its_line(intentc: Intentc, configuration: Path, tmp_path: Path) -> None:
    kind = tmp_path / "schemas" / "contrail" / "virtual_network.yml"
    kind.parent.mkdir(parents=True)
    kind.write_text("kind: virtual_network\ngroup: contrail\nparents: [projct]\n")
    configuration.write_text(f"intentc: {{schemas: [{kind.parent.parent}]}}")
    ended = intentc("check", "--config-file", configuration)
    assert ended.code == 3
    assert f"{kind}:3" in ended.err
    assert "'projct' is not declared" in ended.err


def test_an_error_in_the_configuration_is_shown_with_its_line(intentc: Intentc, configuration: Path) -> None:
    configuration.write_text("intentc:\n  reactoins: {}\n")
    ended = intentc("check", "--config-file", configuration)
    assert ended.code == 3
    assert f"{configuration}:2" in ended.err
    assert "did you mean reactions?" in ended.err


def test_a_map_of_another_form_is_shown_with_its_line(intentc: Intentc, configuration: Path, tmp_path: Path) -> None:
    reactions = tmp_path / "map.yml"
    reactions.write_text("intent-compiler:\n  virtual_network:\n    self: project\n")
    configuration.write_text(f"intentc: {{reactions: {{contrail: {reactions}}}}}")
    ended = intentc("check", "--config-file", configuration)
    assert ended.code == 3
    assert f"{reactions}:3" in ended.err
    assert "expected a list of kinds, found 'project'; write [project]" in ended.err


def test_warnings_count_when_asked(intentc: Intentc, configuration: Path, tmp_path: Path) -> None:
    reactions = tmp_path / "map.yml"
    reactions.write_text("intent-compiler:\n  virtual_network:\n    self: [project]\n")
    configuration.write_text(f"intentc: {{reactions: {{contrail: {reactions}}}}}")
    assert intentc("check", "--config-file", configuration).code == 0
    assert intentc("check", "--strict", "--config-file", configuration).code == 3


def test_a_compiler_that_is_not_installed_is_named(intentc: Intentc, configuration: Path) -> None:
    configuration.write_text("intentc: {compilers: [contrial]}")
    ended = intentc("check", "--config-file", configuration)
    assert ended.code == 3
    assert "there is no compiler 'contrial'" in ended.err


def test_a_map_for_a_compiler_that_does_not_run_is_an_error(intentc: Intentc, configuration: Path) -> None:
    configuration.write_text("intentc: {reactions: {other: map.yml}}")
    ended = intentc("check", "--config-file", configuration)
    assert ended.code == 3
    assert "a map for 'other', which is not in use" in ended.err


def test_no_auth_beyond_loopback_is_a_warning(intentc: Intentc, configuration: Path) -> None:
    configuration.write_text("no_auth: true\nserver: {address: ':9091'}\n")
    ended = intentc("check", "--strict", "--config-file", configuration, "-o", "json")
    assert ended.code == 3
    (found,) = [f for f in json.loads(ended.out)["findings"] if f["severity"] == "warning"]
    assert (found["reason"], found["source"]) == ("OpenApiServer", "server.address")
    assert "anybody who reaches it may change everything" in found["message"]


@pytest.mark.parametrize(
    ("api", "compiler", "found"),
    [("", "contrail", 1), ("secret_keys: 0123456789abcdef0123456789abcdef", "contrail", 0), ("", "ambassador", 0)],
)
def test_a_server_with_users_and_secrets_without_a_key_is_a_warning(
    intentc: Intentc, configuration: Path, api: str, compiler: str, found: int
) -> None:
    users = "keystone: {assignment: {data: {users: {a: {id: a, password: pw}}}}}"
    configuration.write_text(f"{users}\nintentc: {{compilers: [{compiler}], api: {{{api}}}}}\n")
    ended = intentc("check", "--config-file", configuration, "-o", "json")
    assert ended.code == 0
    warnings = [f for f in json.loads(ended.out)["findings"] if f["reason"] == "PlainSecrets"]
    assert len(warnings) == found
    assert all("physical" in f["message"] or "bgp-router" in f["message"] for f in warnings)
    assert all("intentc.api.secret_keys_file" in f["message"] for f in warnings)


def test_compilers_that_need_processes_of_their_own_are_checked_each_by_itself(
    intentc: Intentc, configuration: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in the configuration of the API server that serves both."""
    offered = {compiler.name: compiler for compiler in (EAST, WEST)}
    monkeypatch.setattr(plugins, "find_compilers", lambda names: tuple(offered[name] for name in names))
    configuration.write_text("{no_auth: true, intentc: {compilers: [east, west]}}")
    ended = intentc("check", "--notes", "--config-file", configuration, "-o", "json")
    assert ended.code == 0, ended.err
    (note,) = [one for one in json.loads(ended.out)["findings"] if one["reason"] == "SeveralProcesses"]
    assert note["severity"] == "note"
    kinds = intentc("get", "--config-file", configuration, "-o", "json")
    assert [kind["name"] for kind in json.loads(kinds.out)["kinds"]] == ["door", "east_beam", "lamp", "west_beam"]
    run = intentc("graph", "--config-file", configuration)
    assert run.code == 3
    assert "lookout" in run.err
