"""Access lists are parsed once for each change of them, however many requests they decide."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.apiserver import permissions
from intentc.apiserver.api_server import ApiServer, Call
from intentc.apiserver.authorization import Caller, Mode, Policy, rules_in
from intentc.apiserver.startup import write_seeds
from intentc.model import Key, Schema
from intentc.watch.memory import MemoryStore

from .conftest import PROJECT, rejected

pytestmark = pytest.mark.anyio

ADMIN = Caller(roles=frozenset({"admin"}))
MEMBER = Caller("x", frozenset({"member"}), project_name=PROJECT[1], domain_name=PROJECT[0])


def rules(crud: str) -> dict[str, Any]:
    own = {"rule_object": "virtual-network", "rule_perms": [{"role_name": "member", "role_crud": crud}]}
    others = [{"rule_object": f"other{number}", "rule_perms": []} for number in range(1_000)]
    return {"rbac_rule": [*others, own]}


async def test_a_list_is_parsed_again_only_if_it_changes(
    store: MemoryStore, schema: Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[Any] = []

    def counted(entries: Any) -> Any:
        parsed.append(entries)
        return rules_in(entries)

    monkeypatch.setattr(permissions, "rules_in", counted)
    server = ApiServer(store, schema, policy=Policy(Mode.RBAC))
    await write_seeds(server)
    names = {"fq_name": [PROJECT[0], "l"], "parent_type": "domain"}
    made = await server.create("api_access_list", {**names, "api_access_list_entries": rules("C")}, call=Call(ADMIN))

    async def read() -> None:
        await server.may_read(schema.kind("virtual_network"), MEMBER)

    for _ in range(3):
        with rejected(403, "virtual-network"):
            await read()
    once = len(parsed)
    assert sum(len((entries or {}).get("rbac_rule", ())) > 1_000 for entries in parsed) == 1
    key = Key("api_access_list", made.document["uuid"])
    await server.update(key, {"api_access_list_entries": rules("R")}, call=Call(ADMIN))
    for _ in range(3):
        await read()
    assert len(parsed) == once + 1
    await server.delete(key, call=Call(ADMIN))
    with rejected(403, "virtual-network"):
        await read()
