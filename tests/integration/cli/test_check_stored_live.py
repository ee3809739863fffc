"""``intentc check --live``: names what others wrote straight into etcd against the API server's rules."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from intentc.watch.protocol import Put
from tests.support.commands import Intentc
from tests.support.live_system import PROJECT, LiveSystem

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

UUID = "00000000-0000-4000-8000-0000000000{:02}"


async def test_each_stored_value_that_breaks_a_rule_is_named(world: LiveSystem, intentc: Intentc) -> None:
    clean = await intentc("check", "--live", "-o", "json")
    assert clean.code == 0, clean.err
    group = await world.create("security_group", "group")
    project = {"parent_type": "project"}

    async def put(number: int, name: str, **fields: Any) -> str:
        value = msgspec.json.encode({"fq_name": [*PROJECT, name], **project, **fields})
        key = f"/{world.path}/security_group/{UUID.format(number)}"
        await world.store.transaction([], [Put(key, value)])
        return key

    duplicate = await put(1, "group")
    mismatch = await put(2, "other", uuid=UUID.format(9))
    orphan = await put(3, "orphan", parent_uuid=UUID.format(8))
    dangling = await put(4, "dangling", tag_refs=[{"uuid": UUID.format(7), "to": ["label=x"]}])
    await world.store.transaction([], [Put(f"/{world.path}/alone", b"x"), Put(f"/{world.path}/cow/1", b"x")])

    found = await intentc("check", "--live", "-o", "json")
    assert found.code == 3
    named = {one["source"]: (one["reason"], one["message"]) for one in found.json["findings"]}
    assert named[duplicate][0] == "DuplicateName" and group in named[duplicate][1]
    assert named[mismatch][0] == "Unreadable" and UUID.format(9) in named[mismatch][1]
    assert named[orphan][0] == "DanglingParent" and UUID.format(8) in named[orphan][1]
    assert named[dangling][0] == "DanglingReference" and UUID.format(7) in named[dangling][1]
    assert named[f"/{world.path}/alone"][0] == "OtherKey"
    assert named[f"/{world.path}/cow/1"][0] == "UnknownKind"
