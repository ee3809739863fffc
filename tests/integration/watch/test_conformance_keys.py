"""What every store does with keys, revisions, transactions and leases: memory as etcd, etcd as it is."""

from __future__ import annotations

import anyio
import pytest

from intentc.reconcile.failures import Failure
from intentc.watch.protocol import (
    Compacted,
    Compare,
    Delete,
    FutureRevision,
    Get,
    LeaseNotFound,
    Put,
    Relation,
    Store,
    Target,
    TooManyOperations,
    absent,
    prefix_end,
    present,
    unchanged,
)
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


async def put(store: Store, key: str, value: bytes = b"v") -> int:
    return (await store.transaction([], [Put(key, value)])).revision


async def test_a_transaction_raises_the_revision_once(store: Store, root: str) -> None:
    before = await put(store, root + "a")
    result = await store.transaction([], [Put(root + "b", b"1"), Put(root + "c", b"2"), Delete(root + "a")])
    assert result.revision == before + 1
    found = await store.range(root, prefix_end(root))
    assert [(item.key, item.value, item.mod_revision) for item in found.items] == [
        (root + "b", b"1", before + 1),
        (root + "c", b"2", before + 1),
    ]


async def test_a_transaction_that_writes_nothing_leaves_the_revision(store: Store, root: str) -> None:
    before = await put(store, root + "a")
    result = await store.transaction([], [Get(root + "a"), Delete(root + "nothing")])
    assert result.revision == before


async def test_versions_count_from_creation(store: Store, root: str) -> None:
    created = await put(store, root + "a")
    changed = await put(store, root + "a")
    item = (await store.range(root + "a")).items[0]
    assert (item.create_revision, item.mod_revision, item.version) == (created, changed, 2)
    await store.transaction([], [Delete(root + "a")])
    again = await put(store, root + "a")
    item = (await store.range(root + "a")).items[0]
    assert (item.create_revision, item.version) == (again, 1)


async def test_a_range_is_read_at_an_old_revision(store: Store, root: str) -> None:
    await put(store, root + "a", b"old")
    then = await put(store, root + "b")
    await store.transaction([], [Put(root + "a", b"new"), Delete(root + "b"), Put(root + "c", b"")])
    found = await store.range(root, prefix_end(root), revision=then)
    assert [(item.key, item.value) for item in found.items] == [(root + "a", b"old"), (root + "b", b"v")]


async def test_a_limit_cuts_and_says_so(store: Store, root: str) -> None:
    await store.transaction([], [Put(f"{root}{n}", b"") for n in range(5)])
    found = await store.range(root, prefix_end(root), limit=2)
    assert [item.key for item in found.items] == [root + "0", root + "1"]
    assert (found.more, found.count) == (True, 5)
    rest = await store.range(found.items[-1].key + "\0", prefix_end(root), limit=3)
    assert (len(rest.items), rest.more) == (3, False)


async def test_keys_only_leaves_values_out(store: Store, root: str) -> None:
    revision = await put(store, root + "a")
    item = (await store.range(root, prefix_end(root), keys_only=True)).items[0]
    assert (item.value, item.mod_revision) == (b"", revision)


async def test_only_what_changed_since_is_read(store: Store, root: str) -> None:
    await put(store, root + "a")
    since = await put(store, root + "b")
    found = await store.range(root, prefix_end(root), min_mod_revision=since, limit=1)
    assert [item.key for item in found.items] == [root + "b"]
    assert not (await store.range(root, prefix_end(root), min_mod_revision=since + 1)).items


async def test_reading_ahead_is_rejected(store: Store, root: str) -> None:
    now = await put(store, root + "a")
    with pytest.raises(FutureRevision):
        await store.range(root, revision=now + 1000)


@pytest.mark.parametrize(
    ("target", "relation", "number", "expected"),
    [
        (Target.CREATE_REVISION, Relation.GREATER, 0, True),
        (Target.CREATE_REVISION, Relation.LESS, 1, False),
        (Target.MOD_REVISION, Relation.GREATER, 1, True),
        (Target.MOD_REVISION, Relation.EQUAL, 0, False),
    ],
)
async def test_compares(
    store: Store, root: str, target: Target, relation: Relation, number: int, expected: bool
) -> None:
    await put(store, root + "a")
    await put(store, root + "a")
    result = await store.transaction([Compare(root + "a", target, relation, number)], [])
    assert result.succeeded is expected


async def test_the_failure_branch_runs_and_reads(store: Store, root: str) -> None:
    await put(store, root + "a", b"there")
    result = await store.transaction([absent(root + "a")], [Put(root + "a", b"mine")], [Get(root + "a")])
    assert not result.succeeded
    assert [[item.value for item in found] for found in result.results] == [[b"there"]]


