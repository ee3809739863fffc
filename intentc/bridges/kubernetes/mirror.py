"""Compares what a cluster has of mirrored kinds with what etcd holds of it, and says what is to be written.

Why it exists: events of both sides arrive in any order, repeated, and after gaps; what is written must depend only on
what both have now. An object is known by its uid, which no other object ever has. A copy is deleted only if its object
was seen to be deleted, is missing in a complete list that began after the copy was known, or has left its name to
another object; and a list that is in doubt, or would delete many, deletes nothing until an operator approves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import NamedTuple

from intentc.model import Key

from .wire import Identity


class Wanted(NamedTuple):
    """An object of the cluster. ``document``: the copy to store, as JSON; ``digest``: of what it says;
    ``fingerprint``: of an object with this copy, empty if it has none."""

    identity: Identity
    digest: bytes
    document: bytes
    fingerprint: bytes = b""


class Stored(NamedTuple):
    """A resource in etcd. ``mirrored``: a bridge wrote it; ``digest``: as that of its object, if both say the same."""

    identity: Identity
    digest: bytes
    mirrored: bool
    revision: int


class Write(NamedTuple):
    """Create or replace the copy. ``digest``: of what is written."""

    key: Key
    document: bytes
    digest: bytes


class Removal(NamedTuple):
    """Delete the copy that was written at ``revision``."""

    key: Key
    revision: int


class DeleteLimits(NamedTuple):
    """A list that would delete more copies of a kind than ``most``, and more than ``percent`` of them, is held."""

    most: int = 50
    percent: float = 5.0


class Withheld(NamedTuple):
    """Copies whose deletion waits for approval, and why."""

    reason: str
    keys: frozenset[Key]


class Mirror:
    """Both sides of all kinds."""

    def __init__(self, limits: DeleteLimits = DeleteLimits()) -> None:  # noqa: B008 - a value
        self.unexplained: set[str] = set()
        """Kinds with a copy whose object was never seen: they need another complete list."""
        self.withheld: dict[str, Withheld] = {}
        self.unusable: dict[Key, tuple[Identity, str]] = {}
        """Objects that can't be copied, with name and reason."""
        self._limits = limits
        self._wanted: defaultdict[str, dict[str, Wanted]] = defaultdict(dict)
        self._stored: defaultdict[str, dict[str, Stored]] = defaultdict(dict)
        self._bearers: dict[tuple[str, Identity], str] = {}
        """The uid of the object that has a name."""
        self._holders: dict[tuple[str, Identity], str] = {}
        """The uid of the resource in etcd that has a name."""
        self._ended: set[Key] = set()
        self._listed: set[str] = set()
        self._dirty: dict[Key, None] = {}

    def knows(self, key: Key, fingerprint: bytes) -> bool:
        """Whether the object with this fingerprint is known already, and can be copied."""
        known = self._wanted[key.kind].get(key.uuid)
        return bool(fingerprint) and known is not None and known.fingerprint == fingerprint and key not in self.unusable

    def put(self, key: Key, wanted: Wanted) -> None:
        """Note that an object exists, with this content."""
        known = self._wanted[key.kind].get(key.uuid)
        self.unusable.pop(key, None)
        if known is not None and known[:2] == wanted[:2]:
            # Finalizers of ours are no part of what it says, and belong into a copy that is made anew.
            self._wanted[key.kind][key.uuid] = wanted
            return
        name = (key.kind, wanted.identity)
        # Its name has a new object, so the former one is gone, whether or not its deletion was seen.
        for former in (self._bearers.get(name), self._holders.get(name)):
            if former is not None and former != key.uuid:
                self.deleted(Key(key.kind, former))
        self._bearers[name] = key.uuid
        self._wanted[key.kind][key.uuid] = wanted
        self._ended.discard(key)
        self._release(key)
        self._dirty[key] = None

    def cannot_copy(self, key: Key, identity: Identity, reason: str) -> None:
        """Note that an object exists and can't be copied: its last copy stays."""
        self.unusable[key] = (identity, reason)
        self._release(key)

    def deleted(self, key: Key) -> None:
        """Note that an object was seen to be deleted."""
        self._forget(key)
        self.unusable.pop(key, None)
        if key.uuid in self._stored[key.kind]:
            self._ended.add(key)
            self._dirty[key] = None

    def listed(self, kind: str, uids: frozenset[str], doubt: str, revision: int) -> None:
        """Note a complete list. ``doubt``: why it proves no deletion, or empty; ``revision``: of etcd, up to which the
        copies were known when the list began."""
        wanted, stored = self._wanted[kind], self._stored[kind]
        for uid in [uid for uid in wanted if uid not in uids]:
            self._forget(Key(kind, uid))
        for key in [key for key in self.unusable if key.kind == kind and key.uuid not in uids]:
            del self.unusable[key]
        self._listed.add(kind)
        self.unexplained.discard(kind)
        held = self.withheld[kind].keys if kind in self.withheld else frozenset()
        copies = [uid for uid, copy in stored.items() if copy.mirrored]
        missing = {
            Key(kind, uid)
            for uid in copies
            if uid not in uids and stored[uid].revision <= revision and Key(kind, uid) not in self._ended
        } - held
        if any(uid not in uids and stored[uid].revision > revision for uid in copies):
            self.unexplained.add(kind)
        many = len(missing) > self._limits.most and 100 * len(missing) > self._limits.percent * len(copies)
        if missing and (doubt or many):
            reason = doubt or f"the list lacks {len(missing)} of {len(copies)} that were mirrored"
            self.withheld[kind] = Withheld(reason, held | missing)
            return
        for key in missing:
            self._ended.add(key)
            self._dirty[key] = None

    def stored(self, key: Key, stored: Stored | None) -> None:
        """Note what etcd holds under a key; None: nothing."""
        before = self._stored[key.kind].pop(key.uuid, None)
        if before is not None and self._holders.get((key.kind, before.identity)) == key.uuid:
            del self._holders[key.kind, before.identity]
            bearer = self._bearers.get((key.kind, before.identity))
            if bearer is not None:
                # It may have waited for the name.
                self._dirty[Key(key.kind, bearer)] = None
        if stored is None:
            self._ended.discard(key)
            self._release(key)
        else:
            self._stored[key.kind][key.uuid] = stored
            self._holders[key.kind, stored.identity] = key.uuid
            bearer = self._bearers.get((key.kind, stored.identity), key.uuid)
            if bearer != key.uuid:
                self._ended.add(key)
            known = key.uuid in self._wanted[key.kind] or key in self.unusable or key in self._ended
            if stored.mirrored and not known and key.kind in self._listed and not self._is_withheld(key):
                self.unexplained.add(key.kind)
        self._dirty[key] = None

    def approve(self, kind: str) -> int:
        """Approve the deletions of a kind that are withheld now; returns how many."""
        held = self.withheld.pop(kind, None)
        for key in held.keys if held else ():
            self._ended.add(key)
            self._dirty[key] = None
        return len(held.keys) if held else 0

    def take_dirty(self) -> tuple[Key, ...]:
        """The keys to look at, which count as looked at then."""
        taken = tuple(self._dirty)
        self._dirty.clear()
        return taken

    def look_at_all(self) -> None:
        """Look at everything: this process may write now."""
        for side in (self._wanted, self._stored):
            for kind, objects in side.items():
                self._dirty |= dict.fromkeys(Key(kind, uid) for uid in objects)

    @property
    def has_dirty(self) -> bool:
        """Whether there are keys to look at."""
        return bool(self._dirty)

    def plan(self, key: Key) -> Write | Removal | None:
        """What is to be written for a key; None if both sides are the same, or nothing may be done."""
        wanted = self._wanted[key.kind].get(key.uuid)
        stored = self._stored[key.kind].get(key.uuid)
        if wanted is None:
            ended = stored is not None and stored.mirrored and key in self._ended
            return Removal(key, stored.revision) if ended and stored is not None else None
        if stored is not None and stored.mirrored and stored.digest == wanted.digest:
            return None
        return None if self.taken_by(key) else Write(key, wanted.document, wanted.digest)

    def taken_by(self, key: Key) -> str:
        """The uuid of another resource in etcd that has the name of an object; empty for none."""
        wanted = self._wanted[key.kind].get(key.uuid)
        holder = self._holders.get((key.kind, wanted.identity), "") if wanted is not None else ""
        return "" if holder == key.uuid else holder

    def is_copied(self, kind: str, rejected: Collection[Key]) -> bool:
        """Whether etcd holds all that the cluster has of a kind, except what it has once more, and ``rejected``."""
        return all(self.plan(key) is None or key in rejected for key in self.keys(kind))

    def keys(self, kind: str) -> Iterator[Key]:
        """The objects of a kind in the cluster."""
        return (Key(kind, uid) for uid in self._wanted[kind])

    def name_of(self, key: Key) -> Identity | None:
        """The name of an object in the cluster, or of its copy; None if neither is known."""
        if key in self.unusable:
            return self.unusable[key][0]
        known = self._wanted[key.kind].get(key.uuid) or self._stored[key.kind].get(key.uuid)
        return known.identity if known is not None else None

    def counts(self, kind: str) -> tuple[int, int]:
        """How many objects the cluster has, and how many copies etcd holds."""
        return len(self._wanted[kind]), sum(copy.mirrored for copy in self._stored[kind].values())

    def taken_names(self, kind: str) -> Iterator[tuple[Identity, str]]:
        """Objects whose name belongs to a resource in etcd that no bridge wrote, each with its uuid."""
        for uid, wanted in self._wanted[kind].items():
            holder = self._holders.get((kind, wanted.identity), uid)
            if holder != uid and not self._stored[kind][holder].mirrored:
                yield wanted.identity, holder

    def _forget(self, key: Key) -> None:
        wanted = self._wanted[key.kind].pop(key.uuid, None)
        if wanted is not None and self._bearers.get((key.kind, wanted.identity)) == key.uuid:
            del self._bearers[key.kind, wanted.identity]

    def _is_withheld(self, key: Key) -> bool:
        held = self.withheld.get(key.kind)
        return held is not None and key in held.keys

    def _release(self, key: Key) -> None:
        held = self.withheld.get(key.kind)
        if held is not None and key in held.keys:
            left = held.keys - {key}
            if left:
                self.withheld[key.kind] = held._replace(keys=left)
            else:
                del self.withheld[key.kind]
