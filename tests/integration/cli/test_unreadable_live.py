"""What lies in etcd and can't be read: shown, named, and deleted or replaced by the commands that messages name."""

from __future__ import annotations

import re
import shlex

import msgspec
import pytest

from intentc.watch.protocol import Put
from tests.support.commands import Ended, Intentc
from tests.support.live_system import PROJECT, LiveSystem

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

_DELETES = re.compile(r"`intentc (delete --kind security_group [^`]+)`")


async def test_every_unreadable_key_is_named_and_goes_by_the_command_that_names_it(
    world: LiveSystem, intentc: Intentc
) -> None:
    broken = await world.create("security_group", "broken")
    service = intentc.start()
    await service.settled(world.revision)
    address = (await service.url()).removeprefix("http://")

    async def run(*arguments: object) -> Ended:
        return await intentc(*arguments, environment={"INTENTC_INTENTC__DIAGNOSTICS__ADDRESS": address})

    prefix = f"/{world.path}/security_group/"
    odd = ("\udcff\udcfe", "not-a-uuid", "a/b")
    puts = [Put(f"{prefix}{name}", b"no JSON") for name in odd]
    done = await world.store.transaction((), [*puts, Put(f"{prefix}{broken}", b"no JSON either")])
    await service.settled(done.revision)

    for path in ("/status", "/quarantine", "/objects", "/why?kind=security_group&name=%25FF%25FE"):
        assert (await service.get(path)).status_code == 200, path
    assert (await run("status")).code == 5
    shown = await run("quarantine", "list", "-o", "json")
    states = {entry["uuid"]: entry["state"] for entry in shown.json["quarantine"]}
    assert states == dict.fromkeys(("%FF%FE", "not-a-uuid", "a%2Fb", broken), "unreadable")
    listed = await run("get", "security_group")
    assert listed.code == 0 and all(f"{prefix}{name}" in listed.err for name in ("\\xff\\xfe", "not-a-uuid", "a/b"))
    assert (await run("audit")).code == 5

    # What says its name can be replaced by it, since the API server's index knows the key.
    document = {"kind": "security_group", "data": {"fq_name": [*PROJECT, "broken"], "parent_type": "project"}}
    file = intentc.configuration.with_name("broken.json")
    file.write_bytes(msgspec.json.encode({"resources": [document]}))
    assert (await run("plan", file)).code == 0
    applied = await run("apply", file, "-o", "json")
    assert [result["action"] for result in applied.json["results"]] == ["replaced"], applied.err

    left = await run("quarantine", "list", "-o", "json")
    commands = [_DELETES.search(entry["message"]) for entry in left.json["quarantine"]]
    assert len(commands) == len(odd)
    for command in commands:
        assert command is not None
        deleted = await run(*shlex.split(command[1]))
        assert deleted.code == 0, deleted.err
    await service.settled(world.revision)
    assert (await run("status")).code == 0
