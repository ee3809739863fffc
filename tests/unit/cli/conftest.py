"""What the tests of commands share: a toy API server, and a command line run in this process."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from intentc.cli.entry import run
from tests.support.forking import Ended
from tests.unit.cli.ordering_etcd import OrderingEtcd
from tests.unit.cli.running import Intentc
from tests.unit.cli.toy_api_server import ToyApiServer, serving


@pytest.fixture
def server() -> Iterator[ToyApiServer]:
    with serving() as running:
        yield running


@pytest.fixture
def intentc(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Intentc]:
    """Runs ``intentc`` with these arguments; the environment's own settings don't count."""
    monkeypatch.delenv("INTENTC_CONFIG_FILE", raising=False)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level

    def call(*arguments: object) -> Ended:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        return Ended(code, *capsys.readouterr())

    yield call
    root.handlers[:], root.level = handlers, level


@pytest.fixture
def connected(server: ToyApiServer, monkeypatch: pytest.MonkeyPatch) -> ToyApiServer:
    """The toy API server, which the commands find by the environment; it answers for the compiler's status, too."""
    monkeypatch.setenv("INTENTC_CLIENT__ENDPOINT", server.url)
    monkeypatch.setenv("INTENTC_INTENTC__DIAGNOSTICS__ADDRESS", server.url.removeprefix("http://"))
    return server


@pytest.fixture
def etcd(monkeypatch: pytest.MonkeyPatch) -> OrderingEtcd:
    """The etcd that commands find, in memory."""
    found = OrderingEtcd()
    monkeypatch.setattr("intentc.cli.connecting.etcd_store", lambda configuration: found.store)
    return found
