"""The pages in a real browser, over a real system: they open, link, draw, and show changes at once."""

from __future__ import annotations

import re
from contextlib import AsyncExitStack

import pytest
from playwright.async_api import Browser, Error, Route, expect

from intentc.diagnostics.access import Access
from intentc.diagnostics.serving import running_diagnostics
from tests.browser.browsed_system import (
    BROKEN,
    DATABASE,
    SMALL,
    SPITEFUL,
    WEB,
    BrowsedSystem,
    Visit,
    browsed_system,
    object_page,
    visit,
)
from tests.support.contrail_system import rule, rules

pytestmark = [pytest.mark.anyio, pytest.mark.browser, pytest.mark.etcd, pytest.mark.http]

INGRESS = f"{WEB}:ingress-access-control-list"
PAGES = {
    "Overview": ("/", {}),
    "Objects": ("/pages/objects", {}),
    INGRESS: ("/pages/object", object_page("access_control_list", INGRESS)),
    "Reactions": ("/pages/reactions", {}),
    "Quarantine": ("/pages/quarantine", {}),
    "Journal": ("/pages/journal", {}),
}
"""What the title holds → where."""
NO_ANSWER = re.compile(r"^no answer since \d\d:\d\d:\d\d UTC$")


@pytest.mark.parametrize("title", PAGES)
async def test_a_page_opens_without_complaints_and_asks_nobody_else(seen: Visit, title: str) -> None:
    path, parameters = PAGES[title]
    page = await seen.open(path, **parameters)
    await page.wait_for_load_state("load")
    await expect(page).to_have_title(re.compile(re.escape(title)))
    await expect(page.locator("h1")).to_have_count(1)


@pytest.mark.parametrize("title", PAGES)
async def test_a_page_works_without_scripts(browser: Browser, system: BrowsedSystem, title: str) -> None:
    async with visit(browser, system.url, java_script_enabled=False) as seen:
        path, parameters = PAGES[title]
        page = await seen.open(path, **parameters)
        await expect(page.locator("main")).not_to_be_empty()
        await expect(page.get_by_role("navigation", name="Pages", exact=True).get_by_role("link")).to_have_count(5)


@pytest.mark.parametrize("title", PAGES)
async def test_a_page_fits_a_narrow_screen(browser: Browser, system: BrowsedSystem, title: str) -> None:
    async with visit(browser, system.url, viewport=SMALL) as seen:
        path, parameters = PAGES[title]
        page = await seen.open(path, **parameters)
        wider = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wider <= 0, "the page itself scrolls sideways"


# Finding


async def test_an_object_is_found_from_any_page_by_a_part_of_its_name(seen: Visit) -> None:
    page = await seen.open("/")
    search = page.get_by_role("search").get_by_role("searchbox")
    await search.fill("DATABASE:ing")
    await search.press("Enter")
    await expect(page.locator("main table tbody tr")).to_have_count(1)
    await page.locator("main table").get_by_role("link", name=re.compile("ingress-access-control-list")).click()
    await expect(page.locator("h1")).to_contain_text(f"{DATABASE}:ingress-access-control-list")


async def test_pages_of_objects_follow_each_other(seen: Visit) -> None:
    page = await seen.open("/pages/objects")
    first = await page.locator("main table tbody tr").all_inner_texts()
    await page.get_by_role("link", name=re.compile("next", re.IGNORECASE)).first.click()
    await expect(page).to_have_url(re.compile("offset=50"))
    second = await page.locator("main table tbody tr").all_inner_texts()
    assert len(first) == 50
    assert second
    assert not set(first) & set(second)


async def test_one_kind_and_one_state_can_be_chosen(seen: Visit) -> None:
    page = await seen.open("/pages/objects", state="held", kind="security_group")
    rows = page.locator("main table tbody tr")
    await expect(rows).to_have_count(1)
    await expect(rows).to_contain_text(BROKEN)
    await expect(rows).to_contain_text("held")


