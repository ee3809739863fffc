"""What a schema declares ``sensitive: true``: where it stands in a resource, and how it is kept from being shown.

Why it exists: a password in a resource is the user's and goes where the resource goes, but into no listing of what we
made and into no message. What is shown to whom is the business of those who show; that the API server gives a user his
own resource back, whole, is as it should be.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .types import SCALARS, FieldSpec, TypeTable
from .values import thaw

if TYPE_CHECKING:
    from .kind import Kind
    from .resource import Resource

CONCEALED = "<secret>"
_SHORTEST = 4
"""Shorter texts occur by chance: taking them out of a message would garble it and so betray them."""

Path = tuple[str, ...]


def sensitive_paths(kind: Kind) -> tuple[Path, ...]:
    """Where sensitive fields stand in resources of ``kind``: field names, ``[]`` for the elements of a list."""
    found: list[Path] = []
    for prop in kind.properties.values():
        found += _below(kind.types, prop.spec, (prop.name,))
    for relation in kind.relations.values():
        if relation.attribute:
            attribute = FieldSpec(type=relation.attribute)
            found += _below(kind.types, attribute, (f"{relation.name}_refs", "[]", "attr"))
    return tuple(found)


def concealed(
    kind: Kind, document: dict[str, Any], shown: Callable[[Any], str] = lambda value: CONCEALED
) -> dict[str, Any]:
    """``document``, a resource as plain JSON, after its sensitive fields were replaced in place by what is ``shown`` of
    their values: ``CONCEALED``."""
    for path in kind.sensitive:
        for holder in _at(document, path[:-1]):
            if isinstance(holder, dict) and holder.get(path[-1]):
                holder[path[-1]] = shown(holder[path[-1]])
    return document


def sensitive_texts(resource: Resource) -> set[str]:
    """The texts in a resource's sensitive fields, for taking them out of messages."""
    if not resource.kind.sensitive:
        return set()
    document = thaw(resource.values())
    return {
        text
        for path in resource.kind.sensitive
        for value in _at(document, path)
        for text in _leaves(value)
        if len(text) >= _SHORTEST
    }


def without(secrets: Iterable[str], text: str) -> str:
    """``text`` with ``CONCEALED`` in place of ``secrets``, be they written plainly, in JSON or by ``repr``."""
    forms = {form for secret in secrets for form in (secret, json.dumps(secret)[1:-1], repr(secret)[1:-1])}
    # The longest first: one secret may begin with another.
    for form in sorted(forms, key=lambda form: (-len(form), form)):
        text = text.replace(form, CONCEALED)
    return text


def _below(types: TypeTable, spec: FieldSpec, path: Path) -> Iterator[Path]:
    if spec.sensitive:
        yield path
        return
    name = spec.list or spec.type
    if name not in SCALARS:
        for field, inner in types.fields(name).items():
            yield from _below(types, inner, (*path, *(("[]",) if spec.list else ()), field))


def _at(document: Any, path: Path) -> list[Any]:
    level = [document]
    for step in path:
        if step == "[]":
            level = [item for one in level if isinstance(one, list) for item in one]
        else:
            level = [one[step] for one in level if isinstance(one, dict) and step in one]
    return level


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)
