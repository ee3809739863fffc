"""Sends changes of resources to the API server: creates, updates and deletes what a command's input names.

Why it exists: ``apply``, ``delete``, ``dev`` and plans share these steps. All changes go in one transaction if the
server accepts it; a request that is too large is halved, unless all must go together. Users apply the same file again
and again, so what equals the stored resource is not sent. When in doubt it differs: a needless update does no harm. At
the server each field that is sent replaces the stored one and others stay, so a field that a manifest no longer has is
sent as null.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import anyio

from intentc.loading.configuration import Configuration
from intentc.loading.resource_files import Loaded
from intentc.model import InvalidInput, Key, Kind, Schema, kebab
from intentc.model.comparison import Within, compare
from intentc.model.metadata import CLAIMED, METADATA, OF_SERVER
from intentc.model.values import without_nulls

from .api_client import ApiClient, Change, Rejected, api_client
from .command_error import CommandError, Exit
from .input_files import name_of, place_of, with_resource_name
from .named_resources import Meant, read
from .output import print_document

_CALLS_AT_ONCE = 16
_TOO_MANY_OPERATIONS = 413
STALE = (409, 412)
"""The status codes with which the server rejects a change of a resource that was changed meanwhile."""
_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")
_HOLDER = re.compile(r"(?P<kind>[\w-]+)/(?P<uuid>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")


Done = tuple[str, list[str], str]
"""Kind, fq_name, and what was done: ``created``, ``updated``, ``unchanged``, ``deleted``, ``absent``, or ``reference
removed``."""


class Stale(CommandError):
    """A resource was changed after the plan was made; nothing was written."""

    def __init__(self, what: str, *, where: str = "") -> None:
        super().__init__(
            f"the plan is stale: {what}",
            where=where,
            next_step="make a new plan, and review it",
            code=Exit.DIFFERENT,
        )


class Sent(NamedTuple):
    """One change, and its resource in the input."""

    resource: Loaded
    change: Change


async def present(client: ApiClient, resources: Sequence[Loaded], schema: Schema) -> list[str | None]:
    """The uuid of each resource at the server, None if the server has none of its name.

    Raises ``InvalidInput`` if the file gives another uuid than the server has.
    """

    async def look_up(resource: Loaded) -> str | None:
        kind, data = schema.kind(resource.kind), resource.data
        if data.get("fq_name"):
            return await client.identify(kind, data["fq_name"])
        return data["uuid"] if data.get("uuid") and await read(client, kind, data["uuid"]) is not None else None

    found = await _for_each(resources, look_up)
    for uuid, resource in zip(found, resources, strict=True):
        given = resource.data.get("uuid")
        if uuid and given and given != uuid:
            raise InvalidInput(
                f"{resource.kind} {name_of(resource)} exists with uuid {uuid}; "
                "take the uuid out of the file, or delete the other one first",
                source=resource.source,
            )
    return found


async def _for_each(items: Iterable[_Item], work: Callable[[_Item], Awaitable[_Answer]]) -> list[_Answer]:
    """What ``work`` returns for each item, 16 at a time."""
    found: dict[int, _Answer] = {}
    limiter = anyio.CapacityLimiter(_CALLS_AT_ONCE)

    async def call(index: int, item: _Item) -> None:
        async with limiter:
            found[index] = await work(item)

    async with anyio.create_task_group() as group:
        for index, item in enumerate(items):
            group.start_soon(call, index, item)
    return [answer for _, answer in sorted(found.items())]


async def send(client: ApiClient, changes: Sequence[Sent], *, together: bool = False) -> None:
    """Carry out ``changes`` in their order.

    A request that the server rejects as too large is halved, unless the changes must go ``together``; requests before
    another rejection stay done. Raises ``CommandError``, naming ``file:line`` of the rejected resource if the server
    names it.
    """
    waiting = [list(changes)] if changes else []
    while waiting:
        chunk = waiting.pop()
        try:
            await client.sync([sent.change for sent in chunk])
        except Rejected as error:
            if together and error.status in STALE:
                raise Stale((await _explained(client, error, chunk, first_only=True)).what) from None
            if error.status != _TOO_MANY_OPERATIONS or len(chunk) == 1 or together:
                raise await _explained(client, error, chunk) from None
            middle = len(chunk) // 2
            waiting += [chunk[middle:], chunk[:middle]]


async def _explained(
    client: ApiClient, error: Rejected, chunk: Sequence[Sent], *, first_only: bool = False
) -> CommandError:
    """The rejection with the resource's name and line, and names in place of uuids."""
    message = await with_names(client, error.what)
    if error.item is None or error.item >= len(chunk):
        return CommandError(message, where=error.where, next_step=error.next_step, code=error.code)
    resource = chunk[error.item].resource
    if first_only or len(error.rejected) < 2:
        return error.about(with_resource_name(resource, message), place_of(resource, message))
    found = [(chunk[item].resource, detail) for item, detail in error.rejected.items() if item < len(chunk)]
    named = [(one, await with_names(client, detail)) for one, detail in found]
    lines = [f"{place_of(one, detail)}: {with_resource_name(one, detail)}" for one, detail in named]
    return error.about("\n  ".join([f"{len(lines)} resources are rejected:", *lines]), "")


async def with_names(client: ApiClient, message: str) -> str:
    """A server's message with names in place of uuids."""
    for kind, uuid in dict.fromkeys(_HOLDER.findall(message)):
        name = await client.name_of(uuid)
        if name:
            message = message.replace(f"{kind}/{uuid}", f"{kind} {name}")
    return message


