"""Takes the status of a copy that a bridge writes (docs/engine.md §5.8, docs/architecture.md, "Manifests").

Why it exists: a status that others write in the cluster is an input, so a copy has it like any other field. One that
compilers claim is theirs: the stored one stays. Only a copy that is made anew takes from the cluster what compilers had
written there, with the record of it, since a store that was lost had both.

Pure functions of documents.
"""

from __future__ import annotations

from typing import Any

from intentc.model import Kind, kebab
from intentc.model.status import STATUS, STATUS_CLAIMS
from intentc.model.values import without_nulls

from ..errors import BadRequest
from .fields import accept_status
from .rules import Document


def copied_status(kind: Kind, sent: Document, *, is_new: bool) -> Document | None:
    """The fields of the status that a copy has after a bridge sent ``sent``; None: those that are stored. Raises
    ``BadRequest`` for a wrong type."""
    if kind.status is None or not (kind.status.is_input or is_new):
        return None
    status = without_nulls(sent.get(STATUS) or {})
    accept_status(kind, status)
    if kind.status.is_input:
        return {STATUS: status} if status else {}
    claims: Any = sent.get(STATUS_CLAIMS) or {}
    if not isinstance(claims, dict) or not all(isinstance(items, list) for items in claims.values()):
        raise BadRequest(f"{kebab(kind.name)}: status_claims must be an object of lists")
    return {STATUS: status, STATUS_CLAIMS: claims} if status and claims else {}
