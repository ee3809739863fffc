"""``intentc xds`` as a process beside a real etcd."""

from __future__ import annotations

import json

import grpc.aio
import pytest
from envoy.service.discovery.v3 import discovery_pb2

from intentc.bridges.xds.elements import Type
from intentc.watch.etcd import EtcdStore
from intentc.watch.keys import Layout
from intentc.watch.protocol import Put
from tests.support.commands import Intentc
from tests.support.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]


async def test_it_prints_its_address_serves_what_stands_in_etcd_and_ends_with_0(
    intentc: Intentc, etcd_store: EtcdStore
) -> None:
    path = json.loads(intentc.configuration.read_text())["etcd"]["path"]
    cluster = {"fq_name": ["c"], "config": {"name": "c"}}
    await etcd_store.transaction(
        [], [Put(Layout.of(f"/{path}/").key("envoy_cluster", "u"), json.dumps(cluster).encode())]
    )
    service = intentc.start("xds", "--address", "127.0.0.1:0", "--diagnostics", "127.0.0.1:0")
    await until(lambda: "\n127.0.0.1:" in f"\n{service.log}")
    address = next(line for line in service.log.splitlines() if line.startswith("127.0.0.1:"))
    async with grpc.aio.insecure_channel(address) as channel:
        call = channel.stream_stream(
            "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
            request_serializer=discovery_pb2.DiscoveryRequest.SerializeToString,
            response_deserializer=discovery_pb2.DiscoveryResponse.FromString,
        )()
        await call.write(discovery_pb2.DiscoveryRequest(type_url=Type.CLUSTERS))
        assert len((await call.read()).resources) == 1
        assert (await service.status())["streams"] == 1
        assert "intentc_xds_pushes_total" in (await service.get("/metrics")).text
        call.cancel()
    assert await service.terminate() == 0


async def test_an_address_that_is_none_is_wrong_usage(intentc: Intentc) -> None:
    ended = await intentc("xds", "--address", "here")
    assert ended.code == 2
    assert "host:port" in ended.err
