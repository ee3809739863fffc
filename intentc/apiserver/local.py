"""Implements the writing stage's two interfaces on an API server in the same process, without HTTP.

Why it exists: the offline compile and the engine's tests write through the same admission and the same transactions as
a live system. Errors are interpreted by the code that reads HTTP answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

import msgspec

from intentc.model import AddReference, Create, Delete, Key, Name, RemoveReference, Update, UpdateStatus
from intentc.model.values import thaw
from intentc.writing.answers import Answer as HttpAnswer
from intentc.writing.answers import failure
from intentc.writing.encode import Mutation, encode_mutation
from intentc.writing.interfaces import Allocation, ReadBack, Written

from .api_server import ApiServer, Call
from .documents import encode
from .errors import ApiError, NotFound
from .mutation import Fence
from .queries import View
from .references import ReferenceUpdate
from .resources import NO_CONDITION, Condition

Result = TypeVar("Result")


class LocalWriteService:
    """``WriteService`` and ``ReadService`` over ``server``. ``pools``: the pools that ``all_allocations`` reads."""

    def __init__(self, server: ApiServer, *, pools: Sequence[str] = ()) -> None:
        self._server = server
        self._pools = tuple(pools)

    async def create(self, operation: Create, fence: str | None = None, /) -> Written:
        mutation = encode_mutation(operation, self._server.schema)
        call = _call(fence, Condition(must_be_new=True))
        answer = self._server.create(operation.kind, _plain(mutation), relaxed=mutation.relaxed, call=call)
        return Written((await _answered(answer, relates=mutation.relates)).revision)

    async def update(self, operation: Update, fence: str | None = None, /) -> Written:
        mutation = encode_mutation(operation, self._server.schema)
        call = _call(fence, Condition(operation.revision))
        answer = self._server.update(
            operation.key, _plain(mutation), paths=mutation.mask, relaxed=mutation.relaxed, call=call
        )
        return Written((await _answered(answer, relates=mutation.relates)).revision)

    async def update_status(self, operation: UpdateStatus, fence: str | None = None, /) -> Written:
        mutation = encode_mutation(operation, self._server.schema)
        answer = self._server.update_status(operation.key, _plain(mutation), items=mutation.mask, call=_call(fence))
        return Written((await _answered(answer)).revision)

    async def delete(self, operation: Delete, fence: str | None = None, /) -> Written:
        call = _call(fence, Condition(operation.revision))
        return Written(await _answered(self._server.delete(operation.key, call=call)))

    async def add_ref(self, operation: AddReference, fence: str | None = None, /) -> Written:
        attribute = operation.target.attribute
        update = ReferenceUpdate(
            operation.key,
            operation.relation,
            True,
            operation.target.key.uuid,
            operation.target.fq_name,
            None if attribute is None else thaw(attribute),
            operation.relaxed,
        )
        return Written(await _answered(self._server.update_reference(update, call=_call(fence)), relates=True))

    async def remove_ref(self, operation: RemoveReference, fence: str | None = None, /) -> Written:
        update = ReferenceUpdate(operation.key, operation.relation, False, operation.target.uuid)
        return Written(await _answered(self._server.update_reference(update, call=_call(fence)), relates=True))

    async def allocate(self, pool: str, owner: str, fence: str | None = None, /) -> int:
        value, _ = await _answered(self._server.allocate(pool, owner, fence=_fence(fence)))
        return value

    async def free(self, pool: str, owner: str, value: int, fence: str | None = None, /) -> None:
        await _answered(self._server.free(pool, value=value, owner=owner, fence=_fence(fence)))

    async def read(self, key: Key, /) -> ReadBack | None:
        try:
            document, revision = await self._server.get(key, View(sealed=True))
        except NotFound:
            return None
        except ApiError as error:
            raise _failure(error) from None
        return ReadBack(encode(document), revision)

    async def identify(self, name: Name, /) -> Key | None:
        try:
            return Key(name.kind, await self._server.identify(name.kind, name.fq_name))
        except NotFound:
            return None
        except ApiError as error:
            raise _failure(error) from None

    async def allocations(self, pool: str, owner_prefix: str, /) -> dict[str, int]:
        return {held.owner: held.value for held in await _answered(self._server.held(pool, owner_prefix))}

    async def all_allocations(self, owner_prefix: str, /) -> tuple[Allocation, ...]:
        return tuple(
            [
                Allocation(*held)
                for pool in self._pools
                for held in await _answered(self._server.held(pool, owner_prefix))
            ]
        )


def _plain(mutation: Mutation) -> Any:
    return msgspec.json.decode(mutation.data)


def _fence(text: str | None) -> Fence | None:
    return None if text is None else Fence.parse(text)


def _call(fence: str | None, condition: Condition = NO_CONDITION) -> Call:
    return Call(condition=condition, fence=_fence(fence))


async def _answered(call: Awaitable[Result], *, relates: bool = False) -> Result:
    try:
        return await call
    except ApiError as error:
        raise _failure(error, relates=relates) from None


def _failure(error: ApiError, *, relates: bool = False) -> Exception:
    return failure(HttpAnswer(error.status, {}, encode({"message": error.message})), relates=relates)
