"""Every Mapping, however malformed, is routed or has a problem, and Envoy accepts all outputs.

Fields are filled with what makes no sense there. The server rejects some of it; the rest reaches the compiler. Seeded,
so that a failure is found again.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from intentc.apiserver.errors import BadRequest
from tests.envoy.validating import bootstrap_of, complaints
from tests.support.ambassador.mappings import Routes, mapping, routes
from tests.support.ambassador.services import RATE_LIMIT

pytestmark = [pytest.mark.anyio, pytest.mark.envoy]

MAPPINGS = 60
# fmt: off
TEXTS = [
    "a", "/a", "/a/b/", "*", "*.a.example", "a.*", "host", ":authority", ":path", "x,y", "true", "1", "1s", "5m",
    "-1s", "ü", "🙂", "{", "}", "a:b:c", "https://x:1", "x:99999", "[::1]:80", "%", "100%", "%%", "%REQ(a)%",
    "%REQ(a", "(", "(?=a)", "[0-9]+", "a{2000}", "\\", "\\0", "\\1", "\\pN+", "(?i)a", "a|b|",
]
# fmt: on
TEXTS += ["", "x y", "a\nb", "a\0b", "\t", "\x7f", "x" * 300]
# fmt: off
STRINGS = [
    "prefix", "hostname", "host", "method", "service", "resolver", "path_redirect", "prefix_redirect", "dns_type",
    "cluster_tag", "stats_name", "rewrite", "host_rewrite", "priority",
]
BOOLEANS = [
    "prefix_exact", "prefix_regex", "case_sensitive", "host_regex", "method_regex", "grpc", "shadow",
    "host_redirect", "respect_dns_ttl", "auto_host_rewrite", "use_websocket", "bypass_auth",
]
MAPS = [
    "headers", "regex_headers", "query_parameters", "regex_query_parameters", "add_request_headers",
    "add_response_headers", "auth_context_extensions",
]
ANYTHING = [
    "tls", "enable_ipv4", "enable_ipv6", "remove_request_headers", "remove_response_headers", "add_linkerd_headers",
    "docs", "error_response_overrides",
]
# fmt: on
NUMBERS = ["precedence", "weight", "redirect_response_code", "timeout_ms", "idle_timeout_ms", "connect_timeout_ms"]


class Nonsense:
    """Specs of Mappings, from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def spec(self) -> dict[str, Any]:
        found = {"prefix": self._random.choice(["/a", "/b/", "/c/[0-9]+"]), "service": "s", "hostname": "*"}
        for _ in range(self._random.randrange(1, 5)):
            found.update(self._fields())
        return found

    def _fields(self) -> dict[str, Any]:
        choose, text = self._random.choice, self._text
        rewrite = {"pattern": text(), "substitution": text()}
        cookie = {"name": text(), "ttl": text(), "path": text()}
        return choose(
            [
                {choose(STRINGS): text()},
                {choose(BOOLEANS): choose([True, False])},
                {choose(MAPS): {text(): self._value(1)}},
                {choose(ANYTHING): self._value()},
                {choose(NUMBERS): choose([0, 1, 5, 50, 100, 301, 307])},
                {choose(["regex_rewrite", "regex_redirect"]): rewrite},
                {"cors": {"origins": self._value(2), "methods": self._value(2), "max_age": text()}},
                {"labels": {"ambassador": [{"g": [choose([self._value(), {text(): {"header": text()}}])]}]}},
                {"labels": {"ambassador": [{"g": [{"request_headers": {"key": text(), "header_name": text()}}]}]}},
                {"retry_policy": {"retry_on": "5xx", "per_try_timeout": text()}},
                {"load_balancer": {"policy": "ring_hash", "header": text()}},
                {"load_balancer": {"policy": "maglev", "cookie": cookie}},
                {"allow_upgrade": [text(), text()]},
                {"v2BoolHeaders": [text()], "v2BoolQueryParameters": [text()]},
            ]
        )

    def _text(self) -> str:
        return self._random.choice(TEXTS)

    def _value(self, depth: int = 0) -> Any:
        kind = self._random.randrange(6 if depth < 3 else 3)
        if kind == 1:
            return self._random.choice([True, False])
        if kind == 2:
            return self._random.choice([0, -1, 100, 2**31, 1.5])
        if kind == 3:
            return [self._value(depth + 1)]
        if kind == 4:
            return {self._text(): self._value(depth + 1)}
        return {"value": self._value(3), "append": self._value(3)} if kind == 5 else self._text()


@pytest.mark.parametrize("seed", range(5))
async def test_nonsense_is_reported_or_routed_and_envoy_takes_the_routes(seed: int, tmp_path: Path) -> None:
    nonsense, found = Nonsense(seed), await routes(RATE_LIMIT)
    taken = set()
    for number in range(MAPPINGS):
        try:
            await found.gate.apply(mapping(f"m{number}", version=("v3alpha1", "v2")[number % 2], **nonsense.spec()))
        except BadRequest:
            continue
        taken.add(f"shop:m{number}")
    reported = {problem.name for problem in found.gate.service.problems}
    assert len(taken) > MAPPINGS / 2
    assert taken <= reported | routed(found)
    assert len(routed(found)) > MAPPINGS / 4
    assert complaints(bootstrap_of(found), tmp_path) == ""


def routed(found: Routes) -> set[str]:
    return {origin["name"] for element in found.elements for origin in element["origins"]}
