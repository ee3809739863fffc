"""Lists resources as manifests: by selectors, page by page, all at one revision.

Why it exists: a client that lists and then watches must see each state of a resource exactly once in between, so a list
names its revision, and all its pages read that one. Values that can't be read, and resources that the caller may not
read, are left out. ``queries.py`` lists for the REST API.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from intentc.model import Key
from intentc.reconcile.failures import Failure
from intentc.watch.protocol import Compacted, FutureRevision

from ..api_server import ApiServer
from ..authorization import READ, Caller, Operation
from ..errors import Malformed, from_store
from ..permissions import Access
from .catalog import Offered
from .options import ListOptions, Position, Selector, continuation
from .shown import Kept, Manifest, decode_kept, manifest, with_kept
from .status_errors import Answered, Expired

_FOR_ANSWERS = 500
"""Resources whose ``managedFields`` a list shows; larger lists are for programs, which don't read them."""


class Listed(NamedTuple):
    """The manifests of one page, by namespace and name; the list's revision; where to go on, if there is more."""

    items: list[Manifest]
    revision: int
    position: Position | None = None

    @property
    def metadata(self) -> dict[str, Any]:
        """As the list's ``metadata``."""
        more = {"continue": continuation(self.position)} if self.position is not None else {}
        return {"resourceVersion": str(self.revision), **more}


async def find(server: ApiServer, offered: Offered, namespace: str, options: ListOptions, caller: Caller) -> Listed:
    """The resources that are selected and that the caller may read. ``namespace``: empty for all."""
    draft = server.draft()
    access = await server.permissions.access(draft, caller)
    access.rule(offered.kind, Operation.READ)
    prefix = draft.layout.values(offered.kind.name)
    start, revision = prefix, options.revision if options.exactly else 0
    if options.position is not None:
        start, revision = options.position.start, options.position.revision
        if not start.startswith(prefix):
            raise Answered(400, "BadRequest", "continue belongs to another list; list again without it")
    found: list[Manifest] = []
    position = None
    try:
        async for item, document in draft.values(offered.kind, start, revision):
            if isinstance(document, Malformed) or not is_shown(document, offered, namespace, access):
                continue
            shown = manifest(offered, document, item.mod_revision)
            if options.selector.matches(shown["metadata"]):
                if options.limit and len(found) == options.limit:
                    position = Position(draft.reading.revision, item.key)
                    break
                found.append(shown)
    except Compacted:
        raise Expired(
            f"the revision {revision} is compacted; list again without continue and resourceVersion"
        ) from None
    except FutureRevision:
        raise Answered(504, "Timeout", f"Too large resource version: {revision}") from None
    except Failure as error:
        raise from_store(error, writing=False) from error
    found.sort(key=lambda one: (one["metadata"].get("namespace", ""), one["metadata"]["name"]))
    return Listed(found, draft.reading.revision, position)


def is_shown(document: dict[str, Any], offered: Offered, namespace: str, access: Access) -> bool:
    """Whether a resource is in the namespace, and the caller may read it."""
    fq_name = document["fq_name"]
    if len(fq_name) != (2 if offered.is_namespaced else 1):
        return False
    return (not namespace or fq_name[0] == namespace) and access.allows(document, READ)


def selects(selector: Selector, document: dict[str, Any], offered: Offered) -> bool:
    """Whether a stored resource is selected."""
    return not selector or selector.matches(manifest(offered, document, 0)["metadata"])


async def with_all_kept(server: ApiServer, offered: Offered, items: list[Manifest]) -> list[Manifest]:
    """``items`` with what is kept next to them, unless they are many."""
    if len(items) > _FOR_ANSWERS:
        return items
    draft = server.draft()
    keys = [Key(offered.kind.name, one["metadata"]["uid"]) for one in items]
    places = [draft.layout.beside(key) for key in keys]
    await draft.reading.load(places)
    result = []
    for one, where in zip(items, places, strict=True):
        item = await draft.reading.item(where)
        result.append(with_kept(one, decode_kept(item.value, where) if item is not None else Kept()))
    return result
