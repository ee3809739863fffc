"""What the tests of plans write into files, and how they read what a plan says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.live_system import PROJECT

GROUP = (*PROJECT, "group-3")


def written(folder: Path, group: dict[str, Any], name: str = "group.yml") -> Path:
    file = folder / name
    data = ", ".join(f"{field}: {_yaml(value)}" for field, value in group.items())
    file.write_text(f"kind: security_group\ndata: {{{data}}}\n")
    return file


def _yaml(value: Any) -> str:
    return f"[{', '.join(value)}]" if isinstance(value, tuple) else str(value)


def changes_of(changes: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
    return {(change["action"], change["kind"], change["name"]) for change in changes}
