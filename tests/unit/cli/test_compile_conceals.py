"""``compile`` prints whole lower-level resources, but not what their kind declares sensitive."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from intentc.offline.offline import Offline
from tests.unit.cli.running import Intentc

SAMPLE = Path(__file__).parents[3] / "sample" / "tenant.yml"


@pytest.mark.parametrize("output", ["json", "yaml", "table"])
def test_a_sensitive_field_of_an_output_is_concealed(
    intentc: Intentc, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    router = {
        "kind": "bgp_router",
        "uuid": "u",
        "fq_name": ["r"],
        "bgp_router_parameters": {"address": "10.0.0.1", "auth_data": {"key": "canary"}},
    }
    monkeypatch.setattr(Offline, "outputs", lambda self: [msgspec.json.decode(msgspec.json.encode(router))])
    ended = intentc("compile", SAMPLE, "-o", output)
    assert ended.code == 0
    assert "bgp_router" in ended.out
    assert "canary" not in ended.out + ended.err
    if output != "table":
        assert "10.0.0.1" in ended.out and "<secret>" in ended.out
