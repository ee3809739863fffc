"""The kinds of compilers, read from ``<directory>/<compiler>/*.yml``: one file per kind, and ``types.yml``.

A kind's file has the form of ``model.schema.KindSpec``. ``types.yml`` holds what the kinds share::

    types: {SubnetType: {ip_prefix: string, ip_prefix_len: integer}, …}     # structured types: name → field → type
    every_kind: {references: {tag: {}}}                                     # added to each kind but the target itself

``declarations.py`` checks each file; here references to unknown kinds are found. ``model`` builds the kinds.

I/O: reading files. State: the schemas that were loaded, kept until the process ends.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from intentc.model.kind import Kind
from intentc.model.problem import InvalidInput
from intentc.model.schema import KindSpec, ReferenceSpec, Schema, build_kind, relations_of
from intentc.model.types import TypeTable

from .convert import convert, did_you_mean
from .declarations import check_kind, check_types
from .paths import schemas_directory
from .yaml import Located, Steps, load_yaml

_TYPES_FILE = "types.yml"


class _EveryKind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    references: Mapping[str, ReferenceSpec | None] = {}


class _Types(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    types: Mapping[str, Mapping[str, Any]] = {}
    every_kind: _EveryKind = _EveryKind()


def load_schema(*compilers: str, directories: Iterable[Path] = ()) -> Schema:
    """Load the kinds of ``compilers``. Raises ``InvalidInput`` naming file, line and key.

    A compiler's folder is searched in ``directories``, then in the schemas that ship with intentc. The result is cached
    for the process; the ``Schema`` must not be changed.
    """
    return _load(compilers, (*map(Path, directories), schemas_directory()))


def known_elsewhere(name: str) -> str:
    """A hint to append to an error about an unknown kind: the shipped compilers that know it, and what to do.

    ``name`` is in any spelling. Empty if no compiler knows it.
    """
    shipped = sorted(folder.name for folder in schemas_directory().iterdir() if folder.is_dir())
    found = [compiler for compiler in shipped if load_schema(compiler).spelt(name, plural=True)]
    if not found:
        return ""
    return (
        f"; the compiler {' or '.join(found)} knows it: put it into intentc.compilers "
        f"(`compile` and `dev`: --compiler {found[0]})"
    )


@functools.cache
def _load(compilers: tuple[str, ...], directories: tuple[Path, ...]) -> Schema:
    files: dict[str, Located] = {}
    kinds: list[Kind] = []
    for compiler in compilers:
        for kind, located in _kinds(_folder(compiler, directories)):
            if kind.name in files:
                raise located.error(f"kind {kind.name!r} is also declared in {files[kind.name].source}", ("kind",))
            files[kind.name] = located
            kinds.append(kind)
    for kind in kinds:
        for target, relation in relations_of(kind):
            if target not in files:
                message = f"{relation}: kind {target!r} is not declared{did_you_mean(target, files)}"
                raise files[kind.name].error(message, _declared_at(kind, target, relation))
    return Schema(kinds)


def _folder(compiler: str, directories: tuple[Path, ...]) -> Path:
    for directory in directories:
        if (directory / compiler).is_dir():
            return directory / compiler
    there = sorted({folder.name for d in directories if d.is_dir() for folder in d.iterdir() if folder.is_dir()})
    looked = ", ".join(str(directory) for directory in directories)
    raise InvalidInput(f"compiler {compiler!r} has no schemas in {looked}{did_you_mean(compiler, there)}")


def _kinds(folder: Path) -> Iterator[tuple[Kind, Located]]:
    shared, types = _Types(), TypeTable({})
    if (folder / _TYPES_FILE).is_file():
        located = load_yaml(folder / _TYPES_FILE)
        shared = convert(located, _Types)
        check_types(located, shared.types)
        types = TypeTable(shared.types, located.source)
    for path in sorted(folder.glob("*.yml")):
        if path.name != _TYPES_FILE:
            located = load_yaml(path)
            spec = convert(located, KindSpec)
            if spec.kind != path.stem:
                raise located.error(f"kind is {spec.kind!r}, but the file's name says {path.stem!r}", ("kind",))
            yield _kind(spec, shared, types, located), located


def _kind(spec: KindSpec, shared: _Types, types: TypeTable, located: Located) -> Kind:
    check_kind(located, spec, shared.types)
    added = {name: r for name, r in shared.every_kind.references.items() if name not in (spec.kind, *spec.references)}
    return build_kind(msgspec.structs.replace(spec, references={**spec.references, **added}), types, located.source)


def _declared_at(kind: Kind, target: str, relation: str) -> Steps:
    if relation == "parent":
        position = [parent.kind for parent in kind.parents].index(target)
        return ("parents", position)
    return ("mentions" if relation in kind.mentions else "references", relation)
