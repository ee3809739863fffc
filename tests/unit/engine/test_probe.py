"""The API server is asked regularly when nothing is written, so that readiness is current."""

from __future__ import annotations

import anyio
import pytest

from intentc.engine.api_throttle import ApiServerProbe, ApiThrottle
from intentc.model import Key, Name
from intentc.reconcile.failures import Rejected, Throttled, Unavailable
from intentc.writing.interfaces import Allocation, ReadBack
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


class Server:
    """Answers with ``error``, with nothing, or, if it ``hangs``, not at all."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.hangs = False
        self.asked = anyio.Event()

    async def identify(self, name: Name, /) -> Key | None:
        self.asked.set()
        if self.hangs:
            await anyio.sleep_forever()
        if self.error is not None:
            raise self.error
        return None

    async def read(self, key: Key, /) -> ReadBack | None:
        raise NotImplementedError

    async def all_allocations(self, owner_prefix: str, /) -> tuple[Allocation, ...]:
        raise NotImplementedError


@pytest.fixture
def server() -> Server:
    return Server()


async def test_the_probe_notices_an_unreachable_server_and_its_return(server: Server) -> None:
    throttle: ApiThrottle = ApiThrottle()
    probe = ApiServerProbe(server, throttle, "project")
    for error, reachable in (
        (None, True),
        (Unavailable("connection refused"), False),
        (Rejected(403, "no"), True),
        (Unavailable("again"), False),
        (Throttled(1.0, "etcd is away"), True),
    ):
        server.error = error
        await probe.ask()
        assert throttle.reachable is reachable, error


async def test_a_server_that_takes_connections_and_does_not_answer_is_away(server: Server) -> None:
    throttle: ApiThrottle = ApiThrottle()
    server.hangs = True
    await ApiServerProbe(server, throttle, "project", period=0.01).ask()
    assert not throttle.reachable


async def test_it_asks_by_itself_while_nothing_is_heard(server: Server) -> None:
    throttle: ApiThrottle = ApiThrottle()
    server.error = Unavailable("connection refused")
    async with anyio.create_task_group() as group:
        group.start_soon(ApiServerProbe(server, throttle, "project", period=0.01).run)
        with anyio.fail_after(PATIENCE):
            await server.asked.wait()
        group.cancel_scope.cancel()
    assert not throttle.reachable
