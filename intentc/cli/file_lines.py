"""Finds the line in a file that a message of a server or compiler is about, and words the message with its resource.

Why it exists: servers and compilers don't know files. A rejected ``/sync`` names an element by its index, a problem
names kind and fq_name, and both name fields as users write them; a user needs ``file:line``.

Pure functions of values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from intentc.loading.resources import Loaded
from intentc.model import Problem, kebab

from .ordering import name_of

_ITEM = re.compile(r"item (?P<index>\d+)(?: \(.*?\))?: (?P<detail>.*)", re.DOTALL)
_FIELD = re.compile(r"[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*|\[\d+\])*")
_STEP = re.compile(r"([A-Za-z_][\w-]*)|\[(\d+)\]")


def item_in(message: str) -> tuple[int | None, str]:
    """The index of the element that a rejection names (``item 3 (kind a:b:c): …``), None if none; and the rest."""
    found = _ITEM.fullmatch(message)
    return (int(found["index"]), found["detail"]) if found else (None, message)


def place_of(resource: Loaded, message: str) -> str:
    """``file:line`` of the field of ``resource`` that ``message`` names; of the resource itself if it names none."""
    named = (_steps(_plain(text), resource.data) for text in _FIELD.findall(message))
    return resource.where(max(named, key=len, default=()))


def with_resource_name(resource: Loaded, message: str) -> str:
    """``message`` with kind and name of its resource at the beginning, once."""
    name = name_of(resource)
    for beginning in (f"{kebab(resource.kind)} {name}: ", f"{kebab(resource.kind)}: "):
        message = message.removeprefix(beginning)
    return f"{resource.kind} {name}: {message}"


def located(problem: Problem, resources: Sequence[Loaded]) -> Problem:
    """``problem`` with ``file:line`` as its source, if it is about one of ``resources``."""
    for resource in resources:
        if is_about(problem, resource):
            return msgspec.structs.replace(problem, source=place_of(resource, problem.message))
    return problem


def is_about(problem: Problem, resource: Loaded) -> bool:
    """Whether a problem is about this resource."""
    return (problem.kind, problem.name) == (resource.kind, name_of(resource))


def line_of(problem: Problem) -> str:
    """A problem as one line of text, and below it where the author's code failed, if it did."""
    where = f"{problem.source}: " if problem.source else ""
    frames = "".join(f"\n    {line}" for line in problem.trace)
    return f"{where}{problem.kind} {problem.name}: {problem.message}{frames}"


def _plain(text: str) -> str:
    """A field's path in a resource's data: manifests have it under ``spec``."""
    return text.removeprefix("spec.")


def _steps(text: str, data: Any) -> tuple[str | int, ...]:
    """The steps of ``a.b[0]`` that exist in ``data``."""
    steps: list[str | int] = []
    for name, index in _STEP.findall(text):
        step = name or int(index)
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            break
        steps.append(step)
    return tuple(steps)
