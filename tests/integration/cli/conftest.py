"""The command line as people and service managers call it: processes beside a real etcd and a real API server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from intentc.embedded import Etcd
from tests.integration.cli.processes import Intentc
from tests.integration.compile.fixtures import bare_world, loaded, world
from tests.integration.compile.world import World

__all__ = ["bare_world", "loaded", "world"]


@pytest.fixture
def intentc(etcd: Etcd, world: World, tmp_path: Path) -> Iterator[Intentc]:
    """Commands with a configuration file that names this test's servers; what still runs at the end is killed."""
    commands = Intentc(tmp_path, etcd.endpoint, world)
    yield commands
    commands.kill_all()
