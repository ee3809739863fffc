"""Completes and checks tags and their types: names and ids (docs/contrail.md B.5.12, B.6, B.7).

The id of a tag is its type's id followed by a number of its own, both with four hexadecimal digits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from intentc.model.names import Name

from ..documents import Document
from ..errors import BadRequest
from ..rule_reader import Reader
from ..sources import Source
from .rules import Allocation, Change, Release, Rules

POOL, TYPE_POOL = "tag_id", "tag_type_id"
_KNOWN_TYPES = {
    name: number
    for number, name in enumerate(
        ("label", "application", "tier", "deployment", "site", "neutron_fwaas", "neutron_tag")
    )
}
"""The ids of the types that every installation has, as Contrail's agents know them."""
_FORM = "0x{0:04x}"
_TYPE, _VALUE, _KIND = "tag_type_name", "tag_value", "tag_type"
_ID, _TYPE_REFS, _TYPE_ID = "tag_id", "tag_type_refs", "tag_type_id"


class TagRules(Rules):
    """A tag has a type and a value from the start, and is named ``<type>=<value>``. Neither can change.

    The first tag of a type brings the type along."""

    kind: ClassVar[str] = "tag"
    allocates: ClassVar[bool] = True
    adopts_companions: ClassVar[bool] = True

    def prepare(self, document: Document) -> None:
        if document.get(_TYPE) and document.get(_VALUE):
            name = f"{document[_TYPE].lower()}={document[_VALUE]}"
            document["name"] = document["display_name"] = name
            if isinstance(document.get("fq_name"), list):
                document["fq_name"] = [*document["fq_name"][:-1], name]

    async def admit(self, change: Change, reader: Reader, uuids: Source) -> None:
        after = change.new
        if change.before is not None:
            _reject_changes(change, (_TYPE, _VALUE, "display_name", _ID, _TYPE_REFS))
            return
        for field in (_TYPE, _VALUE):
            if not after.get(field):
                raise BadRequest(f"{field} is missing; give tag_type_name and tag_value, such as application and web")
        _reject_given(change, (_ID, _TYPE_REFS))
        after[_TYPE] = after[_TYPE].lower()
        name = Name(_KIND, (after[_TYPE],))
        existing = await reader.by_name(name)
        uuid = existing["uuid"] if existing is not None else uuids.uuid(name)
        after[_TYPE_REFS] = [{"uuid": uuid, "to": list(name.fq_name)}]
        _fill_known_id(after, after[_TYPE], _ID)

    def allocations(self, change: Change) -> Iterable[Allocation | Release]:
        if change.after is None:
            return (Release(POOL, change.uuid),)
        if change.before is not None:
            return ()
        return (
            *_type_allocation(change.after[_TYPE], _ID),
            Allocation(POOL, change.uuid, field=_ID, form="{1}{0:04x}"),
        )

    def companions(self, change: Change) -> Iterable[tuple[str, Document]]:
        after = change.new
        reference = after[_TYPE_REFS][0]
        yield _KIND, {"uuid": reference["uuid"], "fq_name": reference["to"], "id_perms": {"user_visible": False}}


class TagTypeRules(Rules):
    """A type has an id, which stays."""

    kind: ClassVar[str] = _KIND
    allocates: ClassVar[bool] = True

    async def admit(self, change: Change, reader: Reader, uuids: Source) -> None:
        after = change.new
        if change.before is not None:
            _reject_changes(change, ("display_name", _TYPE_ID))
            return
        _reject_given(change, (_TYPE_ID,))
        _fill_known_id(after, after["name"], _TYPE_ID)

    def allocations(self, change: Change) -> Iterable[Allocation | Release]:
        if change.after is None:
            return (Release(TYPE_POOL, _type_owner(change.old["fq_name"][-1])),)
        return _type_allocation(change.after["fq_name"][-1], _TYPE_ID) if change.before is None else ()


def _type_allocation(name: str, field: str) -> tuple[Allocation, ...]:
    """The request for the id of a type, which its tags and itself share."""
    return () if name in _KNOWN_TYPES else (Allocation(TYPE_POOL, _type_owner(name), field=field, form=_FORM),)


def _fill_known_id(document: Document, name: str, field: str) -> None:
    if name in _KNOWN_TYPES:
        document[field] = _FORM.format(_KNOWN_TYPES[name])


def _type_owner(name: str) -> str:
    return f"tag_type:{name}"


def _reject_given(change: Change, fields: Iterable[str]) -> None:
    for field in fields:
        if change.changes(field):
            raise BadRequest(f"{field} is given by the server; leave it out")


def _reject_changes(change: Change, fields: Iterable[str]) -> None:
    for field in fields:
        if change.changes(field):
            raise BadRequest(f"{field} can't change; delete the tag or type and create another")
