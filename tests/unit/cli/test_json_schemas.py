"""JSON Schemas for editors: those that ship are current, every shipped file fits its own, and wrong ones don't."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from intentc.cli.json_schemas import documents, write
from intentc.loading import load_yaml
from intentc.plugins import find_compilers, load_all
from tests.support.toy.compiler import compiler as toy
from tests.unit.cli.running import Intentc

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = ROOT / "config" / "json-schemas"
MARK = "# yaml-language-server: $schema="
FILES = sorted(
    [
        *(ROOT / "reactions").glob("*.yml"),
        *(ROOT / "config" / "schemas").glob("*/*.yml"),
        ROOT / "sample" / "contrail.yml",
        ROOT / "sample" / "ambassador.yml",
    ]
)


def problems(schema: Path | str, value: Any) -> list[str]:
    """What ``schema`` (a file, or the name of one that ships) has against a value."""
    path = schema if isinstance(schema, Path) else SHIPPED / f"{schema}.schema.json"
    return [error.message for error in Draft202012Validator(json.loads(path.read_text())).iter_errors(value)]


def test_those_that_ship_are_as_this_version_writes_them(tmp_path: Path) -> None:
    """`intentc check --schemas config/json-schemas --compiler contrail --compiler ambassador` writes them anew, and the
    same with `--compiler appgw` and with `--compiler gateway` those of these."""
    written = {*write(tmp_path, load_all(find_compilers(["contrail", "ambassador"])))}
    for compiler in ("appgw", "gateway"):
        written.update(write(tmp_path, load_all(find_compilers([compiler]))))
    assert sorted(path.name for path in written) == sorted(path.name for path in SHIPPED.iterdir())
    assert [path.name for path in written if path.read_bytes() != (SHIPPED / path.name).read_bytes()] == []


@pytest.mark.parametrize("path", sorted(SHIPPED.iterdir()), ids=lambda path: path.name)
def test_each_is_a_schema(path: Path) -> None:
    schema = json.loads(path.read_text())
    assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_shipped_file_names_the_schema_that_it_fits(path: Path) -> None:
    first = path.read_text().splitlines()[0]
    assert first.startswith(MARK)
    schema = (path.parent / first.removeprefix(MARK)).resolve()
    assert schema.parent == SHIPPED
    assert problems(schema, load_yaml(path).value) == []


@pytest.mark.parametrize(
    "written",
    [
        "intent-compiler: {virtual-network: {self: [network-policy, {all: routing_instance}], routing-instance: }}",
        "intent_compiler: {virtual_network: }",
        "intent-compiler:",
    ],
)
def test_a_map_may_be_written_in_every_way_that_is_read(written: str) -> None:
    assert problems("reaction-map-contrail", load_yaml(written).value) == []
    assert problems("reaction-map", load_yaml(written).value) == []


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ("reaction-map", "intent-compilers: {}"),
        ("reaction-map", "intent-compiler: {net: [policy]}"),
        ("reaction-map", "intent-compiler: {net: {self: policy}}"),
        ("reaction-map", "intent-compiler: {net: {self: [{every: policy}]}}"),
        ("reaction-map-contrail", "intent-compiler: {virtual_netwrok: {}}"),
        ("reaction-map-contrail", "intent-compiler: {virtual_network: {slf: []}}"),
        ("reaction-map-contrail", "intent-compiler: {virtual_network: {self: [mapping]}}"),
        ("reaction-map-contrail", "intent-compiler: {virtual_network: {self: [{all: mapping}]}}"),
        ("kind", "{kind: farm}"),
        ("kind", "{kind: farm, group: farming, propertys: {}}"),
        ("kind", "{kind: farm, group: farming, properties: {crops: {list: string, type: string}}}"),
        ("kind", "{kind: farm, group: farming, properties: {crops: {}}}"),
        ("kind", "{kind: farm, group: farming, properties: {crops: {list: string, writer: nobody}}}"),
        ("kind", "{kind: farm, group: farming, references: {farm: {atribute: A}}}"),
        ("kind", "{kind: farm, group: farming, mentions: {near: {kind: farm, paths: [a], resolver: magic}}}"),
        ("kind", "{kind: farm, group: farming, shape: round}"),
        ("types", "{types: {Crop: {name: {typ: string}}}}"),
        ("types", "{kinds: {}}"),
        ("configuration", "intentc: {compliers: [contrail]}"),
        ("configuration", "intentc: {limits: {max_txn_ops: 0}}"),
        ("configuration", "intentc: {log: {format: xml}}"),
        ("configuration", "etcd: {endpoints: 7}"),
        ("configuration", "etcd: {tls: {enabled: perhaps}}"),
        ("configuration", "server: {address: nowhere}"),
        ("configuration", "log_level: loud"),
    ],
)
def test_what_is_wrong_does_not_fit(schema: str, written: str) -> None:
    assert problems(schema, load_yaml(written).value)


@pytest.mark.parametrize(
    "written",
    [
        "etcd: {endpoints: 127.0.0.1:2379, password_file: /run/secret, dial_timeout: 1m30s, enabled: true}",
        "etcd: {tls: {enabled: yes}, path_file: /etc/path}",
        "etcd:",
        "somebody_elses: {section: 1}",
        "intentc: {settings: {any.thing: [1, {a: b}]}, watch: {heartbeat: 0.5}}",
    ],
)
def test_a_configuration_may_be_written_in_every_way_that_is_read(written: str) -> None:
    assert problems("configuration", load_yaml(written).value) == []


def test_fields_are_described_as_their_docstrings_say() -> None:
    written = documents({})["configuration"]["$defs"]["Limits"]["properties"]
    assert written["concurrent_writes"]["description"] == "requests under way at once."


def test_the_maps_of_the_configured_compilers_are_completed(intentc: Intentc, tmp_path: Path) -> None:
    ended = intentc("check", "--schemas", tmp_path / "made", "--compiler", "ambassador", "-o", "json")
    assert ended.code == 0
    files = json.loads(ended.out)["files"]
    assert str(tmp_path / "made" / "reaction-map-ambassador.schema.json") in files
    assert not any("contrail" in Path(file).name for file in files)
    assert (
        problems(tmp_path / "made" / "reaction-map-ambassador.schema.json", {"intent-compiler": {"mapping": {}}}) == []
    )


def test_a_compiler_of_ones_own_has_one_with_its_kinds(tmp_path: Path) -> None:
    write(tmp_path, load_all([toy]))
    written = json.loads((tmp_path / "reaction-map-toy.schema.json").read_text())
    kinds = written["properties"]["intent-compiler"]["properties"]
    assert kinds["toy_service"]["description"] == "A set of pods, chosen by their labels."
    assert "toy_cluster" not in kinds
