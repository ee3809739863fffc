"""People who write at random: creating, changing and deleting resources, and editing and deleting what compilers made.

Names come from small pools, so that writers meet. Each request may fail, since servers and etcd are broken meanwhile;
what it changed is not remembered, but asked for anew. What should follow is judged from what lies in etcd at the end.
"""

from __future__ import annotations

import random
import uuid
from collections import Counter
from typing import Any

import anyio
import httpx2

from tests.support.contrail_content import EVERYWHERE, LOCAL, group, rule, rules, targets
from tests.support.live_system import PROJECT

Json = dict[str, Any]

GROUPS = tuple(f"group-{number}" for number in range(12))
NETWORKS = tuple(f"network-{number}" for number in range(8))
_TIMEOUT = 5.0
_PAUSE = 0.02


class Writers:
    """``urls``: of the API servers. ``answers``: status → how often; 0 for none."""

    def __init__(self, urls: list[str], chance: random.Random) -> None:
        self._urls = urls
        self._chance = chance
        self.answers: Counter[int] = Counter()
        self.revision = 0
        """The newest that a server named."""
        self.edits = 0
        """How often an object that a compiler made was changed or deleted."""

    async def write(self, writers: int) -> None:
        """So many people write, until cancelled."""
        async with anyio.create_task_group() as group_:
            for _ in range(writers):
                group_.start_soon(self._one_person)

    async def _one_person(self) -> None:
        async with httpx2.AsyncClient(trust_env=False, verify=False, timeout=_TIMEOUT) as client:
            while True:
                try:
                    await self._something(client)
                except httpx2.HTTPError:
                    self.answers[0] += 1
                await anyio.sleep(_PAUSE * self._chance.uniform(0.0, 2.0))

    async def _something(self, client: httpx2.AsyncClient) -> None:
        drawn, url = self._chance.random(), self._chance.choice(self._urls)
        if drawn < 0.45:
            await self._put(client, url, "security-group", self._chance.choice(GROUPS), self._rules())
        elif drawn < 0.65:
            some = targets(*{f"target:{self._chance.randrange(1, 9)}:1" for _ in range(2)})
            field = self._chance.choice(("route_target_list", "import_route_target_list"))
            await self._put(client, url, "virtual-network", self._chance.choice(NETWORKS), {field: some})
        elif drawn < 0.80:
            kind, names = self._chance.choice((("security-group", GROUPS), ("virtual-network", NETWORKS)))
            found = await self._uuid(client, url, kind, [*PROJECT, self._chance.choice(names)])
            if found:
                self._note(await client.delete(f"{url}/{kind}/{found}"))
        else:
            await self._meddle(client, url)

    async def _meddle(self, client: httpx2.AsyncClient, url: str) -> None:
        """Empty or delete an access control list, or take a route target from a routing instance."""
        if self._chance.random() < 0.7:
            name = [*PROJECT, self._chance.choice(GROUPS), "ingress-access-control-list"]
            found = await self._uuid(client, url, "access-control-list", name)
            if not found:
                return
            place = f"{url}/access-control-list/{found}"
            if self._chance.random() < 0.5:
                self._note(await client.delete(place))
            else:
                emptied: Json = {"access-control-list": {"access_control_list_entries": {"acl_rule": []}}}
                self._note(await client.put(place, json=emptied))
        else:
            network = self._chance.choice(NETWORKS)
            found = await self._uuid(client, url, "routing-instance", [*PROJECT, network, network])
            if not found:
                return
            without: Json = {"routing-instance": {"route_target_refs": []}}
            self._note(await client.put(f"{url}/routing-instance/{found}", json=without))
        self.edits += 1

    async def _put(self, client: httpx2.AsyncClient, url: str, kind: str, name: str, fields: dict[str, Any]) -> None:
        found = await self._uuid(client, url, kind, [*PROJECT, name])
        if found:
            self._note(await client.put(f"{url}/{kind}/{found}", json={kind: fields}))
        else:
            body = {"fq_name": [*PROJECT, name], "parent_type": "project", **fields}
            self._note(await client.post(f"{url}/{kind}s", json={kind: body}))

    async def _uuid(self, client: httpx2.AsyncClient, url: str, kind: str, name: list[str]) -> str:
        answer = await client.post(f"{url}/fqname-to-id", json={"type": kind, "fq_name": name})
        return str(answer.json()["uuid"]) if answer.status_code == 200 else ""

    def _note(self, answer: httpx2.Response) -> None:
        assert answer.status_code != 500, f"{answer.request.method} {answer.request.url}: {answer.text}"
        self.answers[answer.status_code] += 1
        self.revision = max(self.revision, int(answer.headers.get("X-Etcd-Revision", 0)))

    def _rules(self) -> dict[str, Any]:
        others = [group(name) for name in self._chance.sample(GROUPS, 2)]
        return rules(
            rule(self._new_uuid(), [EVERYWHERE, *others], LOCAL),
            rule(self._new_uuid(), LOCAL, EVERYWHERE, protocol=str(self._chance.randrange(1, 250))),
        )

    def _new_uuid(self) -> str:
        return str(uuid.UUID(int=self._chance.getrandbits(128), version=4))
