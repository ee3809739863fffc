"""Finds what a schema declares ``sensitive: true`` in a resource, and keeps it from being shown.

Why it exists: a password in a resource belongs to the user and is stored with the resource, but must appear in no
listing of compiled objects and in no message. Other modules decide what is shown and to which users; the API server
rightly returns a user's own resource complete.

The API server seals some of these texts (``secret_places``).

``concealed`` replaces values in the document that it gets; the other functions change nothing.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from intentc.model.manifest import WHOLE_COPY
from intentc.model.metadata import METADATA
from intentc.model.types import SCALARS, FieldSpec, TypeTable
from intentc.model.values import thaw

if TYPE_CHECKING:
    from intentc.model.kind import Kind
    from intentc.model.resource import Resource

CONCEALED = "<secret>"
_SHORTEST = 4
"""Shorter texts occur by chance: removing them from a message would garble it and thereby reveal them."""

_ANYWHERE = "**"
_NAMING = frozenset({"kind", "uuid", "fq_name", "name", "parent_type", "parent_uuid", "configuration_version"})

Path = tuple[str, ...]


def sensitive_paths(kind: Kind) -> tuple[Path, ...]:
    """The places of sensitive fields in resources of ``kind``: field names, ``[]`` for the elements of a list, ``**``
    for any depth."""
    found: list[Path] = []
    for prop in kind.properties.values():
        found += _below(kind.types, prop.spec, (prop.name,))
    for relation in kind.relations.values():
        if relation.attribute:
            attribute = FieldSpec(type=relation.attribute)
            found += _below(kind.types, attribute, (f"{relation.name}_refs", "[]", "attr"))
    if found and kind.written_as_manifests:
        found.append((METADATA, "annotations", WHOLE_COPY))
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


def secret_places(kind: Kind) -> tuple[Path, ...]:
    """The places of users' secrets in resources that are written as fields, each down to the texts, as in
    ``sensitive_paths``. What compilers write is left out, and so are texts with an ``enum``."""
    if kind.written_as_manifests:
        return ()
    found: list[Path] = []
    for prop in kind.properties.values():
        if prop.name not in kind.compiler_properties:
            found += _texts_below(kind.types, prop.spec, (prop.name,), within=False)
    for relation in kind.relations.values():
        if relation.attribute:
            attribute = FieldSpec(type=relation.attribute)
            found += _texts_below(kind.types, attribute, (f"{relation.name}_refs", "[]", "attr"), within=False)
    return tuple(found)


def secret_texts_changed(kind: Kind, document: dict[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """``document``, a resource as plain JSON, with ``change`` of each text at ``secret_places``: a new document, or
    itself if it has no such field."""
    fields = kind.secret_fields & document.keys()
    if not fields:
        return document
    result = document | {field: copy.deepcopy(document[field]) for field in fields}
    for path in kind.secret_places:
        for holder in _at(result, path[:-1]):
            if isinstance(holder, dict) and path[-1] in holder:
                holder[path[-1]] = _changed(holder[path[-1]], change)
    return result


def sensitive_texts(resource: Resource) -> set[str]:
    """The texts in a resource's sensitive fields, to remove them from what is shown; base64 texts also in decoded
    form."""
    if not resource.kind.sensitive:
        return set()
    document = thaw(resource.values())
    found = {text for path in resource.kind.sensitive for value in _at(document, path) for text in _leaves(value)}
    return {text for text in (*found, *map(_plain, found)) if len(text) >= _SHORTEST}


def cleared(secrets: Collection[str], value: Any) -> Any:
    """A JSON value without ``secrets``, wherever they stand in its texts."""
    texts = list(_texts(value)) if secrets else []
    # There may be thousands of long ones (certificates), and hardly ever is one there.
    longest, whole = max(map(len, texts), default=0), "\0".join(texts)
    there = {s for s in secrets if any(len(form) <= longest and form in whole for form in _forms(s))}
    return _cleared(there, value) if there else value


def cleared_resource(secrets: Collection[str], document: dict[str, Any]) -> dict[str, Any]:
    """The same of a resource as plain JSON. What it and its targets are called stays: by that people ask for it."""
    if not secrets:
        return document
    return {
        field: value
        if field in _NAMING
        else [{name: inner if name in ("to", "uuid") else cleared(secrets, inner) for name, inner in entry.items()}
              for entry in value]
        if field.endswith("_refs") and isinstance(value, list) and all(isinstance(entry, dict) for entry in value)
        else cleared(secrets, value)
        for field, value in document.items()
    }  # fmt: skip


def without(secrets: Iterable[str], text: str) -> str:
    """``text`` with ``CONCEALED`` in place of ``secrets``, be they written plainly, in JSON or by ``repr``."""
    forms = {form for secret in secrets for form in _forms(secret)}
    # The longest first: one secret may begin with another.
    for form in sorted(forms, key=lambda form: (-len(form), form)):
        text = text.replace(form, CONCEALED)
    return text


def _below(types: TypeTable, spec: FieldSpec, path: Path) -> Iterator[Path]:
    if spec.sensitive:
        yield path
        return
    for place in spec.sensitive_at:
        yield (*path, *_steps(place))
    name = spec.list or spec.type
    if name not in SCALARS:
        for field, inner in types.fields(name).items():
            yield from _below(types, inner, (*path, *(("[]",) if spec.list else ()), field))


def _texts_below(types: TypeTable, spec: FieldSpec, path: Path, *, within: bool) -> Iterator[Path]:
    """The places of texts in sensitive fields. ``within``: the field itself is part of one."""
    within = within or spec.sensitive
    name = spec.list or spec.type
    if name not in SCALARS:
        for field, inner in types.fields(name).items():
            yield from _texts_below(types, inner, (*path, *(("[]",) if spec.list else ()), field), within=within)
    elif within:
        if name in ("string", "integer_or_string", "map", "opaque") and not spec.enum:
            yield path
    else:
        for place in spec.sensitive_at:
            yield (*path, *_steps(place))


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {name: _changed(inner, change) for name, inner in value.items()}
    if isinstance(value, list):
        return [_changed(inner, change) for inner in value]
    return change(value) if isinstance(value, str) and value else value


def _steps(place: str) -> Iterator[str]:
    """``a.**.b[].c`` → ``a``, ``**``, ``b``, ``[]``, ``c``."""
    for step in place.split("."):
        name = step.rstrip("[]")
        if name:
            yield name
        yield from ["[]"] * step.count("[]")


def _within(value: Any) -> Iterator[Any]:
    """``value`` and everything in it."""
    yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _within(inner)


def _at(document: Any, path: Path) -> list[Any]:
    level = [document]
    for step in path:
        if step == "[]":
            level = [item for one in level if isinstance(one, list) for item in one]
        elif step == _ANYWHERE:
            level = [inner for one in level for inner in _within(one)]
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


def _texts(value: Any) -> Iterator[str]:
    """All texts in a JSON value, names included."""
    if isinstance(value, dict):
        yield from value
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


def _cleared(secrets: Collection[str], value: Any) -> Any:
    if isinstance(value, dict):
        return {without(secrets, name): _cleared(secrets, inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_cleared(secrets, inner) for inner in value]
    if isinstance(value, str):
        return without(secrets, value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return CONCEALED if str(value) in secrets else value
    return value


def _forms(secret: str) -> tuple[str, str, str]:
    return secret, json.dumps(secret)[1:-1], repr(secret)[1:-1]


def _plain(text: str) -> str:
    """What stands in base64 in ``text``; empty if nothing that can be read does."""
    try:
        return base64.b64decode(text, validate=True).decode()
    except ValueError:
        return ""
