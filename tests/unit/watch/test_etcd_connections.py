"""Endpoints are parsed as people write them, and rejected with a reason if invalid."""

from __future__ import annotations

import pytest

from intentc.watch.etcd import EtcdStore
from intentc.watch.etcd_connections import Endpoint, Tls, parse_endpoint


@pytest.mark.parametrize(
    ("text", "tls", "expected"),
    [
        ("127.0.0.1:2379", None, Endpoint("127.0.0.1:2379", secure=False)),
        ("http://etcd:2379/", None, Endpoint("etcd:2379", secure=False)),
        ("https://etcd:2379", None, Endpoint("etcd:2379", secure=True)),
        ("etcd:2379", Tls(), Endpoint("etcd:2379", secure=True)),
        ("[::1]:2379", None, Endpoint("[::1]:2379", secure=False)),
    ],
)
def test_endpoints(text: str, tls: Tls | None, expected: Endpoint) -> None:
    assert parse_endpoint(text, tls) == expected


@pytest.mark.parametrize("text", ["etcd", "ftp://etcd:2379", ":2379", "etcd:port", "etcd:2379/path", ""])
def test_what_is_no_endpoint_is_rejected_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="etcd endpoint"):
        parse_endpoint(text, None)


def test_plain_http_with_tls_files_is_rejected() -> None:
    with pytest.raises(ValueError, match="write https"):
        parse_endpoint("http://etcd:2379", Tls())


def test_no_endpoint_at_all_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"etcd\.endpoints"):
        EtcdStore([])


def test_an_endpoint_that_holds_a_password_is_rejected_without_showing_it() -> None:
    with pytest.raises(ValueError, match=r"set etcd\.username and etcd\.password_file") as rejected:
        parse_endpoint("http://root:canary@etcd:2379", None)
    assert "canary" not in str(rejected.value)
