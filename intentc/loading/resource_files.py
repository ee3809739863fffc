"""Loads resources from input files, for the commands that take files (such as ``apply``) and ``intentc.testing``.

It accepts two forms of a resource, mixed over documents and files, in YAML or JSON: Contrail's own ``{kind, data}``
(with an ``operation`` of CREATE, as in the ancestor's init files), and Kubernetes manifests (``apiVersion``, ``kind``,
``metadata``). Either stands alone, in a list, in ``resources: […]`` or in a ``List``. The output of ``intentc get -o
yaml`` is accepted, too. Manifests are flattened and pruned as the API server does it. Only the fields that identify a
resource are checked; the server's admission checks the others.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from intentc.model.kind import Kind
from intentc.model.manifest import Moves, flattened, place_in_manifest, unknown_version
from intentc.model.names import snake
from intentc.model.problem import InvalidInput, all_invalid
from intentc.model.schema import Schema
from intentc.model.status import STATUS, STATUS_CLAIMS
from intentc.model.structural_schema import pruned

from .convert import did_you_mean
from .schemas import known_elsewhere
from .yaml import Located, Steps, load_documents, read_text

_ENTRY_KEYS = ("kind", "data", "operation")
ANSWER_VERSION = "intentc/v1"
"""The ``apiVersion`` of the YAML or JSON that commands print."""
SECTIONS = frozenset({"client", "compilation", "etcd", "intentc", "keystone", "server"})
"""Sections by which a configuration is recognized; not imported, since the stages see no configuration."""
CONFIGURATION = "Configuration"
"""The reason of the error for a file that holds a configuration in place of resources."""
_ADDED_BY_SERVER = frozenset({"href", "parent_href", "id_perms", "perms2", "configuration_version"})
"""Fields that the server adds to each resource of an answer; they are ignored when it is applied."""

_OF_STATUS = frozenset({STATUS, STATUS_CLAIMS})


class Loaded(NamedTuple):
    """One resource of a file.

    ``kind``: snake_case; ``data``: its own fields (of a manifest: flat); ``source``: ``file:line``; ``document`` and
    ``path``: the position of ``data`` or of the manifest; ``moves``: of a manifest, old path under ``spec`` → path in
    ``data`` (``model/manifest.py``).
    """

    kind: str
    data: dict[str, Any]
    source: str
    document: Located
    path: Steps
    moves: Moves | None = None

    @property
    def whole(self) -> bool:
        """Whether it was a manifest, which describes the whole resource: fields that it leaves out are cleared."""
        return self.moves is not None

    def where(self, field: Steps) -> str:
        """``file:line`` of a field, given by its steps from ``data``.

        For an absent field that of the nearest value around it; ``source`` for the whole resource.
        """
        if not field:
            return self.source
        if self.moves is not None:
            manifest = self.document.value
            for step in self.path:
                manifest = manifest[step]
            field = place_in_manifest(manifest, self.moves, field)
        return self.document.where((*self.path, *field))


def load_resources(paths: str | Path | Iterable[str | Path], schema: Schema) -> list[Loaded]:
    """Load the resources of files, in their order.

    A folder stands for its ``*.yml``, ``*.yaml`` and ``*.json`` in the order of their names, ``-`` for stdin; a text of
    several lines is itself the content. Raises ``InvalidInput`` naming file and line for unreadable files, other forms,
    unknown kinds and duplicates.
    """
    found, errors = load_what_can_be(paths, schema)
    if errors:
        raise all_invalid(errors)
    return found


def load_what_can_be(
    paths: str | Path | Iterable[str | Path], schema: Schema
) -> tuple[list[Loaded], list[InvalidInput]]:
    """Load the usable resources of files, as ``load_resources``, and return the errors of the others."""
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    documents: list[Located] = []
    errors: list[InvalidInput] = []
    for path in given:
        with _noted(errors):
            if str(path) == "-":
                documents += load_documents(_stdin(), source="<stdin>")
            elif isinstance(path, str) and "\n" in path:
                documents += load_documents(path)
            else:
                for file in _files(Path(path)):
                    with _noted(errors):
                        documents += load_documents(file)
    return _resources_in(documents, schema, errors), errors


@contextmanager
def _noted(errors: list[InvalidInput]) -> Iterator[None]:
    try:
        yield
    except InvalidInput as error:
        errors.append(error)


def read_texts(paths: Iterable[str | Path]) -> list[tuple[str, str]]:
    """(name for errors, text) of each file that ``load_resources`` would read, for ``load_documents``."""
    found: list[tuple[str, str]] = []
    for path in paths:
        if str(path) == "-":
            found.append(("<stdin>", _stdin()))
        else:
            found += [(str(file), read_text(file)) for file in _files(Path(path))]
    return found


def resources_in(documents: Iterable[Located], schema: Schema) -> list[Loaded]:
    """The resources in documents that are already read, as ``load_resources``."""
    errors: list[InvalidInput] = []
    found = _resources_in(documents, schema, errors)
    if errors:
        raise all_invalid(errors)
    return found


def resources_in_texts(texts: Iterable[tuple[str, str]], schema: Schema) -> tuple[list[Loaded], list[InvalidInput]]:
    """The usable resources in texts (name for errors, text), and the errors of the others."""
    errors: list[InvalidInput] = []
    documents: list[Located] = []
    for source, text in texts:
        with _noted(errors):
            documents += load_documents(text, source=source)
    return _resources_in(documents, schema, errors), errors


def _resources_in(documents: Iterable[Located], schema: Schema, errors: list[InvalidInput]) -> list[Loaded]:
    found: list[Loaded] = []
    first: dict[tuple[str, str], str] = {}
    for document in documents:
        with _noted(errors):
            for loaded, path in _in_document(document, schema, errors):
                with _noted(errors):
                    for identity in _identities(loaded):
                        if identity in first:
                            kind, name = identity
                            message = f"{kind} {name} is already in {first[identity]}; keep one of them"
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
    try:
        return sorted(file for file in path.iterdir() if file.suffix in (".yml", ".yaml", ".json"))
    except OSError as error:
        raise InvalidInput(f"can't be read: {error.strerror}", source=str(path), reason="NotReadable") from None


def _in_document(document: Located, schema: Schema, errors: list[InvalidInput]) -> Iterator[tuple[Loaded, Steps]]:
    value = document.value
    if isinstance(value, dict) and "resources" in value and value.get("apiVersion") == ANSWER_VERSION:
        yield from _in_answer(document, schema, errors)
    elif isinstance(value, dict) and "resources" in value:
        for key in value:
            if key != "resources":
                raise document.error(f"unknown key {key!r} next to `resources`", (key,), "UnknownKey")
        yield from _in_list(document, ("resources",), schema, errors)
    elif isinstance(value, dict) and "apiVersion" in value and isinstance(value.get("items"), list):
        yield from _in_list(document, ("items",), schema, errors)
    elif isinstance(value, list):
        yield from _in_list(document, (), schema, errors)
    else:
        yield _resource(document, (), value, schema), ()


def _in_answer(document: Located, schema: Schema, errors: list[InvalidInput]) -> Iterator[tuple[Loaded, Steps]]:
    """The resources in the output of ``intentc get -o yaml``: fields next to ``kind``, with some of the server."""
    entries = document.value["resources"]
    for key in document.value:
        if key not in ("apiVersion", "resources"):
            raise document.error(
                f"`{key}` is in the output of `intentc compile`, which can't be applied; apply its input",
                (key,),
                "UnknownKey",
            )
    if not isinstance(entries, list):
        raise document.error("`resources` is a list of `{kind, field: value, …}`", ("resources",))
    for position, entry in enumerate(entries):
        path: Steps = ("resources", position)
        with _noted(errors):
            if not isinstance(entry, dict) or not isinstance(entry.get("kind"), str):
                raise document.error("this is no resource: it needs `kind` and `fq_name` next to its fields", path)
            kind = _kind(document, path, entry, schema.kinds.get(snake(entry["kind"])), schema)
            added = _ADDED_BY_SERVER | _OF_STATUS if kind.status is not None else _ADDED_BY_SERVER
            data = {name: value for name, value in entry.items() if name != "kind" and name not in added}
            _check_name(document, path, data)
            yield Loaded(kind.name, data, document.where(path), document, path), path


def _in_list(
    document: Located, path: Steps, schema: Schema, errors: list[InvalidInput]
) -> Iterator[tuple[Loaded, Steps]]:
    entries = document.value[path[0]] if path else document.value
    if not isinstance(entries, list):
        raise document.error("`resources` is a list of `{kind, data}`", path)
    for position, entry in enumerate(entries):
        with _noted(errors):
            yield _resource(document, (*path, position), entry, schema), (*path, position)


def _resource(document: Located, path: Steps, entry: Any, schema: Schema) -> Loaded:
    if not isinstance(entry, dict) or not isinstance(entry.get("kind"), str):
        if not path and isinstance(entry, dict) and not SECTIONS.isdisjoint(entry):
            raise document.error("this is no resource: it looks like a configuration", reason=CONFIGURATION)
        raise document.error(
            "this is no resource: it needs `kind` with `data` (or `resources: [{kind, data}]`), or a manifest's "
            "`apiVersion`, `kind` and `metadata`",
            path,
        )
    manifest = "apiVersion" in entry
    found = (
        schema.of_manifest(str(entry["apiVersion"]), entry["kind"])
        if manifest
        else schema.kinds.get(snake(entry["kind"]))
    )
    kind = _kind(document, path, entry, found, schema)
    if manifest:
        return _manifest(document, path, entry, kind)
    for key in entry:
        if key not in _ENTRY_KEYS:
            raise document.error(f"unknown key {key!r}{did_you_mean(key, _ENTRY_KEYS)}", (*path, key), "UnknownKey")
    if str(entry.get("operation", "CREATE")).upper() != "CREATE":
        raise document.error(
            "operation: only CREATE is allowed in input files; use `intentc delete` to delete", (*path, "operation")
        )
    if not isinstance(entry.get("data"), dict):
        raise document.error("`data` with the resource's fields is missing", (*path, "data"))
    _check_name(document, (*path, "data"), entry["data"])
    return Loaded(kind.name, entry["data"], document.where(path), document, (*path, "data"))


def _kind(document: Located, path: Steps, entry: dict[str, Any], found: Kind | None, schema: Schema) -> Kind:
    if found is not None:
        return found
    hint = known_elsewhere(entry["kind"]) or did_you_mean(snake(entry["kind"]).lower(), schema.kinds)
    raise document.error(f"unknown kind {entry['kind']!r}{hint}", (*path, "kind"), "UnknownKind")


def _manifest(document: Located, path: Steps, manifest: dict[str, Any], kind: Kind) -> Loaded:
    if not kind.written_as_manifests:
        raise document.error(f"{kind.name} is written as `{{kind: {kind.name}, data: …}}`, not as a manifest", path)
    version = manifest["apiVersion"]
    if not isinstance(version, str):
        raise document.error("apiVersion is text; quote it", (*path, "apiVersion"))
    shape = kind.manifests
    if shape.versions and version not in shape.versions:
        raise document.error(unknown_version(shape, version), (*path, "apiVersion"), "UnknownKind")
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict) or not metadata.get("name"):
        raise document.error("metadata.name is missing", (*path, "metadata"))
    for field in ("name", "namespace", "uid"):
        if not isinstance(metadata.get(field) or "", str):
            raise document.error(f"metadata.{field} is text; quote it", (*path, "metadata", field))
    try:
        data = flattened(manifest, shape)
    except msgspec.ValidationError as error:
        raise document.error(str(error), path) from None
    data = pruned(kind, data)
    return Loaded(kind.name, data, document.where(path), document, path, shape.versions.get(version, {}))


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


def _identities(loaded: Loaded) -> Iterator[tuple[str, str]]:
    if loaded.data.get("fq_name"):
        yield loaded.kind, ":".join(loaded.data["fq_name"])
    if loaded.data.get("uuid"):
        yield "uuid", loaded.data["uuid"]
