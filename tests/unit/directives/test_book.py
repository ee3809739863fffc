"""Putting, listing and withdrawing: the last directive about a key counts, and a newer one is never lost."""

from __future__ import annotations

import pytest

from intentc.directives import AllowDeletes, Book, Pause, Retry
from intentc.watch.protocol import Put
from tests.support.faulty_store import FaultyStore

pytestmark = pytest.mark.anyio

PAUSE = Pause(kind="net", uuid="u", reason="first")


async def test_directives_are_listed_with_their_revisions(book: Book) -> None:
    first = await book.put(PAUSE)
    second = await book.put(Retry())
    third = await book.put(AllowDeletes(kind="net"))
    assert {(kept.directive, kept.mod_revision) for kept in await book.list()} == {
        (PAUSE, first),
        (Retry(), second),
        (AllowDeletes(kind="net"), third),
    }


async def test_the_last_order_about_a_thing_counts(book: Book) -> None:
    again = Pause(kind="net", uuid="u", reason="second")
    await book.put(PAUSE)
    await book.put(again)
    assert [kept.directive for kept in await book.list()] == [again]


async def test_a_withdrawn_directive_is_deleted(book: Book) -> None:
    await book.put(PAUSE)
    (kept,) = await book.list()
    assert await book.withdraw(kept) > kept.mod_revision
    assert await book.list() == ()
    assert await book.withdraw(kept) == 0


async def test_a_directive_stored_again_meanwhile_is_not_withdrawn(book: Book) -> None:
    await book.put(PAUSE)
    (kept,) = await book.list()
    await book.put(PAUSE)
    assert await book.withdraw(kept) == 0
    assert [found.directive for found in await book.list()] == [PAUSE]


async def test_other_installations_have_their_own_orders(store: FaultyStore, book: Book) -> None:
    await Book(store, "elsewhere").put(PAUSE)
    assert await book.list() == ()


async def test_an_invalid_directive_is_reported_by_its_key_and_left_out(
    store: FaultyStore, book: Book, caplog: pytest.LogCaptureFixture
) -> None:
    await book.put(PAUSE)
    await store.transaction([], [Put("/intentc/test/directives/pause/net:v", b"a-canary"),
                                 Put("/intentc/test/directives/readme", b"{}")])  # fmt: skip
    assert [kept.directive for kept in await book.list()] == [PAUSE]
    assert "/intentc/test/directives/pause/net:v" in caplog.text
    assert "/intentc/test/directives/readme" in caplog.text
    assert "a-canary" not in caplog.text