# One object


async def test_a_rule_of_a_list_links_to_the_rule_of_its_group(seen: Visit) -> None:
    page = await seen.open("/pages/object", **object_page("access_control_list", INGRESS))
    row = page.locator("tr", has=page.get_by_role("rowheader", name="access_control_list_entries.acl_rule[0]"))
    await expect(row).to_contain_text("security_group_entries.policy_rule[")
    await row.get_by_role("link", name=re.compile(WEB)).first.click()
    await expect(page.locator("h1")).to_contain_text(f":{WEB}")
    await expect(page.locator("main")).to_contain_text("ingress-access-control-list")


async def test_what_is_around_an_object_is_drawn(seen: Visit) -> None:
    await seen.open("/pages/object", **object_page("security_group", WEB))
    await _drawn(seen, '[data-drawing="neighbourhood"]')


async def test_the_reaction_map_is_drawn(seen: Visit) -> None:
    await seen.open("/pages/reactions")
    await _drawn(seen, '[data-drawing="reactions"]')


async def _drawn(seen: Visit, selector: str) -> None:
    """Something was painted: not every point of the canvases is empty."""
    drawing = seen.page.locator(f"{selector}[data-drawn]")
    await expect(drawing).to_have_attribute("data-drawn", re.compile(r"^[1-9]\d* nodes, [1-9]\d* edges$"))
    await seen.page.wait_for_function(
        """selector => [...document.querySelectorAll(`${selector} canvas`)].some((canvas) => {
            const { width, height } = canvas;
            return width && canvas.getContext("2d").getImageData(0, 0, width, height).data.some(Boolean);
        })""",
        arg=selector,
    )


async def test_an_object_that_is_not_there_says_why(seen: Visit) -> None:
    await seen.page.goto(f"{seen.url}/pages/object?kind=access_control_list&name={WEB}:no-such-list")
    await expect(seen.page.locator("main")).to_contain_text(re.compile("claims|not there|does not exist"))
    seen.complaints.clear()  # the browser calls every 404 an error


async def test_a_name_that_is_html_is_text(seen: Visit) -> None:
    page = await seen.open("/pages/objects", filter="onerror")
    link = page.locator("main table").get_by_role("link", name=re.compile(re.escape(SPITEFUL))).first
    await expect(link).to_be_visible()
    assert await page.locator("main img").count() == 0
    await link.click()
    await expect(page.locator("h1")).to_contain_text(SPITEFUL)
    await _drawn(seen, '[data-drawing="neighbourhood"]')
    assert await page.locator("main img").count() == 0


@pytest.mark.parametrize(
    "attempt",
    [
        "const made = document.createElement('script'); made.text = 'window.ran = 1'; document.body.append(made)",
        "document.body.innerHTML = '<img src=x onerror=\"window.ran = 1\">'",
        "document.body.setAttribute('onclick', 'window.ran = 1'); document.body.click()",
    ],
)
async def test_text_is_never_run_as_a_script(seen: Visit, attempt: str) -> None:
    """Even if a name found its way into the page as HTML."""
    page = await seen.open("/pages/objects")
    assert await page.evaluate(f"() => {{ try {{ {attempt} }} catch (rejected) {{}} return window.ran }}") is None
    await page.wait_for_timeout(50)
    assert await page.evaluate("window.ran") is None
    seen.complaints.clear()  # the browser logs each attempt


# What moves


async def test_a_change_is_a_line_of_the_journal_at_once(seen: Visit, system: BrowsedSystem) -> None:
    page = await seen.open("/pages/journal")
    await expect(page.locator("#following")).to_contain_text("live")
    await system.world.create("security_group", "late", security_group_entries=rules(rule("all", "local")))
    await expect(page.locator("main table tbody")).to_contain_text("late:ingress-access-control-list")


