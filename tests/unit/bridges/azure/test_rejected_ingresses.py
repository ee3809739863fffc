"""No record of a search outlives it, whichever write of a record fails."""

from __future__ import annotations

from contextlib import suppress

import pytest

from intentc.bridges.azure.compiled_world import SUSPECTED, Digests, World
from intentc.bridges.azure.document import parts_of
from intentc.bridges.azure.pfx import Pair
from intentc.bridges.azure.rejections import RejectedIngresses, Rejection
from intentc.reconcile.failures import Failure

pytestmark = pytest.mark.anyio
NAMES = ("a", "b", "c", "d", "e")


class FailingRecords:
    """Write number ``fails`` raises an error; it arrives if ``arrives``."""

    def __init__(self, fails: int, arrives: bool) -> None:
        self.codes: dict[str, str] = {}
        self._left = fails
        self._arrives = arrives

    async def reject(self, ingress: str, digests: Digests, rejection: Rejection) -> None:
        is_failing = self._is_failing()
        if self._arrives or not is_failing:
            self.codes[ingress] = rejection.code
        if is_failing:
            raise Failure("the API server does not answer")

    async def release(self, ingress: str) -> None:
        is_failing = self._is_failing()
        if self._arrives or not is_failing:
            self.codes.pop(ingress, None)
        if is_failing:
            raise Failure("the API server does not answer")

    def _is_failing(self) -> bool:
        self._left -= 1
        return self._left == 0

    def world(self) -> World:
        names = [name for name in NAMES if f"n:{name}" not in self.codes]
        return World(
            parts_of([{"kind": "appgw_owner", "fq_name": ["n", name], "created": "2026"} for name in names]),
            {f"n:{name}": "digest" for name in names},
            _no_secret,
        )


def _no_secret(name: str) -> Pair:
    raise ValueError(name)


@pytest.mark.parametrize("arrives", [False, True])
@pytest.mark.parametrize("fails", range(1, 6))
async def test_a_failed_write_leaves_no_ingress_suspected(fails: int, arrives: bool) -> None:
    records = FailingRecords(fails, arrives)
    ingresses = RejectedIngresses(records)
    rejection = Rejection("SomethingIsWrong", "Something is wrong.")
    with suppress(Failure):
        await ingresses.on_rejected(records.world(), {"properties": {}}, rejection)
    for _ in range(60):
        with suppress(Failure):
            if await ingresses.is_ready(records.world()):
                await ingresses.on_accepted(records.world())
    assert SUSPECTED not in records.codes.values()
