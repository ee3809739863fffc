"""The short form of ``make chaos``: three rounds of faults on a three-member etcd, two API servers, three compilers."""

from __future__ import annotations

from pathlib import Path

import pytest

from intentc.plugins import find_compilers, load_all
from tests.chaos.cluster_system import running_cluster_system
from tests.chaos.rounds import play
from tests.faults.scale_writing import seeded

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]


async def test_three_rounds_of_faults_leave_what_a_compile_from_nothing_would_give(tmp_path: Path) -> None:
    chance = seeded()
    async with running_cluster_system(tmp_path, load_all(find_compilers(["contrail"]))) as system:
        for _ in range(3):
            print(await play(system, chance.randrange(2**32), faults=2, period=1.5))