async def test_the_page_of_an_object_follows_it_while_it_says_live(browser: Browser) -> None:
    async with browsed_system() as own:
        await own.serve()
        await own.compile()
        uuid = await own.world.create("security_group", "g", security_group_entries=rules(rule("all", "local")))
        await own.settle()
        async with visit(browser, own.url) as seen:
            page = await seen.open("/pages/object", **object_page("security_group", uuid))
            await expect(page.locator("#connection")).to_have_text("live")
            facts, waits = page.locator(".facts"), page.locator("[aria-labelledby=waits]")
            await expect(facts).to_contain_text("as desired")
            await page.evaluate("window.same = true")
            await own.world.put_raw("security_group", uuid, b"{")
            await expect(waits).to_contain_text("can't be read", timeout=60_000)
            await expect(facts).to_contain_text("held")
            assert await page.evaluate("window.same"), "without being loaded anew"
            quarantine = await seen.open("/pages/quarantine")
            await expect(quarantine.locator("main tbody tr")).to_have_count(1)
            await own.world.delete_raw("security_group", uuid)
            await expect(quarantine.locator("main")).to_contain_text("Nothing is quarantined", timeout=60_000)


async def test_an_order_changes_the_verdict_before_the_readers_eyes(browser: Browser) -> None:
    async with browsed_system() as own:
        await own.serve()
        await own.compile()
        await own.settle()
        async with visit(browser, own.url) as seen:
            page = await seen.open("/")
            health = page.locator('[data-verdict="healthy"]')
            await expect(health).to_have_text("healthy")
            uuid = await own.world.create("security_group", "g")
            await own.settle()
            await own.world.put_raw("security_group", uuid, b"{")
            await expect(health).to_have_text("not healthy")


async def test_the_quarantine_lists_held_intents_with_reason_and_command(seen: Visit) -> None:
    page = await seen.open("/pages/quarantine")
    row = page.locator("main").locator("tr, li, article", has_text=BROKEN).first
    await expect(row).to_contain_text("unreadable")
    await expect(row.locator("code, kbd").filter(has_text=BROKEN).first).to_contain_text("intentc ")
    assert await page.locator("main form[method=post]").count() == 0


async def test_each_page_opens_before_the_first_convergence_and_says_what_it_waits_for(browser: Browser) -> None:
    async with browsed_system() as lonely:
        # Nobody listens there: the API server has never been reached.
        await lonely.compile(api_server="http://127.0.0.1:9")
        async with visit(browser, lonely.url) as seen:
            for title in ("Overview", "Objects", "Reactions", "Quarantine", "Journal"):
                page = await seen.open(PAGES[title][0])
                await expect(page.locator('[data-verdict="converged"]')).to_have_text("not converged")
            page = await seen.open("/")
            await expect(page.locator("#pending-work + ol")).to_contain_text(re.compile("API server|allocations"))


async def test_with_a_token_a_browser_asks_for_it_once_and_everything_works(
    browser: Browser, system: BrowsedSystem
) -> None:
    token = "a-token-of-some-length"
    async with browsed_system() as guarded:
        await guarded.serve()
        await guarded.compile(Access(lambda: token))
        await guarded.settle()
        credentials = {"username": "anybody", "password": token}
        async with visit(browser, guarded.url, http_credentials=credentials) as seen:
            page = await seen.open("/pages/journal")
            await expect(page.locator("#following")).to_contain_text("live")
            seen.complaints.clear()  # the first 401, to which the browser answered
        async with visit(browser, guarded.url) as stranger:
            with pytest.raises(Error, match="AUTH"):
                await stranger.open("/")
            stranger.complaints.clear()


# What doesn't answer


