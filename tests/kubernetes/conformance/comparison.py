"""Compares the answers of a server with those that a kube-apiserver gave, except the known differences.

Why it exists: whatever intentc answers otherwise is a defect, unless ``differences.yaml`` names it with a reason.

I/O: the files next to this module.
"""

from __future__ import annotations

import copy
import fnmatch
import functools
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from .transcript import Answer

_HERE = Path(__file__).parent
_ANSWERS = _HERE / "answers"
_STEP = re.compile(r"[^.\[\]]+|\[\]")


class Difference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``kinds``, ``cases``, ``calls``: where, as patterns; ``paths``: parts of the answers that are not compared;
    ``ours``: what intentc answers (``code``, ``reason``) in place of a kube-apiserver's whole answer."""

    reason: str
    kinds: tuple[str, ...] = ("*",)
    cases: tuple[str, ...] = ("*",)
    calls: tuple[str, ...] = ("*",)
    paths: tuple[str, ...] = ()
    ours: dict[str, Any] | None = None

    def concerns(self, kind: str, case: str, call: str) -> bool:
        """Whether it is about this call."""
        pairs = ((self.kinds, kind), (self.cases, case), (self.calls, call))
        return all(any(fnmatch.fnmatchcase(given, one) for one in patterns) for patterns, given in pairs)


def differences() -> list[Difference]:
    """The known ones."""
    return msgspec.yaml.decode((_HERE / "differences.yaml").read_bytes(), type=list[Difference])


@functools.cache
def _recorded(kind: str) -> dict[str, list[Answer]]:
    path, found = _ANSWERS / f"{kind}.jsonl", dict[str, list[Answer]]()
    for line in path.read_text().splitlines() if path.exists() else ():
        one = json.loads(line)
        found.setdefault(one["case"], []).append(Answer(one["call"], one["code"], one["body"]))
    return found


def recorded(kind: str, case: str) -> list[Answer]:
    """What a kube-apiserver answered; nothing, if it was not asked yet."""
    return _recorded(kind).get(case, [])


def record(kind: str, case: str, answers: list[Answer]) -> None:
    """Write what a kube-apiserver answered, one line an answer."""
    known = _recorded(kind)
    known[case] = answers
    lines = (
        json.dumps({"case": name, "call": one.call, "code": one.code, "body": one.body})
        for name in sorted(known)
        for one in known[name]
    )
    (_ANSWERS / f"{kind}.jsonl").write_text("".join(f"{line}\n" for line in lines))


def reduced(kind: str, case: str, answers: list[Answer], known: list[Difference], *, is_ours: bool) -> list[Answer]:
    """``answers`` without what is known to differ. ``is_ours``: they are intentc's own."""
    result = []
    for answer in answers:
        body = copy.deepcopy(answer.body)
        code = answer.code
        for one in known:
            if not one.concerns(kind, case, answer.call):
                continue
            for path in one.paths:
                _remove(body, _STEP.findall(path))
            if one.ours is not None:
                if is_ours:
                    body = {"reason": body.get("reason", "")}
                else:
                    code, body = one.ours["code"], {"reason": one.ours.get("reason", "")}
        result.append(Answer(answer.call, code, _without_empty(body)))
    return result


def differing(found: list[Answer], wanted: list[Answer]) -> list[str]:
    """The parts in which two transcripts differ, each with its call."""
    result = []
    for number, (one, other) in enumerate(itertools.zip_longest(found, wanted)):
        if one is None or other is None or one.call != other.call:
            result.append(f"call {number}: {one and one.call} and {other and other.call}")
            continue
        ours, theirs = ({"": one.code, **dict(_parts(one.body))} for one in (one, other))
        result += [
            f"call {number}, {one.call}{path}: {ours.get(path)!r}, and a kube-apiserver {theirs.get(path)!r}"
            for path in sorted(ours.keys() | theirs.keys())
            if ours.get(path) != theirs.get(path)
        ]
    return result


def unused(known: list[Difference], answers: list[tuple[str, str, Answer]]) -> list[Difference]:
    """The differences that concern no answer. ``answers``: (kind, case, answer)."""
    return [one for one in known if not any(one.concerns(kind, case, answer.call) for kind, case, answer in answers)]


def _parts(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _parts(one, f"{path}.{name}")
    elif isinstance(value, list):
        for at, one in enumerate(value):
            yield from _parts(one, f"{path}[{at}]")
    else:
        yield path, value


def _remove(value: Any, steps: list[str]) -> None:
    first, rest = steps[0], steps[1:]
    if first == "[]":
        for one in value if isinstance(value, list) else ():
            _remove(one, rest)
    elif isinstance(value, dict) and first in value:
        if rest:
            _remove(value[first], rest)
        else:
            del value[first]


def _without_empty(value: Any) -> Any:
    """``value`` without objects and lists that are empty, which servers leave out or not."""
    if isinstance(value, list):
        return [_without_empty(one) for one in value]
    if not isinstance(value, dict):
        return value
    found = {name: _without_empty(one) for name, one in value.items()}
    return {name: one for name, one in found.items() if one not in ({}, [], None, "")}
