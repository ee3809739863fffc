"""Reports problems as Kubernetes Events on objects of the cluster, once for each change.

Why it exists: ``kubectl describe`` of an object shows its Events. An Event's name follows from what it says and, on an
owner, from the answer that it precedes, so that a process that is killed in between reports nothing twice, nor does one
that starts anew while the cluster has the Event (an hour, by default). Events help people alone: one that can't be
written is logged, and nothing waits for it. ``manifest_reconciler`` reports what the cluster rejects, on owners;
``problem_events`` decides about mirrored objects.

It writes to ``events.k8s.io/v1``, or to ``v1`` where that is not served. A failure is logged once for each namespace
while it lasts.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from enum import Enum, auto
from typing import Any, NamedTuple

from intentc import crashpoints
from intentc.outgoing import Target
from intentc.reconcile.failures import Conflict, Denied, Expired, Failure, Rejected, Unavailable

from .cluster import Cluster, NotServed
from .wire import Identity

_LOG = logging.getLogger(__name__)
_CONTROLLER = "intentc.io/kubernetes"
_LONGEST_NOTE = 1000
"""Kubernetes takes 1,024 bytes."""
_LONGEST_NAME = 200
_MOST_NAMESPACES = 1000
"""For so many it is known what was logged."""


class Regarding(NamedTuple):
    """The object of an Event: one of a mirrored kind in the cluster. ``resource_version``: empty if it is not known."""

    version: str
    kind: str
    identity: Identity
    uid: str
    resource_version: str = ""


class Result(Enum):
    """What became of an Event. PRESENT: there is such an Event already; REJECTED: the cluster does not take it; HELD:
    it fails at this one, or in this namespace, and may take others; FAILED: it takes none now."""

    CREATED = auto()
    PRESENT = auto()
    REJECTED = auto()
    HELD = auto()
    FAILED = auto()


class _Event(NamedTuple):
    about: Regarding
    reason: str
    action: str
    note: str

    @property
    def short_note(self) -> str:
        """As much of the note as Kubernetes takes."""
        return self.note.encode()[:_LONGEST_NOTE].decode(errors="ignore")


class Events:
    """Writes Events. ``regarding``: the owner with a uuid, None if it is in no cluster; ``instance``: this process."""

    def __init__(self, cluster: Cluster, regarding: Callable[[str], Regarding | None], instance: str) -> None:
        self._cluster = cluster
        self._regarding = regarding
        self._instance = instance
        self._only_core = False
        self.counters: Counter[str] = Counter()
        self._failing: dict[str, type[Failure]] = {}
        """Namespace → which failure was logged; "" is the whole cluster."""

    async def record(self, owner: str, target: Target, words: str, revision: int) -> None:
        """Report ``words`` about an object of the owner with this uuid. ``revision``: of the answer that had others."""
        about = self._regarding(owner)
        if about is None:
            return
        await self._write(_Event(about, "ObjectRejected", "CarryOut", f"{target}: {words}"), str(revision))

    async def report(self, about: Regarding, reason: str, action: str, words: str) -> Result:
        """Report ``words`` about an object. ``reason`` and ``action``: in CamelCase, as Kubernetes has them."""
        return await self._write(_Event(about, reason, action, words))

    async def _write(self, event: _Event, salt: str = "") -> Result:
        about = event.about
        try:
            await self._send(event, salt)
            self._works(about)
            self.counters["events"] += 1
            crashpoints.reach("event.sent")
            return Result.CREATED
        except Conflict:
            self._works(about)
            return Result.PRESENT
        except Rejected as error:
            self.counters["events_rejected"] += 1
            _LOG.warning("an Event about %s %s can't be written: %s", about.kind, about.identity, error)
            return Result.REJECTED
        except Failure as error:
            self.counters["events_failed"] += 1
            is_here = _is_about_this(error)
            self._log_failure(about, _namespace(about) if is_here else "", error)
            return Result.HELD if is_here else Result.FAILED

    def _works(self, about: Regarding) -> None:
        self._failing.pop("", None)
        self._failing.pop(_namespace(about), None)

    def _log_failure(self, about: Regarding, place: str, error: Failure) -> None:
        """Log a failure once while it lasts there."""
        level = logging.DEBUG if self._failing.get(place) is type(error) else logging.WARNING
        if place not in self._failing and len(self._failing) >= _MOST_NAMESPACES:
            del self._failing[next(iter(self._failing))]
        self._failing[place] = type(error)
        where = f"in the namespace {place}" if place else "at all"
        _LOG.log(
            level,
            "Events can't be written %s, such as one about %s %s: %s; they are tried again, which is not logged",
            where,
            about.kind,
            about.identity,
            error,
        )

    async def _send(self, event: _Event, salt: str) -> None:
        about = event.about
        digest = hashlib.sha256("\0".join((about.uid, event.reason, event.note, salt)).encode()).hexdigest()[:16]
        name = f"{about.identity.name[:_LONGEST_NAME]}.{digest}"
        namespace = _namespace(about)
        if not self._only_core:
            try:
                path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
                await self._cluster.send("POST", path, None, self._event(name, namespace, event))
            except NotServed:
                self._only_core = True
            else:
                return
        await self._cluster.send(
            "POST", f"/api/v1/namespaces/{namespace}/events", None, self._core_event(name, namespace, event)
        )

    def _event(self, name: str, namespace: str, event: _Event) -> dict[str, Any]:
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "eventTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "reportingController": _CONTROLLER,
            "reportingInstance": self._instance[:128],
            "action": event.action,
            "reason": event.reason,
            "regarding": _reference(event.about),
            "note": event.short_note,
            "type": "Warning",
        }

    def _core_event(self, name: str, namespace: str, event: _Event) -> dict[str, Any]:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": _reference(event.about),
            "reason": event.reason,
            "message": event.short_note,
            "source": {"component": _CONTROLLER},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": "Warning",
        }


def _namespace(about: Regarding) -> str:
    """Where its Events are."""
    return about.identity.namespace or "default"


def _is_about_this(error: Failure) -> bool:
    """Whether the cluster may take an Event about another object, or in another namespace."""
    return not error.concerns_all and isinstance(error, Unavailable | Denied | Expired)


def _reference(about: Regarding) -> dict[str, str]:
    found = {
        "apiVersion": about.version,
        "kind": about.kind,
        "uid": about.uid,
        "name": about.identity.name,
        "namespace": about.identity.namespace,
        "resourceVersion": about.resource_version,
    }
    return {name: value for name, value in found.items() if value}
