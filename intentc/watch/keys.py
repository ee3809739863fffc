"""Builds and parses the keys in etcd that several packages use: resources, heartbeats, leader, versions, path claims.

The API server's keys are in ``apiserver/layout.py``; other packages define their own below ``/intentc/``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from intentc.model.events import Change
from intentc.model.names import escaped_segment, stored_segment
from intentc.watch.protocol import KeyValue, WatchEvent


class Layout(NamedTuple):
    """Keys of resources under one prefix, which begins and ends in ``/`` (``/contrail/``)."""

    prefix: str

    @classmethod
    def of(cls, prefix: str) -> Layout:
        """Check the prefix: without its last ``/``, ``/contrail`` would also take in ``/contrail2/``."""
        if not prefix.endswith("/") or prefix == "/":
            raise ValueError(f"watched prefix {prefix!r} must end in '/' and name something")
        return cls(prefix)

    def key(self, kind: str, uuid: str) -> str:
        """The key of a resource."""
        return f"{self.prefix}{stored_segment(kind)}/{stored_segment(uuid)}"

    def parse(self, key: str) -> tuple[str, str] | None:
        """Kind and uuid, both escaped (``escaped_segment``), so that any key can be shown, named and deleted; None if
        the key has only one part."""
        kind, separator, uuid = key[len(self.prefix) :].partition("/")
        if not (kind and separator and uuid):
            return None
        return escaped_segment(kind), escaped_segment(uuid)

    def change(self, item: KeyValue, foreign: Callable[[str], None]) -> Change | None:
        """An existing key as a change; None, after a call of ``foreign``, if the key has another form."""
        parsed = self.parse(item.key)
        if parsed is None:
            foreign(item.key)
            return None
        return Change(*parsed, item.value, item.create_revision, item.mod_revision)

    def changes(
        self, events: tuple[WatchEvent, ...], foreign: Callable[[str], None] = lambda key: None
    ) -> tuple[Change, ...]:
        """The changes of one revision, in order."""
        found = []
        for item, deleted in events:
            change = self.change(item, foreign)
            if change is not None:
                found.append(change._replace(value=None, create_revision=0) if deleted else change)
        return tuple(found)


def heartbeat_prefix(installation: str) -> str:
    """The prefix of the heartbeats of all processes of an installation."""
    return f"/intentc/{installation}/heartbeat/"


def heartbeat_key(installation: str, process: str) -> str:
    """The key of one process's heartbeat; ``process`` names host and process id, for example."""
    return f"{heartbeat_prefix(installation)}{process}"


def leader_key(installation: str) -> str:
    """The key that a compiler's leader holds; its create revision is the fence (docs/engine.md §9)."""
    return f"/intentc/{installation}/leader"


def versions_key(installation: str) -> str:
    """The key of the compilers' versions of the last leader that began to write; it outlives the leader."""
    return f"/intentc/{installation}/versions"


CLAIMS_PREFIX = "/intentc/claims/"


def claim_key(path: str) -> str:
    """The key by which an installation claims the resources below ``/<path>/`` for its compilers."""
    return f"{CLAIMS_PREFIX}{path}"
