"""One leadership, and what the store says about it.

Why it exists: the same few fields are written into the leader's key, read from another process's key, and passed to the
code that writes. ``election`` decides when a leadership begins and ends.

Values only, and their form in etcd: the leader's key, and that of the versions of the last leader's compilers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from intentc.leading.process_identity import ProcessIdentity

Versions = Mapping[str, str]
"""Compiler → its version."""


class Leadership(NamedTuple):
    """``fence``: carried by every write, ``<installation>/<revision>``. ``revision``: the create revision of the
    leader's key. ``since``: Unix time in seconds. ``previous_versions``: of the last leader that recorded its own
    (``Election.record_versions``); None if none ever did."""

    fence: str
    revision: int
    since: float
    previous_versions: Versions | None = None


class Leader(NamedTuple):
    """The process that leads, and the address of its diagnostics, empty if unknown."""

    process: str
    address: str = ""


def leader_value(leader: Leader, versions: Versions, since: float, identity: ProcessIdentity | None = None) -> bytes:
    """The value of the leader's key. ``identity``: lets a successor prove the end of the process; None if unknown."""
    value = {**leader._asdict(), "versions": dict(versions), "since": since}
    if identity is not None:
        value["identity"] = identity._asdict()
    return json.dumps(value, sort_keys=True).encode()


def read_leader(value: bytes) -> Leader:
    """The inverse of ``leader_value``; a process ``unknown`` if the value can't be read."""
    try:
        found = json.loads(value)
        return Leader(str(found["process"]), str(found.get("address", "")))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Leader("unknown")


def versions_value(versions: Versions) -> bytes:
    """The value of the key of the versions."""
    return json.dumps(dict(versions), sort_keys=True).encode()


def read_versions(value: bytes) -> Versions | None:
    """The inverse of ``versions_value``; None for any other value, which counts as never recorded."""
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return {str(name): str(version) for name, version in found.items()} if isinstance(found, dict) else None
