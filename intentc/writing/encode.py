"""Encodes operations as the API server's JSON, for single requests and as items of a ``/sync`` batch.

The conventions are those of docs/contrail.md B.1 and B.2: kebab-case envelopes and paths, references as ``{uuid, to,
attr}`` under ``<kind>_refs``, a mask that names the fields that a PUT replaces. ``http.py`` and ``bulk.py`` send.

Pure functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from intentc.model import (
    MARK_KEY,
    AddReference,
    Create,
    Delete,
    Key,
    Kind,
    ReferenceValue,
    RemoveReference,
    Schema,
    Update,
    UpdateStatus,
    described,
    kebab,
)
from intentc.model.metadata import CLAIMED, FINALIZERS, METADATA
from intentc.model.values import ENCODER, thaw
from intentc.reconcile.failures import Rejected

UPDATE_STATUS = "UPDATE_STATUS"


class Mutation(NamedTuple):
    """One create, update or delete, ready to be sent alone or in a batch.

    ``data``: the resource's JSON. ``mask``: the field paths that an update replaces, or the items of a status.
    ``if_match``: the revision that the object must have, None if unknown. ``relates``: it has a parent or references,
    so that a 400 may mean that one of them does not exist (yet). ``relaxed``: uuids of targets whose deletion its
    references must not block.
    ``mirrored``: ``data`` is the copy of a cluster's resource, to be created or replaced (``MirrorService``); the value
    are the finalizers that stay as they are stored.
    """

    key: Key
    operation: str
    collection: str
    data: bytes
    mask: tuple[str, ...] = ()
    if_match: int | None = None
    relates: bool = False
    relaxed: tuple[str, ...] = ()
    mirrored: tuple[str, ...] | None = None

    @property
    def method(self) -> str:
        return {"CREATE": "POST", "UPDATE": "PUT", UPDATE_STATUS: "PUT", "DELETE": "DELETE"}[self.operation]

    @property
    def path(self) -> str:
        if self.operation == UPDATE_STATUS:
            return f"{resource_path(self.key)}/status"
        if self.mirrored is not None:
            return "/sync"
        return self.collection if self.operation == "CREATE" else resource_path(self.key)

    @property
    def body(self) -> bytes | None:
        """The body of a single request: the resource in its envelope."""
        if self.operation == "DELETE":
            return None
        if self.mirrored is not None:
            return b'{"resources":[%b]}' % self.item
        return b'{"%b":%b%b%b}' % (kebab(self.key.kind).encode(), self.data, self._mask, self._relaxed)

    @property
    def headers(self) -> dict[str, str]:
        """The preconditions of a single request."""
        if self.mirrored is not None:
            return {}
        if self.operation == "CREATE":
            return {"If-None-Match": "*"}
        return {} if self.if_match is None else {"If-Match": str(self.if_match)}

    @property
    def item(self) -> bytes:
        """The element of ``resources`` in a batch."""
        if self.mirrored is not None:
            condition = b',"mirror":{"our_finalizers":%b}' % ENCODER.encode(self.mirrored)
        elif self.operation == "CREATE":
            condition = b',"if_none_match":true'
        else:
            condition = b"" if self.if_match is None else b',"if_match":%d' % self.if_match
        # Without a mask, the fields that are sent are set as a whole; a status is never sent as a whole.
        parts = self.operation == UPDATE_STATUS or any("." in path for path in self.mask)
        return b'{"kind":"%b","operation":"%b","data":%b%b%b%b}' % (
            self.key.kind.encode(),
            self.operation.encode(),
            self.data,
            condition,
            self._mask if parts else b"",
            self._relaxed,
        )

    @property
    def _mask(self) -> bytes:
        if not self.mask and self.operation != UPDATE_STATUS:
            return b""
        return b',"field_mask":{"paths":%b}' % ENCODER.encode(self.mask)

    @property
    def _relaxed(self) -> bytes:
        return b',"relaxed":%b' % ENCODER.encode(self.relaxed) if self.relaxed else b""


def resource_path(key: Key) -> str:
    """``/virtual-x/<uuid>``."""
    return f"/{kebab(key.kind)}/{quote(key.uuid, safe='')}"


def encode_mutation(operation: Create | Update | Delete | UpdateStatus, schema: Schema) -> Mutation:
    """Encode an operation on one object.

    Raises ``Rejected`` if a value can't be written as JSON, and ``InvalidInput`` for a kind that the schema lacks.
    """
    key, kind = operation.key, schema.kind(operation.key.kind)
    collection = f"/{kebab(kind.plural)}"
    match operation:
        case Create():
            relates = operation.parent is not None or any(operation.references.values())
            created = _json(key, _create(operation, kind))
            return Mutation(key, "CREATE", collection, created, relates=relates, relaxed=_uuids(operation.relaxed))
        case Update():
            data, mask = _update(operation, kind)
            relates = any(operation.references.values())
            relaxed = _uuids(operation.relaxed)
            return Mutation(key, "UPDATE", collection, _json(key, data), mask, operation.revision, relates, relaxed)
        case UpdateStatus():
            claims = {"installation": operation.installation, "items": operation.claims}
            data = {"uuid": key.uuid, "status": _status(operation, kind), "status_claims": claims}
            return Mutation(key, UPDATE_STATUS, collection, _json(key, data), tuple(operation.parts))
        case Delete():
            return Mutation(key, "DELETE", collection, _json(key, {"uuid": key.uuid}), if_match=operation.revision)


def _uuids(targets: Iterable[Key]) -> tuple[str, ...]:
    return tuple(target.uuid for target in targets)


def encode_reference(operation: AddReference | RemoveReference, *, relaxed: bool = False) -> bytes:
    """Encode the body of ``/ref-update``. ``relaxed``: the server relaxes the reference in the same transaction.

    Raises ``Rejected`` if the attribute can't be written as JSON.
    """
    add = isinstance(operation, AddReference)
    body: dict[str, Any] = {
        "operation": "ADD" if add else "DELETE",
        "type": kebab(operation.key.kind),
        "uuid": operation.key.uuid,
        "ref-type": kebab(operation.relation),
    }
    if isinstance(operation, AddReference):
        body["ref-uuid"] = operation.target.key.uuid
        body["ref-fq-name"] = operation.target.fq_name
        if operation.target.attribute is not None:
            body["attr"] = operation.target.attribute
        if relaxed:
            body["relaxed"] = True
    else:
        body["ref-uuid"] = operation.target.uuid
    return _json(operation.key, body)


def _create(operation: Create, kind: Kind) -> dict[str, Any]:
    data: dict[str, Any] = {"uuid": operation.uuid, "fq_name": operation.fq_name}
    if operation.parent is not None:
        data["parent_type"] = kebab(operation.parent.key.kind)
        data["parent_uuid"] = operation.parent.key.uuid
    annotated = kind.written_as_annotations
    pairs = [(annotated[field], value) for field, value in operation.properties.items() if field in annotated]
    pairs = sorted([*pairs, (MARK_KEY, str(operation.mark))])
    data["annotations"] = {"key_value_pair": [{"key": key, "value": value} for key, value in pairs]}
    return {**data, **_plain(operation.properties, kind), **_references(operation.references)}


def _plain(properties: Mapping[str, Any], kind: Kind) -> Mapping[str, Any]:
    """The properties that are not written as annotations."""
    annotated = kind.written_as_annotations
    return {f: value for f, value in properties.items() if f not in annotated} if annotated else properties


def _status(operation: UpdateStatus, kind: Kind) -> Any:
    """The items to set in an otherwise empty status; those that are cleared are in the mask alone."""
    declared = kind.status
    if declared is None:
        raise Rejected(400, f"{operation.key}: {kind.name} has no status")
    return declared.with_parts(declared.struct(), operation.parts)


def _update(operation: Update, kind: Kind) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return body and mask of a PUT, without annotated properties: the plan changes ``annotations`` as a whole."""
    fields = {**_plain(operation.properties, kind), **_references(operation.references)}
    mask: list[str] = []
    for field in fields:
        # The server and others write further parts of metadata.
        whole = field != METADATA or not kind.written_as_manifests
        mask += [field] if whole else [f"{METADATA}.{part}" for part in CLAIMED]
    if FINALIZERS in fields:
        finalizers = fields.pop(FINALIZERS)
        fields[METADATA] = {**(thaw(fields.get(METADATA)) or {}), "finalizers": finalizers}
    return {"uuid": operation.key.uuid, **fields}, tuple(mask)


def _references(references: Mapping[str, tuple[ReferenceValue, ...]]) -> dict[str, Any]:
    return {f"{relation}_refs": [_entry(value) for value in values] for relation, values in references.items()}


def _entry(value: ReferenceValue) -> dict[str, Any]:
    entry: dict[str, Any] = {"uuid": value.key.uuid, "to": value.fq_name}
    if value.attribute is not None:
        entry["attr"] = value.attribute
    return entry


def _json(key: Key, data: Any) -> bytes:
    try:
        return ENCODER.encode(data)
    except (TypeError, ValueError, NotImplementedError, RecursionError, msgspec.MsgspecError) as error:
        raise Rejected(400, f"{key} can't be written as JSON: {described(error)}") from None