async def test_reads_see_the_writes_before_them_in_a_transaction(store: Store, root: str) -> None:
    result = await store.transaction([], [Put(root + "a", b"1"), Get(root, prefix_end(root))])
    assert result.results[0] == ()
    assert [item.value for item in result.results[1]] == [b"1"]


async def test_an_absent_key_compares_as_zero_even_after_a_delete(store: Store, root: str) -> None:
    await put(store, root + "a")
    await store.transaction([], [Delete(root + "a")])
    compares = [absent(root + "a"), unchanged(root + "a", 0)]
    assert (await store.transaction(compares, [])).succeeded
    assert not (await store.transaction([present(root + "a")], [])).succeeded


async def test_a_range_compare_holds_only_if_it_holds_for_each_key(store: Store, root: str) -> None:
    older = Compare(root, Target.MOD_REVISION, Relation.LESS, 1, prefix_end(root))
    assert (await store.transaction([older], [])).succeeded, "over an empty range it holds"
    first = await put(store, root + "a")
    await put(store, root + "b")
    older = older._replace(number=first + 1)
    assert not (await store.transaction([older], [])).succeeded
    assert (await store.transaction([older._replace(number=first + 2)], [])).succeeded


async def test_a_range_delete_takes_all_below(store: Store, root: str) -> None:
    await store.transaction([], [Put(root + "a/1", b""), Put(root + "a/2", b""), Put(root + "b", b"")])
    await store.transaction([], [Delete(root + "a/", prefix_end(root + "a/"))])
    assert [item.key for item in (await store.range(root, prefix_end(root))).items] == [root + "b"]


async def test_one_key_is_not_put_twice_in_a_transaction(store: Store, root: str) -> None:
    with pytest.raises(Failure, match="duplicate key"):
        await store.transaction([], [Put(root + "a", b"1"), Put(root + "a", b"2")])
    with pytest.raises(Failure, match="duplicate key"):
        await store.transaction([], [Delete(root, prefix_end(root)), Put(root + "a", b"2")])


async def test_the_operation_limit_counts_the_longest_list(store: Store, root: str) -> None:
    writes = [Put(f"{root}{n}", b"") for n in range(128)]
    compares = [absent(f"{root}{n}") for n in range(128)]
    assert (await store.transaction(compares, writes, writes)).succeeded
    with pytest.raises(TooManyOperations):
        await store.transaction([*compares, absent(root)], [])
    with pytest.raises(TooManyOperations):
        await store.transaction([], [*writes, Put(root + "one more", b"")])


async def test_what_is_compacted_can_not_be_read(store: Store, root: str) -> None:
    old = await put(store, root + "a", b"old")
    new = await put(store, root + "a", b"new")
    await store.compact(new)
    with pytest.raises(Compacted):
        await store.range(root + "a", revision=old)
    assert (await store.range(root + "a", revision=new)).items[0].value == b"new"


async def test_a_key_goes_with_its_lease(store: Store, root: str) -> None:
    lease = await store.grant_lease(60)
    await store.transaction([], [Put(root + "a", b"", lease), Put(root + "stays", b"")])
    assert (await store.range(root + "a")).items[0].lease == lease
    assert await store.keep_lease_alive(lease) == 60
    await store.revoke_lease(lease)
    assert [item.key for item in (await store.range(root, prefix_end(root))).items] == [root + "stays"]


async def test_a_lease_that_is_gone_says_so(store: Store, root: str) -> None:
    lease = await store.grant_lease(60)
    await store.revoke_lease(lease)
    assert await store.keep_lease_alive(lease) == 0
    with pytest.raises(LeaseNotFound):
        await store.transaction([], [Put(root + "a", b"", lease)])
    with pytest.raises(LeaseNotFound):
        await store.revoke_lease(lease)


async def test_a_lease_that_nobody_renews_expires_and_the_watch_sees_it(store: Store, root: str) -> None:
    lease = await store.grant_lease(1)
    written = (await store.transaction([], [Put(root + "a", b"", lease)])).revision
    with anyio.fail_after(PATIENCE):
        async with store.watch([root], written + 1) as watch:
            batch = await anext(aiter(watch))
    assert batch.revision > written
    assert not (await store.range(root + "a")).items


async def test_a_key_put_again_without_its_lease_outlives_it(store: Store, root: str) -> None:
    lease = await store.grant_lease(60)
    await store.transaction([], [Put(root + "a", b"", lease)])
    await put(store, root + "a")
    await store.revoke_lease(lease)
    assert (await store.range(root + "a")).items


async def test_a_closed_store_rejects_calls(store: Store, root: str) -> None:
    await store.close()
    with pytest.raises(Failure, match="closed"):
        await store.range(root)
