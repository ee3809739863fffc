"""Reads the rules of an Ingress: its backends, and what its paths match (docs/appgw.md §6.1, §6.7)."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

import msgspec

from intentc import Context, View

from .annotations import Annotations
from .backend_settings import ChosenPath
from .path_maps import Path, RuleContent
from .path_patterns import CATCH_ALL, patterns_of
from .settings import Settings
from .sites import is_wildcard, names_of
from .sub_resource_names import Owner

ALONE = -1
"""The position of the rule of an Ingress that has a default backend and nothing else."""


class BackendUse(msgspec.Struct, frozen=True):
    """A backend of an Ingress. ``port``: as the Ingress writes it; ``chosen``: what shapes its probe, None if only the
    default backend leads here; ``field``: where the Ingress first names it."""

    owner: Owner
    service: str
    port: str
    annotations: Annotations
    chosen: ChosenPath | None
    field: str

    @property
    def key(self) -> str:
        return f"{self.owner.namespace}|{self.owner.name}|{self.service}|{self.port}"


def backend_uses(
    ingress: View,
    ctx: Context,
    annotations: Annotations,
    owner: Owner,
    reserved: Container[tuple[int, int]] = frozenset(),
) -> Iterator[BackendUse]:
    """The backends of an Ingress, each once. It reports those that can't be used. ``reserved``: the paths that count
    for nothing, as (rule, position); ``(ALONE, 0)`` is the default backend."""
    first: dict[str, tuple[Any, str, ChosenPath | None]] = {}
    chosen: dict[str, tuple[bool, ChosenPath]] = {}
    for number, rule in enumerate(ingress.rules):
        names, _ = names_of(rule.host, annotations.hostname_extension)
        host = next((name for name in names if not is_wildcard(name)), "")
        for position, path in enumerate(rule.http.paths):
            field = f"rules[{number}].http.paths[{position}].backend"
            key = backend_key(ingress, path.backend)
            if not key:
                message = f"{field}: it names no Service, and nothing else can be a backend; its path is left out"
                ctx.problem("UnsupportedBackend", message)
                continue
            if (number, position) in reserved:
                continue
            first.setdefault(key, (path.backend, field, None))
            shape = (path.path in CATCH_ALL, ChosenPath(host, path.path))
            if key not in chosen or (shape[0] and not chosen[key][0]):
                chosen[key] = shape
    if ingress.defaultBackend:
        key = backend_key(ingress, ingress.defaultBackend)
        if key and (ALONE, 0) not in reserved:
            alone = None if ingress.rules else ChosenPath()
            first.setdefault(key, (ingress.defaultBackend, "defaultBackend", alone))
        elif not key:
            ctx.problem("UnsupportedBackend", "defaultBackend names no Service; nothing else can be a backend")
    for key, (backend, field, alone) in first.items():
        shape_of = chosen[key][1] if key in chosen else alone
        yield BackendUse(owner, backend.service.name, _port(backend), annotations, shape_of, field)


def rule_contents(
    ingress: View, ctx: Context, config: Settings, annotations: Annotations, rewrite: str
) -> Iterator[tuple[int, str, RuleContent]]:
    """(position, host, content) of each rule with paths. It reports paths that can't be routed."""
    default = backend_key(ingress, ingress.defaultBackend) if ingress.defaultBackend else ""
    common = {"default": default, "policy": annotations.waf_policy_for_path, "rewrite": rewrite}
    for number, rule in enumerate(ingress.rules):
        if rule.http.paths:
            field = f"rules[{number}].http"
            paths = tuple(_paths(ingress, ctx, config, field, rule.http.paths))
            yield number, rule.host, RuleContent(paths, field=field, **common)
    if not ingress.rules and default:
        path = Path(0, "", (), True, False, default)
        yield ALONE, "", RuleContent((path,), field="defaultBackend", **{**common, "default": ""})


def backend_key(ingress: View, backend: Any) -> str:
    """The name of a backend of an Ingress among facts; empty if it is no Service."""
    if not backend.service.name:
        return ""
    return f"{':'.join(ingress.fq_name).replace(':', '|')}|{backend.service.name}|{_port(backend)}"


def _port(backend: Any) -> str:
    return backend.service.port.name or str(backend.service.port.number)


def _paths(ingress: View, ctx: Context, config: Settings, rule: str, paths: tuple[Any, ...]) -> Iterator[Path]:
    for position, path in enumerate(paths):
        field = f"{rule}.paths[{position}]"
        found = patterns_of(path.path, path.pathType, by_element=config.by_element)
        if found.wrong:
            ctx.problem("PathInvalid", f"{field}: {found.wrong}; until then it is not routed")
            continue
        if found.note:
            ctx.problem("ExactRootNotSupported", f"{field}: {found.note}")
        if key := backend_key(ingress, path.backend):
            yield Path(position, path.path, found.patterns, found.catch_all, found.by_element, key)
