"""Input files: the accepted forms, the line of each resource, and the errors of bad files."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_mock import MockerFixture

from intentc.loading import load_resources
from intentc.loading.configuration import Configuration
from intentc.loading.resource_files import SECTIONS, load_what_can_be
from intentc.model.problem import InvalidInput
from intentc.model.schema import Schema

Write = Callable[..., Path]


def test_contrails_form_gives_each_resource_its_line(write: Write, contrail: Schema) -> None:
    path = write(
        "in.yml",
        "resources:\n- kind: project\n  data: {fq_name: [a, b]}\n"
        "- kind: virtual-network\n  operation: CREATE\n  data: {fq_name: [a, b, c]}\n",
    )

    assert [item[:3] for item in load_resources([path], contrail)] == [
        ("project", {"fq_name": ["a", "b"]}, f"{path}:2"),
        ("virtual_network", {"fq_name": ["a", "b", "c"]}, f"{path}:4"),
    ]


def test_each_field_of_a_resource_knows_its_line(write: Write, contrail: Schema) -> None:
    (group,) = load_resources(
        write("in.yml", "kind: project\ndata:\n  fq_name: [a, b]\n  quota:\n    first: 1\n    second: 2\n"), contrail
    )

    assert [group.where(field).rpartition(":")[2] for field in ((), ("quota",), ("quota", "second"))] == ["1", "4", "6"]
    assert group.where(("quota", "absent")).endswith(":4")


def test_documents_may_hold_one_resource_each(write: Write, contrail: Schema) -> None:
    path = write(
        "in.yml", "kind: project\ndata: {fq_name: [a, b]}\n---\nkind: security_group\ndata: {fq_name: [a, b, c]}\n"
    )

    assert [(item.kind, item.source) for item in load_resources(path, contrail)] == [
        ("project", f"{path}:1"),
        ("security_group", f"{path}:4"),
    ]


def test_json_is_taken_too(write: Write, contrail: Schema) -> None:
    path = write("in.json", '{"resources": [\n\t{"kind": "project", "data": {"fq_name": ["a", "b"]}}\n]}')

    assert [(item.kind, item.source) for item in load_resources(path, contrail)] == [("project", f"{path}:2")]


def test_a_folder_stands_for_its_files_by_name(write: Write, contrail: Schema) -> None:
    write("all/b.yaml", "kind: domain\ndata: {fq_name: [b]}")
    write("all/notes.txt", "not a resource")
    path = write("all/a.yml", "kind: domain\ndata: {fq_name: [a]}")

    assert [item.data["fq_name"] for item in load_resources(path.parent, contrail)] == [["a"], ["b"]]


def test_a_dash_reads_stdin(monkeypatch: pytest.MonkeyPatch, contrail: Schema) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("\nkind: domain\ndata: {fq_name: [a]}"))

    assert [item.source for item in load_resources("-", contrail)] == ["<stdin>:2"]


def test_stdin_that_is_no_utf8_is_rejected(monkeypatch: pytest.MonkeyPatch, contrail: Schema) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"kind: \xff"), encoding="utf-8"))

    with pytest.raises(InvalidInput, match="<stdin>: is not UTF-8"):
        load_resources("-", contrail)


def test_a_text_of_several_lines_is_taken_as_such(contrail: Schema) -> None:
    assert load_resources("kind: domain\ndata: {fq_name: [a]}", contrail)[0].source == "<text>:1"


def test_an_empty_file_holds_nothing(write: Write, contrail: Schema) -> None:
    assert load_resources(write("in.yml", "---\n# later\n"), contrail) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("just text", "in.yml:1: this is no resource: it needs `kind` with `data`"),
        ("resources: 3", "in.yml:1: `resources` is a list of `{kind, data}`"),
        ("resources: []\nresource: []", "in.yml:2: unknown key 'resource' next to `resources`"),
        ("resources:\n- kind: projct\n  data: {}", "in.yml:2: unknown kind 'projct'; did you mean project or port?"),
        ("resources:\n- kind: project\n  dat: {}", "in.yml:3: unknown key 'dat'; did you mean data?"),
        ("resources:\n- kind: project", "in.yml:2: `data` with the resource's fields is missing"),
        ("resources:\n- kind: project\n  data:\n    uuid: x", "in.yml:3: `fq_name` is missing"),
        ("kind: project\ndata:\n  fq_name: [a, 7]", "in.yml:3: `fq_name` is a list of names, from the"),
        ("kind: project\ndata:\n  name: a\n  uuid: 7", "in.yml:4: `uuid` is text; quote it"),
        ("kind: project\noperation: DELETE\ndata: {}", "in.yml:2: operation: only CREATE is allowed in input files"),
        ("apiVersion: v1\nkind: Project\nmetadata: {name: a}", "in.yml:1: project is written as `{kind:"),
        (
            "resources:\n- kind: domain\n  data: {fq_name: [a]}\n- kind: domain\n  data: {fq_name: [a]}",
            "in.yml:4: domain a is already in in.yml:2; keep one of them",
        ),
        (
            "- kind: domain\n  data: {fq_name: [a], uuid: u}\n- kind: domain\n  data: {fq_name: [b], uuid: u}",
            "in.yml:3: uuid u is already in in.yml:1",
        ),
    ],
)
def test_the_error_of_a_bad_file_names_place_and_cause(write: Write, contrail: Schema, text: str, message: str) -> None:
    path = write("in.yml", text)
    with pytest.raises(InvalidInput) as caught:
        load_resources(path, contrail)

    assert str(caught.value).replace(f"{path.parent}/", "").startswith(message)


def test_what_get_printed_gives_resources_without_what_the_server_added(write: Write, contrail: Schema) -> None:
    path = write(
        "got.yml",
        "apiVersion: intentc/v1\nresources:\n- kind: project\n  href: http://there\n  fq_name: [a, b]\n"
        "  id_perms: {enable: true}\n  quota: {first: 1}\n",
    )
    (project,) = load_resources(path, contrail)
    assert project[:3] == ("project", {"fq_name": ["a", "b"], "quota": {"first": 1}}, f"{path}:3")
    assert project.where(("quota",)) == f"{path}:7"


def test_what_compile_printed_is_no_input(write: Write, contrail: Schema) -> None:
    path = write("compiled.yml", "apiVersion: intentc/v1\nresources: []\nproblems: []\n")
    with pytest.raises(InvalidInput, match=r"`problems` .* can't be applied"):
        load_resources(path, contrail)


def test_a_configuration_is_recognized_by_its_sections(contrail: Schema) -> None:
    assert set(Configuration.__struct_fields__) >= SECTIONS
    for section in SECTIONS:
        with pytest.raises(InvalidInput, match="this is no resource: it looks like a configuration"):
            load_resources(f"# one\n{section}: {{}}\n", contrail)


def test_a_folder_that_cant_be_read_loses_no_other_file(
    write: Write, tmp_path: Path, contrail: Schema, mocker: MockerFixture
) -> None:
    path = write("in.yml", "kind: project\ndata: {fq_name: [a, b]}\n")
    closed = tmp_path / "closed"
    closed.mkdir()
    mocker.patch.object(Path, "iterdir", side_effect=PermissionError(13, "Permission denied"))
    found, errors = load_what_can_be([closed, path], contrail)
    assert [one.kind for one in found] == ["project"]
    assert [str(error) for error in errors] == [f"{closed}: can't be read: Permission denied"]
