"""Loads the named compilers among the installed ones, with their kinds, reaction maps and intents.

Why it exists: the service, the offline compile, tests and ``check`` must find the same compilers, or report the same
error; a setting that no compiler reads is one. Only named compilers are imported. Their authors decide what a compiler
holds; ``evaluation/compiler.py`` is its description.

It imports compilers, and reads the schemas and maps that ship with them or that a configuration names. State: the list
of installed compilers, read once; ``loading`` keeps the schemas.
"""

from __future__ import annotations

import functools
import importlib.util
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any, NamedTuple, cast

from intentc.evaluation import Compiler, Intent, Naming, Overview, Remark, author_trace
from intentc.loading.configuration import Configuration, Settings
from intentc.loading.convert import did_you_mean
from intentc.loading.paths import reactions_file
from intentc.loading.schemas import load_schema
from intentc.logic.dependencies import ReactionMap
from intentc.logic.dependencies.reactions import load
from intentc.model import InvalidInput, Schema, described

GROUP = "intentc.compilers"
"""The entry-point group by which packages offer compilers; also the package of those that ship with intentc."""


class Loaded(NamedTuple):
    """The compilers that one process runs, with their kinds, reaction map, kind → intent, and kind → compiler: the one
    that compiles it, or else declares it."""

    compilers: tuple[Compiler, ...]
    schema: Schema
    reactions: ReactionMap
    intents: Mapping[str, type[Intent]]
    compiler_of_kind: Mapping[str, str]

    @property
    def versions(self) -> Mapping[str, str]:
        """Compiler → version of its package."""
        return {compiler.name: _version(compiler.name) for compiler in self.compilers}

    @property
    def pools(self) -> tuple[str, ...]:
        """The pools of numbers that these compilers allocate from."""
        return tuple(dict.fromkeys(pool for compiler in self.compilers for pool in compiler.pools))

    @property
    def finalizers(self) -> frozenset[str]:
        """The names of these compilers' finalizers."""
        return frozenset(name for compiler in self.compilers for name in compiler.finalizers)

    @property
    def needs_synced(self) -> frozenset[str]:
        """The kinds that a bridge must have mirrored before these compilers compile."""
        return frozenset(kind for compiler in self.compilers for kind in compiler.needs_synced)

    @property
    def makes(self) -> frozenset[str]:
        """The kinds of the objects that these compilers make in a cluster, such as ``apps/v1/Deployment``."""
        return frozenset(one for compiler in self.compilers for one in compiler.makes)

    @property
    def kinds_in_order(self) -> frozenset[str]:
        """The kinds whose intents make nothing more for a resource that is being deleted (docs/engine.md §14.1)."""
        return frozenset(kind for compiler in self.compilers if compiler.finalizers for kind in compiler.intents)

    @property
    def views(self) -> Mapping[str, Overview]:
        """The views of these compilers, by name."""
        return {name: view for compiler in self.compilers for name, view in compiler.views.items()}

    @property
    def names(self) -> Mapping[str, Naming]:
        """Other namings of outputs, by the word that people use in place of a kind."""
        return {word: naming for compiler in self.compilers for word, naming in compiler.names.items()}

    def remark(self, compiler: str, kind: str) -> Remark | None:
        """What a compiler remarks on planned changes of its outputs of ``kind``; None if nothing."""
        return next((one.remarks.get(kind) for one in self.compilers if one.name == compiler), None)


class Declared(NamedTuple):
    """The compilers of a configuration for processes that compile nothing, with the kinds of all: several of them may
    compile one kind, each in a process of its own."""

    compilers: tuple[Compiler, ...]
    schema: Schema

    @property
    def finalizers(self) -> frozenset[str]:
        """The names of these compilers' finalizers."""
        return frozenset(name for compiler in self.compilers for name in compiler.finalizers)

    @property
    def makes(self) -> frozenset[str]:
        """The kinds of the objects that these compilers make in a cluster, such as ``apps/v1/Deployment``."""
        return frozenset(one for compiler in self.compilers for one in compiler.makes)


def installed(configuration: Configuration) -> Loaded:
    """Load what ``intentc.compilers``, ``intentc.schemas`` and ``intentc.reactions`` of a configuration name, for one
    process that compiles all of it.

    Raises ``InvalidInput`` with the key, or file and line.
    """
    compilers = _named(configuration)
    folders = map(Path, configuration.intentc.schemas)
    return load_all(compilers, reaction_maps(configuration, compilers), folders)


def declared(configuration: Configuration) -> Declared:
    """Load the kinds of the compilers that a configuration names, for a process that compiles nothing. Facts are left
    out. Raises ``InvalidInput`` with the key, or file and line."""
    compilers = _named(configuration)
    reaction_maps(configuration, compilers)
    names = (compiler.name for compiler in compilers)
    folders = _folders(compilers, map(Path, configuration.intentc.schemas))
    return Declared(compilers, load_schema(*names, directories=folders, apart=True))


def _named(configuration: Configuration) -> tuple[Compiler, ...]:
    """The compilers of a configuration, whose folders and settings are checked."""
    settings = configuration.intentc
    if not settings.compilers:
        raise InvalidInput("no compiler is named; name one, such as contrail", source="intentc.compilers")
    for folder in map(Path, settings.schemas):
        if not folder.is_dir():
            raise InvalidInput(f"{folder} is no folder with schemas of kinds", source="intentc.schemas")
    compilers = find_compilers(settings.compilers)
    check_settings(settings.settings, compilers)
    return compilers


