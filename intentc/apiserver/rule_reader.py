"""Reads the other resources on which the rules of a kind depend, in their state after the request.

Why it exists: what a rule has read must still hold when the draft is committed, and a value that can't be read must not
block a request about another resource: it counts as absent.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc.model import Key, Name

from .documents import Document
from .draft import Draft


class Reader:
    """The resources of a draft, as rules see them."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft

    async def by_uuid(self, kind: str, uuid: str) -> Document | None:
        """The resource with this uuid."""
        return await self._draft.readable(Key(kind, uuid))

    async def by_name(self, name: Name, *, is_guarded: bool = False) -> Document | None:
        """The resource with this name. ``is_guarded``: the commit fails if it changes."""
        uuid = await self._draft.find(name)
        if uuid is None:
            return None
        if is_guarded:
            await self._draft.guard(self._draft.layout.value(Key(name.kind, uuid)))
        return await self.by_uuid(name.kind, uuid)

    async def children(self, uuid: str, kind: str) -> list[Document]:
        """All children of one kind. The commit fails if another one is added."""
        return await self._readable(await self._draft.children(uuid, kind))

    async def every(self, kind: str) -> list[Document]:
        """All resources of a kind. The commit fails if one is added or changed."""
        return await self._readable(await self._draft.every(kind))

    async def following(self, documents: Iterable[Document | None], *path: str) -> list[Document]:
        """What these resources refer to by the relations of ``path``, one after the other. The commit fails if one of
        the results changes."""
        found = [document for document in documents if document is not None]
        for relation in path:
            entries = [entry for document in found for entry in document.get(f"{relation}_refs") or ()]
            found = await self._readable(Key(relation, entry["uuid"]) for entry in entries if entry.get("uuid"))
        for document in found:
            await self._draft.guard(self._draft.layout.value(Key(path[-1], document["uuid"])))
        return found

    async def referrers(self, targets: Iterable[Key], kind: str) -> list[Document]:
        """The resources of a kind that refer to one of ``targets``. The commit fails if another one is added."""
        return await self._readable([key for target in targets for key in await self._draft.referrers(target, kind)])

    async def _readable(self, keys: Iterable[Key]) -> list[Document]:
        keys = list(dict.fromkeys(keys))
        await self._draft.load(keys)
        documents = [await self._draft.readable(key) for key in keys]
        return [document for document in documents if document is not None]
