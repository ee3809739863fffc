"""Completes and checks tags: a tag is a type and a value, and is named after both (docs/contrail.md B.7)."""

from __future__ import annotations

from typing import ClassVar

from ..errors import BadRequest
from .rules import Change, Document, Found, Rules, Uuids

_TYPE, _VALUE = "tag_type_name", "tag_value"
_OF_SERVER = ("tag_id", "tag_type_refs")
_FIXED = (_TYPE, _VALUE, "display_name", *_OF_SERVER)


class TagRules(Rules):
    """A tag has a type and a value from the start, and is named ``<type>=<value>``. Neither can change."""

    kind: ClassVar[str] = "tag"

    def name(self, document: Document) -> str | None:
        for field in (_TYPE, _VALUE):
            if not document.get(field):
                raise BadRequest(f"{field} is missing; give tag_type_name and tag_value, such as application and web")
        return f"{str(document[_TYPE]).lower()}={document[_VALUE]}"

    def admit(self, change: Change, found: Found, uuids: Uuids) -> None:
        after = change.after
        assert after is not None
        if change.before is None:
            after[_TYPE] = after[_TYPE].lower()
            for field in _OF_SERVER:
                if change.changes(field):
                    raise BadRequest(f"{field} is given by the server; leave it out")
            return
        for field in _FIXED:
            if change.changes(field):
                raise BadRequest(f"{field} of a tag can't change; delete the tag and create another")
