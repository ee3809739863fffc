"""What only a real connection can show: fail-over, users, TLS, frozen servers, cut calls."""

from __future__ import annotations

from pathlib import Path

import anyio
import anyio.to_thread
import grpc
import grpc.aio
import pytest

from intentc.dev.etcd_server import Etcd
from intentc.reconcile.failures import Denied, Unavailable, Untrusted
from intentc.watch import rpc_pb2 as rpc
from intentc.watch.etcd import EtcdStore
from intentc.watch.etcd_connections import Tls
from intentc.watch.protocol import Put
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.etcd]


async def test_a_dead_member_is_left_for_the_next(etcd: Etcd, dead_endpoint: str) -> None:
    store = EtcdStore([dead_endpoint, etcd.endpoint])
    written = await store.transaction([], [Put("/failover/a", b"1")])
    async with store.watch(["/failover/"], written.revision) as watch:
        assert await anext(aiter(watch))
    await store.close()


async def test_a_watch_goes_to_the_next_member_too(etcd: Etcd, dead_endpoint: str) -> None:
    store = EtcdStore([dead_endpoint, etcd.endpoint])
    async with store.watch(["/failover/"], 1) as watch:
        assert watch.cluster_id
    await store.close()


async def test_without_any_member_the_error_names_call_and_address(dead_endpoint: str) -> None:
    store = EtcdStore([dead_endpoint])
    with pytest.raises(Unavailable, match=rf"etcd Range: .*{dead_endpoint}"):
        await store.range("/a")
    with pytest.raises(Unavailable, match="etcd Watch"):
        async with store.watch(["/a/"], 1):
            pass
    await store.close()


async def test_a_frozen_server_does_not_hold_a_call_longer_than_its_deadline(fresh_etcd: Etcd) -> None:
    store = EtcdStore([fresh_etcd.endpoint], timeout=2.0)
    await store.range("/a")
    lease = await store.grant_lease(60)
    fresh_etcd.suspend()
    with anyio.fail_after(PATIENCE):
        for call in (
            store.range("/a"),
            store.transaction([], [Put("/a", b"")]),
            store.keep_lease_alive(lease),
            store.watch(["/a/"], 1).__aenter__(),
        ):
            with pytest.raises(Unavailable):
                await call
    fresh_etcd.resume()
    await store.close()


async def test_a_call_cut_by_closing_the_store_raises_the_stores_error(fresh_etcd: Etcd) -> None:
    store = EtcdStore([fresh_etcd.endpoint])
    await store.range("/a")
    fresh_etcd.suspend()
    errors: list[BaseException] = []

    async def call() -> None:
        try:
            await store.range("/a")
        except BaseException as error:
            errors.append(error)
            raise

    with pytest.raises(ExceptionGroup), anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await anyio.wait_all_tasks_blocked()
            await store.close()
    fresh_etcd.resume()
    assert [type(error) for error in errors] == [Unavailable]


async def test_our_own_cancellation_stays_a_cancellation(fresh_etcd: Etcd) -> None:
    store = EtcdStore([fresh_etcd.endpoint])
    await store.range("/a")
    fresh_etcd.suspend()
    with anyio.move_on_after(0.1) as scope:
        await store.range("/a")
    fresh_etcd.resume()
    assert scope.cancelled_caught
    await store.close()


async def test_many_calls_at_once_share_a_connection(etcd_store: EtcdStore) -> None:
    async with anyio.create_task_group() as tasks:
        for n in range(200):
            tasks.start_soon(etcd_store.transaction, [], [Put(f"/many/{n}", b"")])
    assert (await etcd_store.range("/many/", "/many0", limit=1)).count == 200


async def test_the_version_is_reported(etcd_store: EtcdStore) -> None:
    assert (await etcd_store.version()).startswith("3.")


async def test_a_token_that_etcd_forgot_is_renewed(etcd_with_users: Etcd) -> None:
    store = EtcdStore([etcd_with_users.endpoint], username="root", password=lambda: "secret")
    revision = (await store.transaction([], [Put("/open/a", b"1")])).revision
    # etcd's simple tokens live in its memory.
    await anyio.to_thread.run_sync(etcd_with_users.kill)
    await anyio.to_thread.run_sync(etcd_with_users.start)
    async with store.watch(["/open/"], revision) as watch:
        assert await anext(aiter(watch))
    await anyio.to_thread.run_sync(etcd_with_users.kill)
    await anyio.to_thread.run_sync(etcd_with_users.start)
    with anyio.fail_after(PATIENCE):
        while True:
            try:
                found = await store.range("/open/a")
                break
            except Unavailable:
                await anyio.sleep(0.05)
    assert found.items[0].value == b"1"
    assert await store.keep_lease_alive(await store.grant_lease(60)) == 60
    await store.close()


async def test_a_forbidden_prefix_is_distinguished_from_an_unreachable_store(etcd_with_users: Etcd) -> None:
    store = EtcdStore([etcd_with_users.endpoint], username="reader", password=lambda: "secret")
    assert not (await store.range("/open/", "/open0")).items
    with pytest.raises(Denied, match="permission denied"):
        await store.range("/closed/a")
    with pytest.raises(Denied, match="permission denied"):
        async with store.watch(["/closed/"], 1) as watch:
            await anext(aiter(watch))
    await store.close()


@pytest.mark.parametrize(("username", "password"), [("root", "wrong"), ("nobody", "secret"), ("", "")])
async def test_a_wrong_user_or_password_is_named_as_such(etcd_with_users: Etcd, username: str, password: str) -> None:
    store = EtcdStore([etcd_with_users.endpoint], username=username, password=lambda: password)
    with pytest.raises(Denied, match=r"check etcd\.username"):
        await store.range("/open/a")
    await store.close()


async def test_a_password_is_no_harm_where_nobody_asks_for_one(etcd: Etcd) -> None:
    store = EtcdStore([etcd.endpoint], username="root", password=lambda: "secret")
    await store.range("/a")
    await store.close()


async def test_both_sides_show_their_certificates(certificate: Tls) -> None:
    async def status(request: rpc.StatusRequest, context: object) -> rpc.StatusResponse:
        return rpc.StatusResponse(version="3.5.0-test")

    assert certificate.key is not None and certificate.certificate is not None
    chain = certificate.certificate.read_bytes()
    server = grpc.aio.server()
    handler = grpc.unary_unary_rpc_method_handler(
        status,
        request_deserializer=rpc.StatusRequest.FromString,
        response_serializer=rpc.StatusResponse.SerializeToString,
    )
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler("etcdserverpb.Maintenance", {"Status": handler})]
    )
    credentials = grpc.ssl_server_credentials(
        [(certificate.key.read_bytes(), chain)], root_certificates=chain, require_client_auth=True
    )
    port = server.add_secure_port("127.0.0.1:0", credentials)
    await server.start()
    store = EtcdStore([f"https://127.0.0.1:{port}"], tls=certificate)
    assert await store.version() == "3.5.0-test"
    await store.close()
    stranger = EtcdStore([f"127.0.0.1:{port}"], tls=Tls(ca=certificate.ca), timeout=2.0)
    with pytest.raises(Unavailable):
        await stranger.version()
    await stranger.close()
    await server.stop(None)


async def test_a_missing_tls_file_is_named(tmp_path: Path) -> None:
    store = EtcdStore(["127.0.0.1:1"], tls=Tls(ca=tmp_path / "missing.pem"))
    with pytest.raises(Untrusted, match=r"missing\.pem"):
        await store.range("/a")
    await store.close()
