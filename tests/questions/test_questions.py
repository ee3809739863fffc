"""Each question of a bad night is answered correctly; ``python -m tests.questions`` asks them of a big system."""

from __future__ import annotations

from pathlib import Path

import pytest

from intentc.dev.etcd_server import Etcd
from intentc.watch.etcd import EtcdStore
from tests.integration.conftest import fresh_etcd, fresh_etcd_store
from tests.questions.questioned_system import running_questioned_system
from tests.questions.questions import QUESTIONS

__all__ = ["fresh_etcd", "fresh_etcd_store"]

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]


async def test_every_question_of_a_bad_night_is_answered_correctly(
    fresh_etcd: Etcd, fresh_etcd_store: EtcdStore, tmp_path: Path
) -> None:
    async with running_questioned_system(fresh_etcd, fresh_etcd_store, tmp_path, groups=60, networks=20) as system:
        for question in QUESTIONS:
            await question(system)
