"""Says what a planned change of an object means for what runs: its pods restart, or it is made anew.

A plan asks for each manifest that changes (``Compiler(remarks=…)``). A cluster restarts the pods of a Deployment or
DaemonSet if the template of its pods changes, and only then; what changes at a path that can't be changed is deleted
and created (docs/engine.md §13.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_Json = Mapping[str, Any]
_WORKLOADS = frozenset({"DaemonSet", "Deployment"})
_CONTAINERS = ("initContainers", "containers")


def restarts(before: _Json | None, after: _Json | None) -> Iterator[str]:
    """The remarks on a manifest that changes; none on one that is created or deleted."""
    if before is None or after is None:
        return
    target, old, new = after["target"], before.get("content", {}), after.get("content", {})
    title = f"{target['kind'].lower()} {'/'.join(filter(None, (target.get('namespace'), target['name'])))}"
    if replaced := [path for path in after.get("immutable", ()) if _at(old, path) != _at(new, path)]:
        yield f"made anew: {title} ({', '.join(replaced)})"
    elif target["kind"] in _WORKLOADS:
        templates = _at(old, "spec.template") or {}, _at(new, "spec.template") or {}
        if templates[0] != templates[1]:
            changes = [*_metadata(*templates), *_pod(*templates)]
            yield f"restarts: {title} ({', '.join(changes) or 'order of containers'})"


def _at(content: _Json, path: str) -> Any:
    found: Any = content
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _metadata(old: _Json, new: _Json) -> Iterator[str]:
    for part, word in (("annotations", "annotation"), ("labels", "label")):
        one, other = (_at(template, f"metadata.{part}") or {} for template in (old, new))
        yield from (f"{word} {name}" for name in _differing(one, other))


def _pod(old: _Json, new: _Json) -> Iterator[str]:
    one, other = old.get("spec", {}), new.get("spec", {})
    containers = [
        {container["name"]: container for part in _CONTAINERS for container in spec.get(part, ())}
        for spec in (one, other)
    ]
    yield from _images(*containers)
    yield from _fields(*containers)
    yield from (name for name in _differing(one, other) if name not in _CONTAINERS)


def _images(old: Mapping[str, _Json], new: Mapping[str, _Json]) -> Iterator[str]:
    """The images that change, each once; with the names of the containers, if there are several images."""
    changes: dict[tuple[str, str], list[str]] = {}
    for name in old:
        if name in new and old[name]["image"] != new[name]["image"]:
            changes.setdefault((old[name]["image"], new[name]["image"]), []).append(name)
    for (former, later), names in changes.items():
        whose = f" of {_list(names)}" if len(changes) > 1 else ""
        yield f"image{whose} {former} → {later}"


def _fields(old: Mapping[str, _Json], new: Mapping[str, _Json]) -> Iterator[str]:
    for name in _differing(old, new):
        if name not in old or name not in new:
            yield f"container {name} is {'added' if name in new else 'removed'}"
        else:
            yield from (f"{field} of {name}" for field in _differing(old[name], new[name]) if field != "image")


def _differing(old: _Json, new: _Json) -> list[str]:
    return [name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)]


def _list(names: Sequence[str]) -> str:
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"