async def test_while_etcd_is_away_the_page_says_unknown_and_since_when(browser: Browser) -> None:
    async with browsed_system() as own:
        await own.serve()
        await own.compile()
        await own.settle()
        async with visit(browser, own.url) as seen:
            page = await seen.open("/")
            box, badge = page.locator('[data-verdict-box="healthy"]'), page.locator('.badge[data-verdict="healthy"]')
            await expect(box).to_have_class("verdict good")
            own.etcd.kill()
            for where in (page, await seen.open("/")):
                box, badge = where.locator('[data-verdict-box="healthy"]'), where.locator('[data-verdict="healthy"]')
                await expect(box.locator("strong")).to_have_text("healthy unknown")
                await expect(box.locator("span")).to_have_text(re.compile("^etcd or the API server .* since 20.* UTC$"))
                await expect(box).to_have_class("verdict warn")
                await expect(badge).to_have_class("badge warn")
                await expect(where.locator('[data-verdict="converged"]')).to_have_text("converged unknown")
                await expect(where.locator("#pending-work + ol")).to_contain_text("etcd, no watch since")


# A compiler that doesn't answer


async def test_a_page_whose_compiler_ends_says_so_and_comes_back_with_it(
    browser: Browser, system: BrowsedSystem
) -> None:
    service, serving = system.service, AsyncExitStack()
    url = await serving.enter_async_context(running_diagnostics(service, "127.0.0.1", 0, reader=service.reader))
    async with visit(browser, url) as seen:
        page = await seen.open("/")
        box, badge = page.locator('[data-verdict-box="converged"]'), page.locator('.badge[data-verdict="converged"]')
        connection = page.locator("#connection")
        await expect(connection).to_have_text("live")
        await serving.aclose()
        await expect(box.locator("strong")).to_have_text(NO_ANSWER)
        await expect(box).to_have_class("verdict quiet")
        await expect(box).to_contain_text("last known status: converged")
        await expect(badge).to_have_class("badge quiet")
        await expect(badge).to_have_text("was converged")
        await expect(connection).to_have_text(NO_ANSWER)
        port = int(url.rpartition(":")[2])
        async with running_diagnostics(service, "127.0.0.1", port, reader=service.reader):
            await expect(box.locator("strong")).to_have_text("converged")
            await expect(box).to_have_class("verdict good")
            await expect(badge).to_have_text("converged")
            await expect(connection).to_have_text("live")
            await page.close()
        seen.complaints.clear()  # that nobody answered is what the browser complained of


async def test_a_page_that_hears_nothing_says_so_and_asks_again(browser: Browser, system: BrowsedSystem) -> None:
    """As after the sleep of the machine, or when the compiler hangs: the connection is there, and nothing comes."""
    async with visit(browser, system.url) as seen:
        page = seen.page
        await page.clock.install()
        await seen.open("/")
        strong = page.locator('[data-verdict-box="healthy"] strong')
        await expect(page.locator("#connection")).to_have_text("live")
        await page.route("**/events*", _never)
        await page.clock.fast_forward("01:00:00")
        await expect(strong).to_have_text(NO_ANSWER)
        await expect(page.locator("#connection")).to_have_text(NO_ANSWER)
        await page.unroute("**/events*", _never)
        await page.clock.fast_forward("00:30")
        await expect(strong).to_have_text("not healthy")
        await expect(page.locator("#connection")).to_have_text("live")


async def _never(route: Route) -> None:
    """No answer comes."""


# The keyboard


async def test_the_first_key_leads_past_the_navigation(seen: Visit) -> None:
    page = await seen.open("/pages/objects")
    await page.keyboard.press("Tab")
    skip = page.locator(":focus")
    await expect(skip).to_have_text("Skip to the content")
    await expect(skip).to_be_in_viewport()
    await page.keyboard.press("Enter")
    await expect(page.locator("main")).to_be_focused()


async def test_every_link_and_field_can_be_reached_by_keyboard_and_shows_its_focus(seen: Visit) -> None:
    page = await seen.open("/pages/object", **object_page("security_group", WEB))
    count = await page.locator("header a, header input").count()
    reached = set()
    for _ in range(count):
        await page.keyboard.press("Tab")
        reached.add(await page.evaluate("document.activeElement.outerHTML"))
        outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none"
    assert len(reached) == count
