"""Takes the screenshots in ``docs/screenshots`` anew: each page over the sample tenant, with something to see on it.

    python -m tests.browser.screenshots [FOLDER]

Why from a script: pictures that nobody can make again are old after a month.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import anyio
from playwright.async_api import Browser, Page

from intentc.cli.input_files import read_input
from intentc.directives import Book, Pause
from intentc.loading.configuration import Configuration
from tests.browser.browsed_system import BrowsedSystem, browsed_system, chromium
from tests.support.contrail_system import rule, rules
from tests.support.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "screenshots"
SAMPLE = ROOT / "sample" / "tenant.yml"
SHOP = ("default-domain", "shop")
DATABASE_UUID = "5b0f0000-0000-4000-8000-000000000022"
LIST = {"kind": "access_control_list", "name": "web:egress-access-control-list"}
INSTANCE = {"kind": "routing_instance", "name": "front:front"}
PAGES: dict[str, tuple[str, dict[str, str]]] = {
    "overview": ("/", {}),
    "objects": ("/pages/objects", {"filter": "shop"}),
    "object": ("/pages/object", {**INSTANCE, "depth": "1"}),
    "list": ("/pages/object", {**LIST, "depth": "2"}),
    "absent": ("/pages/object", {"kind": "access_control_list", "name": "shop:webb:ingress-access-control-list"}),
    "reactions": ("/pages/reactions", {}),
    "quarantine": ("/pages/quarantine", {}),
    "journal": ("/pages/journal", {}),
}
_WIDTH, _HIGHEST = 1280, 1400
DARK = ("overview", "object")
"""Of these one in the dark, too."""


async def play_a_day(shown: BrowsedSystem) -> None:
    """The sample, then what an ordinary day brings: a change, a broken value and who reads it, a pause."""
    resources = read_input([str(SAMPLE)], Configuration())[0]
    world = shown.world
    await world.sync(*(("CREATE", resource.kind, dict(resource.data)) for resource in resources))
    await shown.settle()
    database = next(r.data for r in resources if r.data.get("uuid") == DATABASE_UUID)["security_group_entries"]
    entries: list[dict[str, Any]] = database["policy_rule"]
    await world.update("security_group", DATABASE_UUID, security_group_entries={"policy_rule": entries[:1]})
    await shown.settle()
    broken = await world.create("security_group", "cache", parent=SHOP)
    from_cache = {**rule("all", "local"), "src_addresses": [{"security_group": ":".join((*SHOP, "cache"))}]}
    await world.create("security_group", "search", parent=SHOP, security_group_entries=rules(from_cache))
    paused = await world.create("security_group", "legacy", parent=SHOP)
    await shown.settle()
    await world.put_raw("security_group", broken, b'{"fq_name": ["default-domain", "shop", "cache"], ')
    book = Book(world.store, world.configuration.intentc.installation)
    name = (*SHOP, "legacy")
    await book.put(Pause(kind="security_group", uuid=paused, name=name, reason="moves to another tenant", by="ann"))
    await shown.settle()
    with anyio.fail_after(PATIENCE):
        while shown.service.status()["counts"]["paused"] == 0:  # noqa: ASYNC110 - no event follows a directive
            await anyio.sleep(0.05)


async def take(browser: Browser, url: str, name: str, folder: Path, scheme: str = "light") -> None:
    """One page as one picture."""
    path, parameters = PAGES[name]
    context = await browser.new_context(
        viewport={"width": _WIDTH, "height": 700}, color_scheme="dark" if scheme == "dark" else "light"
    )
    page = await context.new_page()
    query = "&".join(f"{key}={value}" for key, value in parameters.items())
    await page.goto(f"{url}{path}?{query}" if query else url + path)
    await _drawn(page)
    suffix = "-dark" if scheme == "dark" else ""
    height = await page.evaluate("document.documentElement.scrollHeight")
    await page.set_viewport_size({"width": _WIDTH, "height": min(height, _HIGHEST)})
    await page.screenshot(path=folder / f"{name}{suffix}.png")
    await context.close()


async def _drawn(page: Page) -> None:
    """Wait for what is drawn on the page, if anything is, and for the first status."""
    if await page.locator("[data-drawing]").count():
        await page.locator("[data-drawing][data-drawn]").first.wait_for()
    await page.wait_for_timeout(300)


async def main(folder: Path) -> None:
    # Names that mean something to who looks, and are the same on every machine.
    with patch("intentc.service.service.process_name", lambda: "compiler-1"):
        async with chromium() as browser, browsed_system("shop-1") as shown:
            await shown.serve()
            await shown.compile()
            await play_a_day(shown)
            for name in PAGES:
                await take(browser, shown.url, name, folder)
            for name in DARK:
                await take(browser, shown.url, name, folder, "dark")


if __name__ == "__main__":
    wanted = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    wanted.mkdir(parents=True, exist_ok=True)
    anyio.run(main, wanted)
