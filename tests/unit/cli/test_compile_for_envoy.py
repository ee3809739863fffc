"""``compile -o envoy`` prints a complete configuration of Envoy, and private keys only if it is asked to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from intentc.cli.command_error import CommandError, Exit
from intentc.cli.entry import run
from intentc.cli.envoy_output import print_bootstrap
from intentc.loading.schemas import load_schema
from tests.support.golden.compiling import compiled

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "sample" / "ambassador"
WITH_SECRET = ROOT / "tests" / "golden" / "ambassador" / "tls" / "secret.in.yaml"
TENANT = ROOT / "sample" / "tenant.yml"
CONFIGURED = ("--config-file", str(ROOT / "sample" / "ambassador.yml"))


def test_routes_and_endpoints_stand_in_their_places() -> None:
    ended = compiled("ambassador", SAMPLE, output="envoy", options=CONFIGURED)
    assert (ended.code, ended.err) == (0, "")
    static = json.loads(ended.out)["static_resources"]
    assert [listener["name"] for listener in static["listeners"]] == ["sample/web"]
    assert "/greeting/" in json.dumps(static["listeners"])
    assert {cluster["type"] for cluster in static["clusters"]} == {"STATIC"}
    assert "18081" in json.dumps(static["clusters"])
    assert "ads" not in json.dumps(static)


def test_secrets_are_left_out_and_that_is_said() -> None:
    ended = compiled("ambassador", WITH_SECRET, output="envoy")
    assert ended.code == 0
    assert json.loads(ended.out)["static_resources"]["secrets"] == []
    assert "private_key" not in ended.out
    assert "secrets left out: 2" in ended.err and "--with-secrets" in ended.err


def test_secrets_are_printed_when_asked_for() -> None:
    ended = compiled("ambassador", WITH_SECRET, output="envoy", options=("--with-secrets",))
    secrets = json.loads(ended.out)["static_resources"]["secrets"]
    assert [bool(secret["tls_certificate"]["private_key"]["inline_bytes"]) for secret in secrets] == [True, True]
    assert "left out" not in ended.err


def test_without_envoys_form_secrets_are_never_printed(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["compile", "--compiler", "ambassador", str(WITH_SECRET), "-o", "json", "--with-secrets"])
    assert (code, capsys.readouterr().out) == (2, "")


def test_a_compiler_that_makes_nothing_for_envoy_says_so() -> None:
    ended = compiled("contrail", TENANT, output="envoy")
    assert (ended.code, ended.out) == (2, "")
    assert "these compilers make nothing for Envoy" in ended.err


def test_problems_are_reported_beside_it(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text((SAMPLE / "routes.yaml").read_text())
    ended = compiled("ambassador", broken, output="envoy")
    assert ended.code == 0 and json.loads(ended.out)["static_resources"]["listeners"] == []
    assert f"{broken}:" in ended.err and "no Host serves *" in ended.err


def test_an_element_that_is_no_message_is_left_out_and_reported_with_its_origins(
    capsys: pytest.CaptureFixture[str],
) -> None:
    schema = load_schema("ambassador")
    common = {"uuid": "u", "kind": "envoy_cluster"}
    good = {**common, "fq_name": ["good"], "config": {"name": "good"}}
    bad = {
        **common,
        "fq_name": ["bad"],
        "config": {"name": "bad", "nonsense": 1},
        "origins": [{"kind": "mapping", "name": "shop:echo"}],
    }
    with pytest.raises(CommandError, match=r"left out: envoy_cluster bad of mapping shop:echo .*nonsense") as ended:
        print_bootstrap([bad, good], schema, with_secrets=False)
    assert ended.value.code == Exit.INVALID
    clusters = json.loads(capsys.readouterr().out)["static_resources"]["clusters"]
    assert [cluster["name"] for cluster in clusters] == ["good"]
