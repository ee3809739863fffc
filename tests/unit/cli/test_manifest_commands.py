"""The commands with manifests: sent flat, what one no longer says is cleared, and places are those in the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from intentc.cli.input_files import located
from intentc.loading import Loaded, load_resources, load_schema
from intentc.model import Problem
from tests.unit.cli.running import Intentc
from tests.unit.cli.toy_api_server import ToyApiServer

MAPPING = """apiVersion: getambassador.io/v3alpha1
kind: Mapping
metadata:
  name: echo
  namespace: shop
spec:
  hostname: "*"
  prefix: /echo/
  service: echo
"""


@pytest.fixture
def gateway(connected: ToyApiServer, monkeypatch: pytest.MonkeyPatch) -> ToyApiServer:
    """The toy API server, for commands with Ambassador's kinds."""
    monkeypatch.setenv("INTENTC_INTENTC__COMPILERS", "ambassador")
    return connected


@pytest.fixture
def mapping(tmp_path: Path) -> Path:
    path = tmp_path / "mapping.yaml"
    path.write_text(MAPPING)
    return path


def test_a_manifest_travels_flat(intentc: Intentc, gateway: ToyApiServer, mapping: Path) -> None:
    ended = intentc("apply", mapping)
    assert (ended.code, ended.out.split()[-3:]) == (0, ["mapping", "shop:echo", "created"])
    ((_, sent),) = gateway.stored.items()
    assert sent.pop("uuid")
    assert sent == {
        "fq_name": ["shop", "echo"],
        "api_version": "getambassador.io/v3alpha1",
        "hostname": "*",
        "prefix": "/echo/",
        "service": "echo",
    }


def test_a_manifest_that_is_applied_again_is_unchanged(intentc: Intentc, gateway: ToyApiServer, mapping: Path) -> None:
    intentc("apply", mapping)
    assert intentc("apply", mapping).out.split()[-1] == "unchanged"


def test_what_a_manifest_no_longer_says_is_cleared(intentc: Intentc, gateway: ToyApiServer, mapping: Path) -> None:
    uuid = gateway.put(
        "mapping", "shop", "echo", rewrite="/", metadata={"labels": {"a": "b"}}, display_name="echo", id_perms={}
    )
    assert intentc("apply", mapping).out.split()[-1] == "updated"
    stored = gateway.stored["mapping", uuid]
    assert (stored["rewrite"], stored["metadata"], stored["prefix"]) == (None, None, "/echo/")
    assert (stored["display_name"], stored["id_perms"]) == ("echo", {})


def test_what_get_prints_is_unchanged_when_it_is_applied(
    intentc: Intentc, gateway: ToyApiServer, tmp_path: Path
) -> None:
    metadata = {"labels": {"a": "b"}, "generation": 3, "creationTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x"]}
    gateway.put("mapping", "shop", "echo", prefix="/", service="echo", metadata=metadata)
    printed = tmp_path / "printed.yaml"
    printed.write_text(intentc("get", "mapping", "shop:echo", "-o", "yaml").out)
    assert "generation: 3" in printed.read_text()
    assert intentc("apply", printed).out.split()[-1] == "unchanged"
    printed.write_text(printed.read_text().replace("a: b", "a: c"))
    assert intentc("apply", printed).out.split()[-1] == "updated"


def test_a_manifest_is_deleted_by_its_name(intentc: Intentc, gateway: ToyApiServer, mapping: Path) -> None:
    intentc("apply", mapping)
    assert intentc("delete", mapping).out.split()[-1] == "deleted"
    assert gateway.names("mapping") == []


@pytest.mark.parametrize("kind", ["tlscontext", "TLSContext", "tls_context", "tls-contexts", "TLSContexts"])
def test_a_kind_is_known_as_its_manifests_spell_it(intentc: Intentc, gateway: ToyApiServer, kind: str) -> None:
    gateway.put("tls-context", "shop", "db")
    assert "shop:db" in intentc("get", kind).out


def test_a_users_own_secret_is_given_back_whole(intentc: Intentc, gateway: ToyApiServer) -> None:
    gateway.put("secret", "shop", "tls", data={"tls.key": "Zm9v"})
    (secret,) = json.loads(intentc("get", "secret", "-o", "json").out)["resources"]
    assert secret["data"] == {"tls.key": "Zm9v"}


def test_a_compilers_copy_of_a_secret_is_not_shown(intentc: Intentc, gateway: ToyApiServer) -> None:
    gateway.put("envoy-secret", "shop", "tls", config={"tls_certificate": {"private_key": "Zm9v"}})
    ended = intentc("get", "envoy_secret", "-o", "json")
    assert json.loads(ended.out)["resources"][0]["config"] == "<secret>"
    assert "Zm9v" not in ended.out


def test_compile_says_where_a_manifest_is_wrong(intentc: Intentc, mapping: Path) -> None:
    mapping.write_text(MAPPING + "  retry_policy:\n    num_retrys: 3\n")
    ended = intentc("compile", "--compiler", "ambassador", mapping)
    assert ended.code == 3
    assert "mapping has no field 'retry_policy.num_retrys'; did you mean num_retries?" in ended.err
    assert f"{mapping}:11" in ended.err


@pytest.mark.parametrize(
    ("message", "line"), [("prefix: bad", 8), ("spec.prefix: bad", 8), ("service echo is not there", 9), ("bad", 1)]
)
def test_a_problem_is_reported_at_the_field_that_it_names(mapping: Path, message: str, line: int) -> None:
    resources: list[Loaded] = load_resources(mapping, load_schema("ambassador"))
    problem = Problem("mapping", "shop:echo", "Bad", message)
    assert located(problem, resources).source == f"{mapping}:{line}"
