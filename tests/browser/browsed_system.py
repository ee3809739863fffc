"""A live system with its diagnostics in this process, and the browser that shows their pages.

The browser is the ``chromium`` of the distribution, which the distribution updates; Playwright only steers it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx2
import msgspec
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, Request, Response, async_playwright

from intentc.dev.etcd_server import Etcd, running_etcd
from intentc.diagnostics.access import EVERYBODY, Access
from intentc.diagnostics.serving import running_diagnostics
from intentc.loading.configuration import Configuration
from intentc.plugins import installed
from intentc.service.service import CompilerService
from intentc.watch.etcd import EtcdStore
from tests.support.contrail_system import rule, rules
from tests.support.live_system import PERSON, PROJECT, LiveSystem
from tests.support.programs import needed
from tests.support.waiting import PATIENCE

WITHIN_MS = 1_000 * PATIENCE
_AT_ONCE = 150
"""Groups in one transaction: six operations each."""
SMALL = {"width": 390, "height": 800}
USUAL = {"width": 1280, "height": 900}

WEB, DATABASE, SPITEFUL = "web", "database", '<img src=x onerror="alert(1)">'
NETWORK, BROKEN = "front", "broken"


class BrowsedSystem:
    """``url``: of the diagnostics. ``world``: what a person does at the API server."""

    def __init__(self, world: LiveSystem, stack: AsyncExitStack, etcd: Etcd) -> None:
        self.world = world
        self.etcd = etcd
        self.url = ""
        self.service: CompilerService
        self._stack = stack

    async def serve(self) -> None:
        """Start the API server."""
        await self._stack.enter_async_context(self.world.serving())

    async def compile(self, access: Access = EVERYBODY, api_server: str = "") -> None:
        """Start compiler and diagnostics."""
        service = await self._stack.enter_async_context(self.world.compiling(url=api_server or None))
        self.service = service
        self.url = await self._stack.enter_async_context(
            running_diagnostics(service, "127.0.0.1", 0, reader=service.reader, access=access)
        )

    async def settle(self) -> None:
        await self.world.settle(self.service)

    async def populate(self) -> None:
        """Two groups of which one names the other, a network, one name full of spite, and one value that nobody can
        read."""
        world = self.world
        await world.create(
            "security_group", DATABASE, security_group_entries=rules(rule("all", "local"), rule("local", "all"))
        )
        await world.create("security_group", WEB, security_group_entries=rules(rule("all", "local"), _from(DATABASE)))
        await world.create("security_group", SPITEFUL, security_group_entries=rules(rule("all", "local")))
        await world.create("virtual_network", NETWORK, route_target_list={"route_target": ["target:64512:7"]})
        broken = await world.create("security_group", BROKEN, security_group_entries=rules(rule("all", "local")))
        await self.settle()
        await world.put_raw("security_group", broken, b'{"fq_name": ["default-domain", "default-project", "broken"], ')
        await self.settle()

    async def fill(self, groups: int) -> None:
        """So many further groups, each with its two lists."""
        for start in range(0, groups, _AT_ONCE):
            await self.world.sync(
                *(
                    (
                        "CREATE",
                        "security_group",
                        {
                            "fq_name": [*PROJECT, f"group-{place}"],
                            "parent_type": "project",
                            "security_group_entries": rules(rule("all", "local"), rule("local", "all")),
                        },
                    )
                    for place in range(start, min(groups, start + _AT_ONCE))
                )
            )
            await self.settle()


def _from(group: str) -> dict[str, Any]:
    """A rule that lets a group in."""
    return {**rule("all", "local"), "src_addresses": [{"security_group": ":".join((*PROJECT, group))}]}


@asynccontextmanager
async def browsed_system(installation: str = "") -> AsyncIterator[BrowsedSystem]:
    """A system of which nothing runs yet but etcd. ``installation``: a name, if it will be seen."""
    async with AsyncExitStack() as stack:
        etcd = await stack.enter_async_context(running_etcd())
        store = EtcdStore([etcd.endpoint])
        stack.push_async_callback(store.close)
        world = LiveSystem(store, installed(Configuration()))
        if installation:
            own = msgspec.structs.replace(world.configuration.intentc, installation=installation)
            world.configuration = msgspec.structs.replace(world.configuration, intentc=own)
        world.person = await stack.enter_async_context(httpx2.AsyncClient(headers=PERSON, trust_env=False))
        yield BrowsedSystem(world, stack, etcd)


# The browser


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A headless browser. Skips the test where there is none."""
    program = needed("chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            await browser.close()


class Visit:
    """One page in a browser that is watched: ``complaints`` are what its console and network had to say against it, and
    ``largest`` the largest answer that it was given, the library apart."""

    def __init__(self, page: Page, context: BrowserContext, url: str) -> None:
        self.page = page
        self.context = context
        self.url = url
        self.complaints: list[str] = []
        self.foreign: list[str] = []
        page.set_default_timeout(WITHIN_MS)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("request", self._asked)
        page.on("response", self._answered)

    async def open(self, path: str, **parameters: str) -> Page:
        """Go there. ``parameters``: of the query."""
        await self.page.goto(str(httpx2.URL(self.url + path, params=parameters or None)))
        return self.page

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self.url, "data:")):
            self.foreign.append(request.url)

    def _answered(self, response: Response) -> None:
        if response.status >= 500:
            self.complaints.append(f"{response.status}: {response.url}")


@asynccontextmanager
async def visit(browser: Browser, url: str, **options: Any) -> AsyncIterator[Visit]:
    """A fresh page of a browser that knows nothing. ``options``: of its context. Complaints fail the test."""
    context = await browser.new_context(**{"viewport": USUAL, **options})
    try:
        seen = Visit(await context.new_page(), context, url)
        yield seen
        assert not seen.complaints
        assert not seen.foreign, "the page asked somebody else"
    finally:
        await context.close()


def object_page(kind: str, name: str) -> Mapping[str, str]:
    """The parameters of an object's page."""
    return {"kind": kind, "name": name}
