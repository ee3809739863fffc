"""The writes of the small Kubernetes API server: apply, merge patches, create, delete, with ownership of fields.

Fields are owned by the same functions as on our own API server (``apiserver/kubernetes/server_side_apply.py``).
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from intentc.apiserver.kubernetes.server_side_apply import APPLY, Owner, apply
from intentc.apiserver.kubernetes.status_errors import Answered

if TYPE_CHECKING:
    from .fake_cluster import FakeCluster

NOW = "2026-01-01T00:00:00Z"
_GUARDS = ("uid", "resourceVersion")

Answer = tuple[int, Any]
Place = tuple[str, str, str]


def no_lists(names: tuple[str, ...]) -> None:
    """All lists are replaced whole."""


def carried_out(cluster: FakeCluster, method: str, path: str, query: dict[str, str], body: Any, head: str) -> Answer:
    """Carry out a write: status and body of its answer."""
    if method == "POST":
        return _created_event(cluster, path, body)
    status = path.endswith("/status")
    place = cluster.place(path.removesuffix("/status"))
    if place is None:
        return 404, {"message": "page not found"}
    if method == "DELETE":
        return _deleted(cluster, place, body)
    if "apply-patch" in head:
        return _applied(cluster, place, query["fieldManager"], body)
    return _patched(cluster, place, query, body, status=status)


def _applied(cluster: FakeCluster, place: Place, manager: str, body: Any) -> Answer:
    found = cluster.objects[place[0]].get(place[1:])
    guards = {field: body["metadata"].pop(field) for field in _GUARDS if field in body["metadata"]}
    metadata = found["metadata"] if found is not None else {"uid": str(uuid.uuid4()), "creationTimestamp": NOW}
    if any(found is not None and metadata[field] != value for field, value in guards.items()):
        return 409, {"reason": "Conflict", "message": "the object has been modified"}
    if found is None and "uid" in guards:
        return 409, {"reason": "Conflict", "message": "uid mismatch: no existing object was found"}
    before = found or {"metadata": metadata}
    try:
        done = apply(before, body, cluster.managers.get(place, ()), Owner(manager, APPLY), no_lists, now=NOW)
    except Answered as error:
        return error.code, {"reason": error.reason, "message": error.message}
    cluster.managers[place] = done.entries
    if found is not None and done.manifest == found:
        return 200, found
    if found is not None and done.manifest.get("spec") != found.get("spec"):
        done.manifest["metadata"]["generation"] = found["metadata"]["generation"] + 1
    stored = cluster.put(place[0], done.manifest)
    _note(cluster, "create" if found is None else "update", place)
    return 201 if found is None else 200, stored


def _deleted(cluster: FakeCluster, place: Place, options: Any) -> Answer:
    found = cluster.objects[place[0]].get(place[1:])
    if found is None:
        return 404, {"reason": "NotFound", "message": f"{place[2]} not found"}
    wanted = options.get("preconditions", {}).get("uid")
    if wanted and wanted != found["metadata"]["uid"]:
        return 409, {"reason": "Conflict", "message": "Precondition failed: UID in precondition"}
    cluster.delete(place[0], place[2], place[1])
    _note(cluster, "delete", place)
    left = cluster.objects[place[0]].get(place[1:])
    return 200, left or {"kind": "Status", "status": "Success"}


def _patched(cluster: FakeCluster, place: Place, query: dict[str, str], patch: Any, *, status: bool) -> Answer:
    """A merge patch of finalizers, or of the top of a status, which is recorded for its manager."""
    found = cluster.objects[place[0]].get(place[1:])
    if found is None:
        return 404, {"reason": "NotFound", "message": f"{place[2]} not found"}
    metadata = found["metadata"]
    if any(patch["metadata"][field] != metadata[field] for field in _GUARDS):
        return 409, {"reason": "Conflict", "message": "the object has been modified"}
    if not status:
        metadata = {**metadata, "finalizers": patch["metadata"]["finalizers"] or []}
        stored = cluster.put(place[0], {**found, "metadata": metadata})
        if metadata.get("deletionTimestamp") and not metadata["finalizers"]:
            cluster.remove(place[0], place[2], place[1])
        _note(cluster, "finalizers", place)
        return 200, stored
    after = {**found.get("status", {}), **patch["status"]}
    after = {field: value for field, value in after.items() if value is not None}
    fields: dict[str, Any] = {"f:status": {f"f:{field}": {} for field in patch["status"] if field in after}}
    given = {**metadata, "managedFields": [{"manager": query["fieldManager"], "fieldsV1": fields}]}
    stored = cluster.put(place[0], {**found, "metadata": given, "status": after})
    _note(cluster, "status", place)
    return 200, stored


def _created_event(cluster: FakeCluster, path: str, body: Any) -> Answer:
    if not path.startswith("/apis/events.k8s.io/v1/"):
        return 404, {"message": "page not found"}
    name = body["metadata"]["name"]
    if name in cluster.events:
        return 409, {"reason": "AlreadyExists", "message": f"{name} exists"}
    cluster.events[name] = body
    return 201, body


def _note(cluster: FakeCluster, verb: str, place: Place) -> None:
    kind, _ = cluster.kinds[place[0]]
    what = f"{verb} {kind} {place[1]}/{place[2]}" if place[1] else f"{verb} {kind} {place[2]}"
    cluster.log.append(what)
    cluster.on_write(what)