def check_settings(settings: Mapping[str, Any], compilers: Iterable[Compiler]) -> None:
    """Raise ``InvalidInput`` for a setting that no evaluation reads.

    Settings of installed compilers that are not in use, and of compilers that don't declare their settings, are
    accepted.
    """
    compilers = tuple(compilers)
    declared = {compiler.name: compiler.settings for compiler in compilers}
    known = sorted(name for names in declared.values() for name in names or ())
    offered = _offered()
    for name in settings:
        owner = name.partition(".")[0]
        undeclared = declared[owner] is None if owner in declared else None in declared.values() or owner in offered
        if name in known or undeclared:
            continue
        source = settings.sources.get(name, "") if isinstance(settings, Settings) else ""
        raise InvalidInput(
            f"unknown setting intentc.settings.{name}{did_you_mean(name, known)}; no compiler in use "
            f"({', '.join(declared)}) reads it",
            source=source or "intentc.settings",
            reason="InvalidConfiguration",
        )


def reaction_maps(configuration: Configuration, compilers: Iterable[Compiler]) -> list[Path]:
    """The files with the reaction maps of these compilers, as a configuration names them.

    Raises ``InvalidInput`` for a map of another compiler.
    """
    compilers, named = tuple(compilers), configuration.intentc.reactions
    names = [compiler.name for compiler in compilers]
    for name in named:
        if name not in names:
            hint = did_you_mean(name, names)
            raise InvalidInput(f"a map for {name!r}, which is not in use{hint}", source="intentc.reactions")
    return [Path(named[compiler.name]) if compiler.name in named else _own_map(compiler) for compiler in compilers]


def find_compilers(names: Iterable[str]) -> tuple[Compiler, ...]:
    """The compilers with these names. Raises ``InvalidInput`` for one that isn't installed or can't be imported."""
    return tuple(_find(name) for name in names)


def load_all(compilers: Iterable[Compiler], reactions: Iterable[Path] = (), directories: Iterable[Path] = ()) -> Loaded:
    """Load the kinds, reaction maps and intents of ``compilers``.

    ``reactions``: map files in place of their own; ``directories``: further folders with schemas, searched first.
    Raises ``InvalidInput`` with file and line for what can't be used.
    """
    compilers = tuple(compilers)
    folders = _folders(compilers, directories)
    schema = load_schema(*(compiler.name for compiler in compilers), directories=folders)
    maps = list(reactions) or [_own_map(compiler) for compiler in compilers]
    intents = {kind: intent for compiler in compilers for kind, intent in compiler.intents.items()}
    for kind, count in Counter(kind for compiler in compilers for kind in compiler.intents).items():
        if count > 1:
            names = " and ".join(compiler.name for compiler in compilers if kind in compiler.intents)
            raise InvalidInput(
                f"{names} compile {kind}, each in its own way; run each in a process of its own, with a configuration "
                "that names it alone in intentc.compilers and gives it an intentc.installation of its own"
            )
    for kind, intent in intents.items():
        if kind not in schema:
            raise InvalidInput(f"no schema file declares the kind {kind!r} that {intent.__name__} compiles")
    for name, count in Counter(name for compiler in compilers for name in compiler.views).items():
        if count > 1:
            raise InvalidInput(f"{count} compilers have a view {name!r}; rename one")
    for word, count in Counter(word for compiler in compilers for word in compiler.names).items():
        if count > 1 or word in schema:
            raise InvalidInput(f"{word!r} stands for the names of a compiler, and of something else; rename one")
    return Loaded(compilers, schema, load(*maps), intents, _compiler_of_kind(compilers, folders))


def _compiler_of_kind(compilers: tuple[Compiler, ...], folders: list[Path]) -> dict[str, str]:
    """Kind → the compiler that compiles it; else the first one that declares it, or reads it, if it is shared."""
    found: dict[str, str] = {}
    for compiler in compilers:
        for kind in load_schema(compiler.name, directories=folders):
            found.setdefault(kind.name, compiler.name)
    return found | {kind: compiler.name for compiler in compilers for kind in compiler.intents}


def _folders(compilers: tuple[Compiler, ...], directories: Iterable[Path]) -> list[Path]:
    """Where schemas are searched: in these ``directories`` first."""
    return [*directories, *(path for compiler in compilers for path in compiler.schema_directories)]


def _own_map(compiler: Compiler) -> Path:
    return compiler.reactions or reactions_file(compiler.name)


def _version(name: str) -> str:
    """The version of the package that offers a compiler; intentc's for those that ship with it."""
    plugin = _offered().get(name)
    if plugin is not None and plugin.dist is not None:
        return plugin.dist.version
    try:
        return version("intentc")
    except PackageNotFoundError:
        return "unknown"


@functools.cache
def _offered() -> Mapping[str, EntryPoint]:
    """The compilers of all installed packages, by name."""
    return {plugin.name: plugin for plugin in entry_points(group=GROUP)}


def _find(name: str) -> Compiler:
    offered = dict(_offered())
    # A checkout that is not installed has no entry points, but its compilers are next to this module.
    if name not in offered and name.isidentifier() and importlib.util.find_spec(f"{GROUP}.{name}"):
        offered[name] = EntryPoint(name, f"{GROUP}.{name}:compiler", GROUP)
    if name not in offered:
        raise InvalidInput(
            f"there is no compiler {name!r}{did_you_mean(name, offered)}; install its package into this Python, or "
            "take it out of intentc.compilers",
            source="intentc.compilers",
        )
    try:
        return cast(Compiler, offered[name].load())
    except InvalidInput:
        raise
    except Exception as error:  # importing it runs its author's code
        fix = "install what it needs" if isinstance(error, ModuleNotFoundError) else "fix its package"
        frames = "".join(f"\n    {line}" for line in author_trace(error))
        raise InvalidInput(
            f"compiler {name!r} can't be loaded: {described(error)}; {fix}, or take it out of intentc.compilers"
            f"{frames}",
            source=offered[name].value,
        ) from None
