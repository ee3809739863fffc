"""Loads the kinds of compilers from ``<directory>/<compiler>/*.yml``: one file per kind, and ``types.yml``.

A kind's file has the form of ``model.schema.KindSpec``. ``types.yml`` holds what the kinds share::

    types: {SubnetType: {ip_prefix: string, ip_prefix_len: integer}, …}     # structured types: name → field → type
    every_kind: {references: {tag: {}}}                                     # added to each kind but the target itself
    kubernetes: [ingress, service]                                          # shared kinds that the compiler reads

Kinds of Kubernetes that several compilers read are in the folder ``kubernetes``; one is loaded once, with the mentions
of those kinds that are loaded, too. The modules with conversions between versions, which files name, are imported.
"""

from __future__ import annotations

import functools
import importlib
import traceback
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from intentc.model.kind import Kind
from intentc.model.manifest import Conversion
from intentc.model.problem import InvalidInput, described
from intentc.model.schema import KindSpec, ReferenceSpec, Schema, build_kind, relations_of
from intentc.model.types import TypeTable

from .convert import convert, did_you_mean
from .declarations import check_kind, check_types
from .paths import schemas_directory
from .yaml import Located, Steps, load_yaml

_TYPES_FILE = "types.yml"
SHARED = "kubernetes"
"""The folder of the kinds that several compilers read."""


class _EveryKind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    references: Mapping[str, ReferenceSpec | None] = {}


class _Types(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kubernetes: tuple[str, ...] = ()
    types: Mapping[str, Mapping[str, Any]] = {}
    every_kind: _EveryKind = _EveryKind()


def load_schema(*compilers: str, directories: Iterable[Path] = (), apart: bool = False) -> Schema:
    """Load the kinds of ``compilers``. Raises ``InvalidInput`` naming file, line and key.

    A compiler's folder is searched in ``directories``, then in the schemas that ship with intentc. ``apart``: for a
    process that compiles nothing; facts, which only the processes of their compilers have, are left out. The result is
    cached for the process; the ``Schema`` must not be changed,
    except for what its kinds have lost.
    """
    return _load(compilers, (*map(Path, directories), schemas_directory()), apart)


def known_elsewhere(name: str) -> str:
    """A hint to append to an error about an unknown kind: the shipped compilers that know it, and what to do.

    ``name`` is in any spelling. Empty if no compiler knows it.
    """
    shipped = sorted(folder.name for folder in schemas_directory().iterdir() if folder.is_dir())
    shipped.remove(SHARED)
    found = [compiler for compiler in shipped if load_schema(compiler, apart=True).spelt(name, plural=True)]
    if not found:
        return ""
    return (
        f"; the compiler {' or '.join(found)} knows it: put it into intentc.compilers "
        f"(`compile` and `dev`: --compiler {found[0]})"
    )


@functools.cache
def _load(compilers: tuple[str, ...], directories: tuple[Path, ...], apart: bool = False) -> Schema:
    files: dict[str, Located] = {}
    kinds: list[Kind] = []
    for kind, located in _read(compilers, directories):
        if apart and not kind.stored:
            continue
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


@functools.lru_cache(maxsize=1)
def _read(compilers: tuple[str, ...], directories: tuple[Path, ...]) -> tuple[tuple[Kind, Located], ...]:
    """The kinds of ``compilers``, each file read once for both of a process's schemas, with and without facts."""
    folders = [_folder(compiler, directories) for compiler in compilers]
    types = {folder: _shared_types(folder) for folder in folders}
    shared = sorted({name for found, _ in types.values() for name in found.kubernetes})
    loaded = frozenset(shared).union(path.stem for folder in folders for path in folder.glob("*.yml"))
    kinds = [found for folder in folders for found in _kinds(folder, types[folder], None, loaded)]
    if shared and SHARED not in compilers:
        folder = _folder(SHARED, directories)
        kinds += _kinds(folder, _shared_types(folder), shared, loaded)
    return tuple(kinds)


def _folder(compiler: str, directories: tuple[Path, ...]) -> Path:
    for directory in directories:
        if (directory / compiler).is_dir():
            return directory / compiler
    there = sorted(
        {folder.name for d in directories if d.is_dir() for folder in d.iterdir() if folder.is_dir()} - {SHARED}
    )
    looked = ", ".join(str(directory) for directory in directories)
    raise InvalidInput(f"compiler {compiler!r} has no schemas in {looked}{did_you_mean(compiler, there)}")


def _shared_types(folder: Path) -> tuple[_Types, TypeTable]:
    """What ``types.yml`` of a folder says, and the structured types in it."""
    if not (folder / _TYPES_FILE).is_file():
        return _Types(), TypeTable({})
    located = load_yaml(folder / _TYPES_FILE)
    found = convert(located, _Types)
    check_types(located, found.types)
    return found, TypeTable(found.types, located.source)


def _kinds(
    folder: Path, folder_types: tuple[_Types, TypeTable], names: list[str] | None, loaded: frozenset[str]
) -> Iterator[tuple[Kind, Located]]:
    """The kinds of a folder. ``names``: only these, without mentions of kinds that are not ``loaded``; None: all."""
    shared, types = folder_types
    paths = [path for path in sorted(folder.glob("*.yml")) if path.name != _TYPES_FILE]
    there = [path.stem for path in paths]
    for name in names or ():
        if name not in there:
            raise InvalidInput(f"kubernetes: there is no shared kind {name!r} in {folder}{did_you_mean(name, there)}")
    for path in paths:
        if names is not None and path.stem not in names:
            continue
        located = load_yaml(path)
        spec = convert(located, KindSpec)
        if spec.kind != path.stem:
            raise located.error(f"kind is {spec.kind!r}, but the file's name says {path.stem!r}", ("kind",))
        if names is not None:
            known = {name: mention for name, mention in spec.mentions.items() if mention.kind in loaded}
            spec = msgspec.structs.replace(spec, mentions=known)
        yield _kind(spec, shared, types, located), located


def _kind(spec: KindSpec, shared: _Types, types: TypeTable, located: Located) -> Kind:
    check_kind(located, spec, shared.types)
    added = {name: r for name, r in shared.every_kind.references.items() if name not in (spec.kind, *spec.references)}
    conversions = {version: _conversion(located, version, place) for version, place in spec.converted.items()}
    whole = msgspec.structs.replace(spec, references={**spec.references, **added})
    return build_kind(whole, types, located.source, conversions)


def _conversion(located: Located, version: str, place: str) -> Conversion:
    """The conversion at ``module:name``."""
    module, _, name = place.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except Exception as error:
        # Importing it runs its author's code, which may raise anything.
        *_, last = traceback.walk_tb(error.__traceback__)
        where = f"{described(error)} ({last[0].f_code.co_filename}:{last[1]})"
        raise located.error(f"converted: {place!r} can't be loaded: {where}", ("converted", version)) from None
    if not isinstance(found, Conversion):
        raise located.error(f"converted: {place!r} is no Conversion", ("converted", version))
    return found


def _declared_at(kind: Kind, target: str, relation: str) -> Steps:
    if relation == "parent":
        position = [parent.kind for parent in kind.parents].index(target)
        return ("parents", position)
    return ("mentions" if relation in kind.mentions else "references", relation)
