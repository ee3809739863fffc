"""Errors of hostile and broken files: which file, which line, what to do."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from intentc.loading import Limits, load_documents, load_yaml
from intentc.model.problem import InvalidInput


def rejected(text: str, limits: Limits | None = None) -> str:
    with pytest.raises(InvalidInput) as caught:
        load_yaml(text, source="f.yml", limits=limits or Limits())
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3", "f.yml:3: duplicate key 'a', first in line 1; keep one of them"),
        ("a: 1\nb: [1, 2", "f.yml:2: is no valid YAML: "),
        (
            "a: [1,\n2",
            "f.yml:2: is no valid YAML: did not find expected ',' or ']' while parsing a flow sequence that begins",
        ),
        ("a: 1\n\tb: 2", "f.yml:2: is no valid YAML"),
        ("a: 1\nb: \x01", "f.yml:2: is no valid YAML: "),
        (
            "a: !!python/object/apply:os.getpid []",
            "f.yml:1: tag tag:yaml.org,2002:python/object/apply:os.getpid is not",
        ),
        ("a: !secret x", "f.yml:1: tag !secret is not supported; write the value plainly"),
        ("? [a]\n: 1", "f.yml:1: a key must be a plain text"),
        ("a: *b", "f.yml:1: alias *b names no earlier anchor"),
        ("a: &x\n  b: *x", "f.yml:2: alias *x names no earlier anchor, or the one that contains it"),
        ("a: 1\n---\nb: 2", "f.yml:3: one document is expected here; take the `---` out, or split the file"),
        ("a: " + "9" * 5000, "f.yml:1: number is too long"),
        ("<<: 3", "f.yml:1: << takes a mapping or a list of mappings"),
        ("a: 1e999", "f.yml:1: number is too large"),
        ("a: -1e999", "f.yml:1: number is too large"),
        ("a: 1\nb: 'x\x00'", "f.yml:2: is no valid YAML: "),
        ("a: !!binary aGk=", "f.yml:1: tag tag:yaml.org,2002:binary is not supported"),
        ("a: !!set {x}", "f.yml:1: tag tag:yaml.org,2002:set is not supported"),
        ("!!python/name:os.system x: 1", "f.yml:1: tag tag:yaml.org,2002:python/name:os.system is not"),
        (
            "%TAG ! tag:yaml.org,2002:python/\n---\na: !object:os.system x",
            "f.yml:3: tag tag:yaml.org,2002:python/object",
        ),
        ("a: {x: 1, 'x': 2}", "f.yml:1: duplicate key 'x'"),
        ("a: {<<: {x: 1}, <<: {x: 2}}", "f.yml:1: duplicate key '<<'"),
    ],
)
def test_bad_text_is_rejected_with_its_line(text: str, message: str) -> None:
    assert rejected(text).startswith(message)


def test_deep_nesting_is_rejected() -> None:
    assert rejected("[" * 100 + "]" * 100) == "f.yml:1: is nested deeper than 64 levels"


def test_very_deep_nesting_does_not_end_the_process() -> None:
    assert "nested" in rejected("[" * 100_000) or "no valid YAML" in rejected("[" * 100_000)


def test_levels_that_aliases_add_count() -> None:
    lines = ["a0: &a0 " + "[" * 40 + "]" * 40, "a1: &a1 {b: " + "[" * 20 + "*a0" + "]" * 20 + "}"]
    assert load_yaml("\n".join([*lines, "a2: [[*a1]]"])).value["a2"]
    assert rejected("\n".join([*lines, "a2: [[[*a1]]]"])) == "f.yml:3: is nested deeper than 64 levels"


def test_an_alias_bomb_is_rejected_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    before = time.process_time()

    message = rejected("\n".join(lines))

    assert message == "f.yml:6: has more than 200000 values from aliases"
    assert time.process_time() - before < 5


def test_a_bomb_of_merge_keys_is_rejected_at_once() -> None:
    lines = ["a0: &a0 {" + ", ".join(f"k{n}: x" for n in range(1000)) + "}"]
    lines += [f"b{n}: {{<<: [*a0, *a0, *a0, *a0, *a0]}}" for n in range(100)]

    assert "values from aliases" in rejected("\n".join(lines))


def test_values_in_all_are_limited() -> None:
    assert (
        rejected("[" + "1, " * 20 + "]", Limits(nodes=10)) == "f.yml:1: has more than 10 values with aliases expanded"
    )


def test_many_aliases_are_rejected() -> None:
    text = "a: &a 1\nb: [" + ", ".join(["*a"] * 11) + "]"

    assert rejected(text, Limits(aliases=10)) == "f.yml:2: has more than 10 aliases"


def test_a_text_that_is_too_large_is_rejected() -> None:
    assert rejected("a: 12345678", Limits(size=10)) == "f.yml: text is larger than 10 bytes"


def test_json_with_a_key_twice_is_rejected() -> None:
    assert "duplicate key" in rejected('{"a": 1, "a": 2}')


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"missing\.yml: can't be read: No such file"):
        load_yaml(tmp_path / "missing.yml")


@pytest.mark.parametrize(("make", "sort"), [(os.mkfifo, "a pipe"), (os.mkdir, "a directory")])
def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path, make: Callable[[Path], None], sort: str) -> None:
    path = tmp_path / "map.yml"
    make(path)
    with pytest.raises(InvalidInput, match=rf"map\.yml: can't be read: it is {sort}, and no regular file"):
        load_yaml(path)


def test_resources_may_come_out_of_a_pipe(tmp_path: Path) -> None:
    """As a shell makes one of ``<(…)``; they are read once."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=("a: 1\n",), daemon=True)
    writer.start()
    assert [document.value for document in load_documents(path)] == [{"a": 1}]
    writer.join(10)


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "large.yml"
    path.write_text("a: 12345678")

    with pytest.raises(InvalidInput, match="file is larger than 10 bytes; split it"):
        load_yaml(path, limits=Limits(size=10))


def test_a_file_that_is_no_utf8_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.yml"
    path.write_bytes(b"a: 1\nb: \xe4\n")

    with pytest.raises(InvalidInput, match=r"latin\.yml:2: is not UTF-8; save it as UTF-8"):
        load_yaml(path)


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "bom.yml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")

    assert load_yaml(path).value == {"a": 1}
