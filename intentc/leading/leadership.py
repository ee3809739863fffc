"""One leadership, and what is written about it in the store.

Why it exists: the same few fields go into the leader's key, come back out of a stranger's, and are told to those who
write. When a leadership begins and ends is left to ``election``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from intentc.leading.process_identity import ProcessIdentity

Versions = Mapping[str, str]
"""Compiler → its version."""


class Leadership(NamedTuple):
    """``fence``: what every write carries, ``<installation>/<revision>``. ``revision``: the create revision of the
    leader's key. ``since``: Unix time in seconds. ``previous_versions``: of the last leader that recorded its own
    (``Election.record_versions``); None if none ever did."""

    fence: str
    revision: int
    since: float
    previous_versions: Versions | None = None


def leader_value(process: str, versions: Versions, since: float, identity: ProcessIdentity | None = None) -> bytes:
    """What the leader's key says. ``identity``: by which a successor can prove that ``process`` has ended; None if it
    is unknown."""
    value = {"process": process, "versions": dict(versions), "since": since}
    if identity is not None:
        value["identity"] = identity._asdict()
    return json.dumps(value, sort_keys=True).encode()


def leading_process(value: bytes) -> str:
    """Who put a leader's key; ``unknown`` if that can't be read from it."""
    try:
        return str(json.loads(value)["process"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return "unknown"


def versions_value(versions: Versions) -> bytes:
    """What the key of the versions says."""
    return json.dumps(dict(versions), sort_keys=True).encode()


def read_versions(value: bytes) -> Versions | None:
    """What ``versions_value`` wrote; None for anything else, which then counts as never recorded."""
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return {str(name): str(version) for name, version in found.items()} if isinstance(found, dict) else None
