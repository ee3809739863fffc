"""The header that carries the fence (docs/engine.md §9): every request that writes sends it."""

from __future__ import annotations

FENCE_HEADER = "X-Intentc-Fence"


def fence_header(fence: str | None) -> dict[str, str]:
    """The header that carries the fence, if there is one."""
    return {} if fence is None else {FENCE_HEADER: fence}