def print_actions(output: str, done: Iterable[tuple[str, Sequence[str], str]], revision: int) -> None:
    """Print (kind, fq_name, action): ``{"results": [{"kind", "fq_name", "action"}], "revision"}``, or a table."""
    results = [{"kind": kind, "fq_name": fq_name, "action": action} for kind, fq_name, action in done]
    rows = [(str(one["kind"]), ":".join(one["fq_name"]), str(one["action"])) for one in results]
    print_document(output, {"results": results, "revision": revision}, ("kind", "name", "action"), rows)


class Applied(NamedTuple):
    """The action for each resource, and the etcd revision that includes all of them."""

    actions: list[str]
    revision: int


async def apply_resources(resources: Sequence[Loaded], schema: Schema, configuration: Configuration) -> Applied:
    """Create ``resources``, or update those that differ from the stored ones. Raises ``InvalidInput`` and
    ``CommandError``."""
    async with api_client(configuration) as client:
        return await apply_by(client, resources, schema)


async def apply_by(
    client: ApiClient, resources: Sequence[Loaded], schema: Schema, seen: Mapping[Key, int] | None = None
) -> Applied:
    """Apply ``resources`` at the server of ``client``. ``seen``: the revisions that all of them must still have; then
    they go in one transaction, and ``Stale`` is raised if one has another revision."""
    actions: list[str] = []
    changes: list[Sent] = []
    uuids = await present(client, resources, schema)

    async def stored(named: tuple[Loaded, str | None]) -> Meant | None:
        """The resource as the server has it; None without a uuid, or if it was deleted since."""
        resource, uuid = named
        return await read(client, schema.kind(resource.kind), uuid) if uuid else None

    there_now = await _for_each(zip(resources, uuids, strict=True), stored)
    for resource, uuid, found in zip(resources, uuids, there_now, strict=True):
        kind, data = resource.kind, resource.data
        there = found.data if found is not None else None
        if resource.whole and there is not None:
            data = replacing(schema.kind(kind), data, there)
        if not uuid:
            actions.append("created")
            changes.append(Sent(resource, Change("CREATE", kind, data, must_be_new=seen is not None)))
            continue
        revision = None if seen is None else seen.get(Key(kind, uuid), 0)
        if found is not None and found.data is None:
            # Only a whole resource with this name replaces a value that can't be read.
            actions.append("replaced")
            changes.append(
                Sent(resource, Change("UPDATE", kind, {"fq_name": found.fq_name, **data, "uuid": uuid}, revision))
            )
        elif there is not None and says_the_same(data, there):
            actions.append("unchanged")
            if seen is not None:
                changes.append(Sent(resource, Change("UPDATE", kind, {"uuid": uuid}, revision)))
        else:
            actions.append("updated")
            changes.append(Sent(resource, Change("UPDATE", kind, {**data, "uuid": uuid}, revision)))
    await send(client, changes, together=seen is not None)
    return Applied(actions, client.revision)


_COMPLETED = frozenset({"id_perms", "perms2"})
"""Fields whose parts the server keeps if the client does not send them."""

_GIVEN_BY_SERVER = frozenset(
    {"rule_uuid", "created", "last_modified", "subnet_uuid", "default_gateway", "dns_server_address"}
)
"""Fields inside properties and attributes that the server fills in, and keeps if the client does not send them."""


def says_the_same(wanted: Mapping[str, Any], stored: Mapping[str, Any]) -> bool:
    """Whether an update of ``stored`` (from the server) with ``wanted`` (from a file) changes nothing."""
    return all(_same_field(name, value, stored.get(name)) for name, value in wanted.items())


def replacing(kind: Kind, whole: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """``whole``, a complete resource from a user, with null for user fields that only ``stored`` has."""
    return dict.fromkeys(sorted(kind.user_fields & stored.keys())) | dict(whole)


def _same_field(name: str, wanted: Any, stored: Any) -> bool:
    wanted, stored = without_nulls(wanted), without_nulls(stored)
    if name == "parent_type":
        return kebab(str(wanted or "")) in ("", kebab(str(stored or "")))
    if name == METADATA:
        return _same_metadata(wanted or {}, stored or {})
    if name.endswith("_refs") and isinstance(wanted, list):
        return _same_references(wanted, stored or [])
    if wanted in (None, ""):
        return stored in (None, "")
    return not compare(wanted, stored, _WITHIN if name in _COMPLETED else _FILLED_IN)


def _same_metadata(wanted: Any, stored: Any) -> bool:
    """Whether the labels and annotations are equal, and everything else that is wanted and not the server's."""
    if not isinstance(wanted, dict) or not isinstance(stored, dict):
        return False
    parts = {*CLAIMED, *(wanted.keys() - OF_SERVER)}
    return all((wanted.get(part) or None) == (stored.get(part) or None) for part in parts)


class _FilledIn(Within):
    """Fields that only the stored resource has are no difference if the server fills them in."""

    def names(self, before: Mapping[str, Any], after: Mapping[str, Any], /) -> Iterable[str]:
        return {*before, *(after.keys() - _GIVEN_BY_SERVER)}


_WITHIN, _FILLED_IN = Within(), _FilledIn()


def _same_references(wanted: list[Any], stored: list[Any]) -> bool:
    """Whether both have the same targets with the same attributes, in any order."""
    if len(wanted) != len(stored) or not all(isinstance(entry, dict) for entry in wanted):
        return False
    by_uuid = {entry.get("uuid"): entry for entry in stored}
    by_name = {":".join(entry.get("to") or ()): entry for entry in stored}
    found = [
        by_uuid.get(entry["uuid"]) if entry.get("uuid") else by_name.get(":".join(map(str, entry.get("to") or ())))
        for entry in wanted
    ]
    return all(
        there is not None and not compare(entry.get("attr") or {}, there.get("attr") or {}, _FILLED_IN)
        for entry, there in zip(wanted, found, strict=True)
    ) and len({id(there) for there in found}) == len(stored)
