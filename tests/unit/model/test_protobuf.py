"""Concatenated parts are the same message as one that is encoded as a whole."""

from __future__ import annotations

from envoy.config.route.v3 import route_pb2
from google.protobuf import any_pb2
from hypothesis import given
from hypothesis import strategies as st

from intentc.bridges.xds.elements import Type
from intentc.model import protobuf


@given(st.integers(min_value=0, max_value=2**63 - 1))
def test_a_number_is_written_as_protobuf_reads_it(number: int) -> None:
    encoded = protobuf.varint(number)
    assert sum((byte & 0x7F) << (7 * place) for place, byte in enumerate(encoded)) == number
    assert all(byte & 0x80 for byte in encoded[:-1])
    assert not encoded[-1] & 0x80


@given(st.text(max_size=300), st.text(max_size=300))
def test_a_message_put_together_from_parts_is_read_as_a_whole(name: str, domain: str) -> None:
    host = protobuf.wrapped(2, [protobuf.text(1, name), protobuf.field(2, domain.encode())])
    packed = any_pb2.Any.FromString(protobuf.any_message(Type.ROUTES, [protobuf.text(1, "configuration"), *host]))
    configuration = route_pb2.RouteConfiguration()
    assert packed.Unpack(configuration)
    assert configuration.name == "configuration"
    assert [(one.name, list(one.domains)) for one in configuration.virtual_hosts] == [(name, [domain])]
