"""Schema files: read once, checked with file and line, with a hint what was meant."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from intentc.loading import load_schema
from intentc.model.problem import InvalidInput
from tests.support.cpu import slowness

Write = Callable[..., Path]
TYPES = "types:\n  Port:\n    number: integer\n"


def rejected(write: Write, kind: str, types: str = TYPES) -> str:
    write("toy/types.yml", types)
    path = write("toy/thing.yml", kind)
    with pytest.raises(InvalidInput) as caught:
        load_schema("toy", directories=[path.parent.parent])
    return str(caught.value).replace(f"{path.parent}/", "")


def test_kinds_and_their_types_are_read(write: Write) -> None:
    write("toy/types.yml", TYPES)
    path = write("toy/thing.yml", "kind: thing\ngroup: toy\nproperties: {port: Port, ports: {list: Port}}")

    kind = load_schema("toy", directories=[path.parent.parent]).kind("thing")

    values = kind.decode_values(b'{"fq_name": ["a"], "port": {"number": 1}, "ports": [{}, {"number": 2}]}')
    assert (values.port.number, [port.number for port in values.ports]) == (1, [0, 2])


def test_a_compiler_without_types_of_its_own_needs_no_types_file(write: Write) -> None:
    path = write("toy/thing.yml", "kind: thing\ngroup: toy\nproperties: {port: integer}")

    assert "thing" in load_schema("toy", directories=[path.parent.parent])


def test_what_every_kind_refers_to_is_added_to_each(write: Write) -> None:
    write("toy/types.yml", "every_kind: {references: {label: }}")
    write("toy/label.yml", "kind: label\ngroup: toy")
    path = write("toy/thing.yml", "kind: thing\ngroup: toy")

    schema = load_schema("toy", directories=[path.parent.parent])

    assert list(schema.kind("thing").relations) == ["label"]
    assert list(schema.kind("label").relations) == []


def test_it_is_read_once_per_process() -> None:
    assert load_schema("contrail") is load_schema("contrail")


def test_two_compilers_load_together() -> None:
    schema = load_schema("contrail", "toy", directories=[Path("tests/support/toy/schemas")])

    assert "toy_route" in schema
    assert "virtual_network" in schema


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("kind: thing", "thing.yml:1: `group` is missing"),
        ("kind: other\ngroup: toy", "thing.yml:1: kind is 'other', but the file's name says 'thing'"),
        ("kind: thing\ngroup: toy\nparent: x", "thing.yml:3: unknown key 'parent'; did you mean parents?"),
        (
            "kind: thing\ngroup: toy\nshape: kubernetes\nproperties:\n  metadata: map",
            "thing.yml:5: every resource has a field 'metadata'; call this one otherwise",
        ),
        (
            "kind: thing\ngroup: toy\nreferences:\n  thing: {atribute: Port}",
            "thing.yml:4: unknown key 'references.thing.atribute'; did you mean attribute?",
        ),
        *(
            (
                f"kind: thing\ngroup: toy\nproperties:\n  {name}: string",
                f"thing.yml:4: the name {name!r} is reserved",
            )
            for name in ("name", "uuid", "kind", "fq_name", "status", "key", "parent_uuid", "perms2")
        ),
        (
            "kind: thing\ngroup: toy\nproperties:\n  a: {type: string, enum: [red, blue], default: rd}",
            "thing.yml:4: default: 'rd' is not in the enum: red, blue",
        ),
        (
            "kind: thing\ngroup: toy\nproperties:\n  a: {type: integer, enum: [red]}",
            "thing.yml:4: enum is for texts",
        ),
        (
            "kind: thing\ngroup: toy\nproperties:\n  a:\n    type: integer\n    minimum: 5\n    maximum: 4",
            "thing.yml:6: no value fits: the minimum 5 is over the maximum 4",
        ),
        (
            "kind: thing\ngroup: toy\nproperties:\n  a: {type: string, maximum: 4}",
            "thing.yml:4: maximum is for numbers",
        ),
        (
            "kind: thing\ngroup: toy\nproperties:\n  a: strng",
            "thing.yml:4: a: 'strng' is unknown; did you mean string?",
        ),
        (
            "kind: thing\ngroup: toy\nproperties:\n  a:\n    type: Prot",
            "thing.yml:5: type: 'Prot' is unknown; did you mean Port?",
        ),
        (
            "kind: thing\ngroup: toy\nproperties:\n  a: {type: string, wirter: user}",
            "thing.yml:4: unknown key 'wirter'; did you mean writer?",
        ),
        (
            "kind: thing\ngroup: toy\nproperties:\n  a: {type: string, writer: compile}",
            "thing.yml:4: writer: 'compile' is unknown; did you mean compiler?",
        ),
        (
            "kind: thing\ngroup: toy\nproperties:\n  a: {type: Port, collection: list}",
            "thing.yml:4: collection: Port has no list, whose elements could be changed",
        ),
        (
            "kind: thing\ngroup: toy\nproperties:\n  a: {list: Port, collection: map}",
            "thing.yml:4: collection: a map needs map_key",
        ),
        (
            "kind: thing\ngroup: toy\nproperties:\n  a: {list: Port, collection: map, map_key: numbr}",
            "thing.yml:4: map_key: 'numbr' is unknown; did you mean number?",
        ),
        ("kind: thing\ngroup: toy\nproperties:\n  a: {writer: user}", "thing.yml:4: a field has either"),
        ("kind: thing\ngroup: toy\nproperties:\n  a: 3", "thing.yml:4: a field is declared by"),
        (
            "kind: thing\ngroup: toy\nproperties:\n  a: {type: string, minimum: low}",
            "thing.yml:4: properties.a.minimum: must be an integer, is a string",
        ),
        (
            "kind: thing\ngroup: toy\nproperties:\n  a: {type: integer, default: many}",
            "thing.yml:4: default: must be an integer, is a string",
        ),
        (
            "kind: thing\ngroup: toy\nproperties:\n  a: {type: string, writer_if_made: shared}",
            "thing.yml:4: writer_if_made: 'shared' is unknown; known are compiler",
        ),
        (
            "kind: thing\ngroup: toy\nreferences:\n  thing: {writer_if_made: user}",
            "thing.yml:4: writer_if_made: 'user' is unknown; known are compiler, shared",
        ),
        (
            "kind: thing\ngroup: toy\nreferences:\n  thing: {writer: nobody}",
            "thing.yml:4: writer: 'nobody' is unknown; known are compiler, server, shared, user",
        ),
        (
            "kind: thing\ngroup: toy\nreferences:\n  thing: {attribute: Prt}",
            "thing.yml:4: attribute: 'Prt' is unknown; did you mean Port?",
        ),
        (
            "kind: thing\ngroup: toy\nreferences:\n  thing: {ours: '(['}",
            "thing.yml:4: ours: '([' is no regular expression: ",
        ),
        (
            "kind: thing\ngroup: toy\nproperties:\n  port: {type: Port, compiler_parts: [nmber]}",
            "thing.yml:4: nmber: 'nmber' is unknown; did you mean number?",
        ),
        (
            "kind: thing\ngroup: toy\nreferences:\n  thing: {ours_with: {number: 7}}",
            "thing.yml: thing: ours_with needs an attribute",
        ),
        ("kind: thing\ngroup: toy\nours: '(['", "thing.yml:3: ours: '([' is no regular expression: "),
        (
            "kind: thing\ngroup: toy\nsystem: true\nonly_claimed: x",
            "thing.yml:4: only_claimed is about names that only compilers give; declare `system: true` and `ours`",
        ),
        ("kind: thing\ngroup: toy\nreferences:\n  thnig:", "thing.yml:4: thnig: kind 'thnig' is not"),
        ("kind: thing\ngroup: toy\nparents:\n  - root", "thing.yml:4: parent: kind 'root' is not declared"),
        (
            "kind: thing\ngroup: toy\nmentions:\n  m: {kind: thing, paths: [a], resolver: fqname}",
            "thing.yml:4: resolver: 'fqname' is unknown; did you mean fq_name?",
        ),
        (
            "kind: thing\ngroup: toy\nproperties: {port: Port}\nmentions:\n  m: {kind: thing, paths: [port.nmber]}",
            "thing.yml:5: path port.nmber: nothing is called 'nmber' there; did you mean number?",
        ),
        (
            "kind: thing\ngroup: toy\nproperties: {ports: {list: Port}}\nindexes:\n  i: {paths: [ports.number]}",
            "thing.yml:5: path ports.number: `ports` is a list; write ports[]",
        ),
        ("kind: thing\ngroup: toy\nshape: round", "thing.yml:3: shape: 'round' is unknown; known are"),
    ],
)
def test_a_bad_declaration_is_rejected_where_it_stands(write: Write, kind: str, message: str) -> None:
    assert rejected(write, kind).startswith(message)


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ("types:\n  Port: {number: intger}", "types.yml:2: number: 'intger' is unknown; did you mean integer?"),
        ("types:\n  Port: {number: {type: integer, writer: user}}", "types.yml:2: unknown key 'writer'"),
        (
            "types:\n  Port: {side: {type: string, enum: [left, right], default: up}}",
            "types.yml:2: default: 'up' is not in the enum",
        ),
        ("types:\n  Port: {next: Port}", "types.yml: type 'Port' contains itself"),
        ("type: {}", "types.yml:1: unknown key 'type'; did you mean types?"),
    ],
)
def test_a_bad_type_is_rejected_where_it_stands(write: Write, types: str, message: str) -> None:
    assert rejected(write, "kind: thing\ngroup: toy", types).startswith(message)


def test_a_compiler_that_nobody_knows_is_named_with_the_nearest() -> None:
    with pytest.raises(InvalidInput, match=r"compiler 'contrial' has no schemas in .*; did you mean contrail\?"):
        load_schema("contrial")


def test_one_kind_in_two_compilers_is_rejected(write: Write) -> None:
    write("one/thing.yml", "kind: thing\ngroup: one")
    path = write("two/thing.yml", "kind: thing\ngroup: two")

    with pytest.raises(InvalidInput, match=r"two/thing\.yml:1: kind 'thing' is also declared in .*one/thing\.yml"):
        load_schema("one", "two", directories=[path.parent.parent])


def test_all_kinds_of_contrail_load_fast() -> None:
    code = (
        "from time import process_time as t; from intentc.loading import load_schema; "
        "a = t(); load_schema('contrail'); print(t() - a)"
    )

    def took() -> float:
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        return float(done.stdout) / slowness()

    assert any(took() < 0.1 for _ in range(10))


def test_the_kinds_of_all_shipped_compilers_go_together() -> None:
    shipped = sorted(folder.name for folder in Path("config/schemas").iterdir())
    assert {"ambassador", "contrail"} <= set(shipped)
    assert {"mapping", "virtual_network"} <= set(load_schema(*shipped).kinds)
