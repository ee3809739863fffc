"""Whatever stands in a Host, Listener, TLSContext, in the gateway's services and its Module, and in health checks: no
evaluation fails over it, what Envoy would reject is rejected before, and Envoy takes all that is made of the rest.

As ``test_malformed_mappings.py``: fields are filled with what makes no sense there, seeded.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from intentc.apiserver.errors import BadRequest
from intentc.bridges.xds.bootstrap import static_bootstrap
from intentc.cli.envoy_output import elements_of
from tests.envoy.validating import complaints
from tests.support.ambassador.hosts import MemoryGateway, host, listener, manifest, mapping, tls_host
from tests.support.ambassador.pems import Pems
from tests.support.ambassador.services import auth, log, module, rate_limit, tracing

pytestmark = [pytest.mark.anyio, pytest.mark.envoy]

RESOURCES = 40
# fmt: off
TEXTS = [
    "", "a", "a\n", "a\nb", "\0", "\x7f", "a b", "ü", "🙂", "x" * 300, "host", ":path", ":authority", "/", "/a", "/a\n",
    "%", "%%", "%REQ(a)%", "%REQ(a", "%NO%", "1s", "1s\n", "0s", "87600000h", "9" * 400 + "h", "::1", "fe80::1%eth0",
    "https://a:1", "a.b.c", "*.a.example", "true", "v1.2", "[a", "a|b",
]
NUMBERS = [0, 1, -1, 5, 100, 200, 599, 4096, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53]
SUITES = [
    "AES128-SHA", "[AES128-SHA]", "[[AES128-SHA]]", "[AES128-SHA|AES256-SHA]", "AES128-SHA|AES256-SHA", "[AES128-SHA",
    "AES128-SHA]", "[]", "", "[AES128-SHA|]", "ECDHE-RSA-AES128-GCM-SHA256", "DES", "AES128-SHA\n",
]
# fmt: on
CURVES = ["X25519", "P-256", "P-384", "P-521", "P-256\n", "", "curve"]
PROTOCOLS = [
    "h2",
    "http/1.1",
    "h2,h2",
    ",",
    "a" * 255,
    "a" * 256,
    "ü" * 200,
    "h2\n",
    ",".join(f"{n:0250}" for n in range(270)),
]


class Nonsense:
    """Resources, from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def services(self) -> list[dict[str, Any]]:
        """What there is one of."""
        text, some = self._text, self._some
        tags = [{"tag": text(), "literal": {"value": text()}}, {"tag": text(), "request_header": {"name": text()}}]
        tags += [{"tag": text(), "environment": {"name": text(), "default_value": text()}}]
        traced = {"collector_endpoint": text(), "collector_hostname": text(), "service_name": text()}
        return [
            self._module(),
            auth(
                **some(
                    path_prefix=text(), add_auth_headers={text(): text()}, allowed_request_headers=[text()],
                    include_body={"max_bytes": self._number()}, timeout_ms=self._number(), stats_name=text(),
                    status_on_error={"code": self._number()}, add_linkerd_headers=text(), tls=text(),
                )
            ),
            rate_limit(**some(domain=text(), timeout_ms=self._number(), stats_name=text())),
            tracing(**some(config=traced, custom_tags=tags, tag_headers=[text()], sampling={"random": self._number()})),
            log(
                **some(
                    driver_config={"additional_log_headers": [{"header_name": text()}]},
                    flush_interval_time=self._number(), flush_interval_byte_size=self._number(),
                )
            ),
        ]  # fmt: skip

    def resource(self, name: str) -> dict[str, Any]:
        number, text = self._number, self._text
        match self._random.randrange(4):
            case 0:
                return tls_host(name, f"{name}.example", tls=self._tls())
            case 1:
                return manifest("TLSContext", name, {**self._tls(), "hosts": [f"{name}.example"]})
            case 2:
                given = self._some(l7Depth=number(), http2MaxConcurrentStreams=number(), statsPrefix=text())
                return listener(name, 9000 + self._random.randrange(1000), **given)
            case _:
                named = self._some(host_rewrite=text(), tls=text(), service="https://echo", stats_name=text())
                return mapping(name, hostname="*", resolver="endpoint", health_checks=[self._check()], **named)

    def _module(self) -> dict[str, Any]:
        text, number = self._text, self._number
        return module(
            **self._some(
                server_name=text(), grpc_stats={"services": [{"name": text(), "method_names": [text()]}]},
                load_balancer={"policy": "ring_hash", "header": text()}, cors={"origins": [text()], "max_age": text()},
                retry_policy={"retry_on": "5xx", "per_try_timeout": text(), "num_retries": number()},
                defaults={"add_request_headers": {text(): text()}, "remove_response_headers": [text()]},
                liveness_probe={"prefix": text()}, ip_deny=[{"peer": text()}], envoy_log_format=text(),
                buffer={"max_request_bytes": number()}, xff_num_trusted_hops=number(), gzip={"content_type": [text()]},
                keepalive={"idle_time": number()}, circuit_breakers=[{"max_connections": number()}],
                max_request_headers_kb=number(), buffer_limit_bytes=number(), listener_idle_timeout_ms=number(),
            )
        )  # fmt: skip

    def _tls(self) -> dict[str, Any]:
        choose = self._random.choice
        return self._some(
            cipher_suites=[choose(SUITES), choose(SUITES)], ecdh_curves=[choose(CURVES), choose(CURVES)],
            alpn_protocols=choose(PROTOCOLS), min_tls_version=choose(["v1.0", "v1.2"]), sni=self._text(),
        )  # fmt: skip

    def _check(self) -> dict[str, Any]:
        text = self._text
        http = {"path": "/", **self._some(
            hostname=text(), add_request_headers={text(): text()}, remove_request_headers=[text()],
            expected_statuses=[{"min": self._number(), "max": self._number()}],
        )}  # fmt: skip
        over_grpc = {"upstream_name": text(), "authority": text()}
        layer = self._random.choice([{"http": http}, {"grpc": over_grpc}])
        return {"health_check": layer, **self._some(timeout=text(), interval=text(), healthy_threshold=self._number())}

    def _some(self, **fields: Any) -> dict[str, Any]:
        return {name: value for name, value in fields.items() if self._random.random() < 0.4}

    def _text(self) -> str:
        return self._random.choice(TEXTS)

    def _number(self) -> int:
        return self._random.choice(NUMBERS)


@pytest.mark.parametrize("seed", range(8))
async def test_nonsense_fails_no_evaluation_and_envoy_takes_what_is_left(seed: int, tmp_path: Path) -> None:
    nonsense, pems = Nonsense(seed), Pems(tmp_path)
    echo = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "echo", "namespace": "gate"}}
    gate = await MemoryGateway().apply(
        pems.secret(),
        listener(),
        listener("https", 8443, protocol="HTTPS"),
        host("all", "*"),
        echo | {"spec": {"ports": [{"port": 80}, {"port": 443}]}},
        echo | {"kind": "Endpoints", "subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}]},
    )
    taken = 0
    for resource in (*nonsense.services(), *(nonsense.resource(f"n{number}") for number in range(RESOURCES))):
        try:
            await gate.apply(resource)
        except BadRequest:
            continue
        taken += 1
    offline = gate.service.offline
    assert taken > RESOURCES / 2
    assert not offline.engine.states.held
    assert complaints(static_bootstrap(elements_of(offline.outputs())), tmp_path) == ""
