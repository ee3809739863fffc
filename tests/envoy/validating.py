"""Asking Envoy itself whether it takes a configuration: ``envoy --mode validate``, a tenth of a second each."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from intentc.embedded_envoy import find_binary
from tests.patience import PATIENCE

_ADMIN = {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}}}
_COMPLAINTS = ("[warning]", "[error]", "[critical]")
_WITHIN_SECONDS = PATIENCE


def complaints(bootstrap: Mapping[str, Any], folder: Path) -> str:
    """What Envoy has against a complete static configuration, warnings (deprecated fields) included; empty if nothing.

    ``folder``: where it may be written.
    """
    path = folder / "bootstrap.json"
    path.write_bytes(msgspec.json.encode({"admin": _ADMIN, **bootstrap}))
    done = subprocess.run(
        [find_binary(), "--mode", "validate", "--config-path", path, "--disable-hot-restart", "--log-level", "warning"],
        capture_output=True,
        text=True,
        timeout=_WITHIN_SECONDS,
    )
    lines = [line for line in done.stderr.splitlines() if any(level in line for level in _COMPLAINTS)]
    return "\n".join(lines) or ("" if done.returncode == 0 else done.stderr or f"exit code {done.returncode}")
