"""Resources from input files: what ``compile``, ``apply``, ``dev --load`` and ``intentc.testing`` are given.

Three forms, mixed freely over documents and files, YAML or JSON: Contrail's own ``resources: [{kind, data}]`` (with an
``operation`` of CREATE, which the ancestor's init files carry), one bare ``{kind, data}``, and Kubernetes manifests
(``apiVersion``, ``kind``, ``metadata``), alone or in a ``List``. Fields are only looked at as far as needed to say
what each resource is and where it stands; refusing values is admission's business.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from intentc.model.manifest import manifest_identity
from intentc.model.names import snake
from intentc.model.problem import InvalidInput
from intentc.model.schema import Schema

from .convert import did_you_mean
from .yaml import Located, Steps, load_documents

_ENTRY_KEYS = ("kind", "data", "operation")


class Loaded(NamedTuple):
    """One resource as it stands in a file. ``kind``: snake_case; ``data``: its own fields (a manifest whole);
    ``source``: ``file:line``; ``document`` and ``path``: where ``data`` stands."""

    kind: str
    data: dict[str, Any]
    source: str
    document: Located
    path: Steps

    def where(self, field: Steps) -> str:
        """``file:line`` of a field, given by its steps from ``data``; of the nearest thing around it if it isn't there;
        ``source`` for the resource as a whole."""
        return self.document.where((*self.path, *field)) if field else self.source


def load_resources(paths: str | Path | Iterable[str | Path], schema: Schema) -> list[Loaded]:
    """The resources in files, in their order. A folder stands for its ``*.yml``, ``*.yaml`` and ``*.json`` in the
    order of their names, ``-`` for stdin; a text of several lines is taken as such.

    Raises ``InvalidInput`` naming file and line for what can't be read, is in none of the forms, is of an unknown kind,
    or stands twice.
    """
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    documents: list[Located] = []
    for path in given:
        if str(path) == "-":
            documents += load_documents(_stdin(), source="<stdin>")
        elif isinstance(path, str) and "\n" in path:
            documents += load_documents(path)
        else:
            for file in _files(Path(path)):
                documents += load_documents(file)
    return resources_in(documents, schema)


def resources_in(documents: Iterable[Located], schema: Schema) -> list[Loaded]:
    """The resources in documents that are read already; as ``load_resources``."""
    found: list[Loaded] = []
    first: dict[tuple[str, str], str] = {}
    for document in documents:
        for loaded, path in _in_document(document, schema):
            for identity in _identities(loaded, schema):
                if identity in first:
                    kind, name = identity
                    message = f"{kind} {name} stands in {first[identity]} already; keep one of them"
                    raise document.error(message, path, "Duplicate")
                first[identity] = loaded.source
            found.append(loaded)
    return found


def _stdin() -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError:
        raise InvalidInput("is not UTF-8; save it as UTF-8", source="<stdin>") from None


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.iterdir() if file.suffix in (".yml", ".yaml", ".json"))


def _in_document(document: Located, schema: Schema) -> Iterator[tuple[Loaded, Steps]]:
    value = document.value
    if isinstance(value, dict) and "resources" in value:
        for key in value:
            if key != "resources":
                raise document.error(f"unknown key {key!r} beside `resources`", (key,), "UnknownKey")
        yield from _in_list(document, ("resources",), schema)
    elif isinstance(value, dict) and "apiVersion" in value and isinstance(value.get("items"), list):
        yield from _in_list(document, ("items",), schema)
    elif isinstance(value, list):
        yield from _in_list(document, (), schema)
    else:
        yield _resource(document, (), value, schema), ()


def _in_list(document: Located, path: Steps, schema: Schema) -> Iterator[tuple[Loaded, Steps]]:
    entries = document.value[path[0]] if path else document.value
    if not isinstance(entries, list):
        raise document.error("`resources` is a list of `{kind, data}`", path)
    for position, entry in enumerate(entries):
        yield _resource(document, (*path, position), entry, schema), (*path, position)


def _resource(document: Located, path: Steps, entry: Any, schema: Schema) -> Loaded:
    if not isinstance(entry, dict) or not isinstance(entry.get("kind"), str):
        raise document.error(
            "this is no resource: it needs `kind` with `data` (or `resources: [{kind, data}]`), or a manifest's "
            "`apiVersion`, `kind` and `metadata`",
            path,
        )
    manifest = "apiVersion" in entry
    name = _manifest_kind(entry["kind"], schema) if manifest else snake(entry["kind"])
    if name not in schema:
        hint = did_you_mean(name, schema.kinds)
        raise document.error(f"unknown kind {entry['kind']!r}{hint}", (*path, "kind"), "UnknownKind")
    if manifest:
        if schema.kind(name).shape != "kubernetes":
            raise document.error(f"{name} is written as `{{kind: {name}, data: …}}`, not as a manifest", path)
        _check_metadata(document, path, entry)
        return Loaded(name, entry, document.where(path), document, path)
    for key in entry:
        if key not in _ENTRY_KEYS:
            raise document.error(f"unknown key {key!r}{did_you_mean(key, _ENTRY_KEYS)}", (*path, key), "UnknownKey")
    if str(entry.get("operation", "CREATE")).upper() != "CREATE":
        raise document.error(
            "operation: only CREATE stands in input files; use `intentc delete` to delete", (*path, "operation")
        )
    if not isinstance(entry.get("data"), dict):
        raise document.error("`data` with the resource's fields is missing", (*path, "data"))
    _check_name(document, (*path, "data"), entry["data"])
    return Loaded(name, entry["data"], document.where(path), document, (*path, "data"))


def _manifest_kind(name: str, schema: Schema) -> str:
    """``HTTPRoute`` → the kind whose name is the same but for case and underscores."""
    plain = name.lower()
    return next((kind.name for kind in schema if kind.name.replace("_", "") == plain), name)


def _check_metadata(document: Located, path: Steps, manifest: dict[str, Any]) -> None:
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict) or not metadata.get("name"):
        raise document.error("metadata.name is missing", (*path, "metadata"))


def _check_name(document: Located, path: Steps, data: dict[str, Any]) -> None:
    fq_name = data.get("fq_name")
    if fq_name is None:
        if not data.get("name"):
            raise document.error("`fq_name` is missing (a list of names, from the domain down)", path)
    elif not isinstance(fq_name, list) or not fq_name or not all(isinstance(part, str) and part for part in fq_name):
        raise document.error("`fq_name` is a list of names, from the domain down; quote numbers", (*path, "fq_name"))
    for field in ("uuid", "parent_uuid", "parent_type"):
        if not isinstance(data.get(field) or "", str):
            raise document.error(f"`{field}` is text; quote it", (*path, field))


def _identities(loaded: Loaded, schema: Schema) -> Iterator[tuple[str, str]]:
    if schema.kind(loaded.kind).shape == "kubernetes":
        yield loaded.kind, ":".join(manifest_identity(loaded.data))
        return
    if loaded.data.get("fq_name"):
        yield loaded.kind, ":".join(loaded.data["fq_name"])
    if loaded.data.get("uuid"):
        yield "uuid", loaded.data["uuid"]
