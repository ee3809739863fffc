"""Which texts with commands are allowed. tests/envoy tries every allowed command in a real Envoy."""

from __future__ import annotations

import pytest

from intentc.compilers.ambassador.envoy.http_connection_manager import JSON_FORMAT, TEXT_FORMAT
from intentc.compilers.ambassador.settings.header_rules import HEADER_COMMANDS, mistake, mistake_in


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "100%%",
        "%PROTOCOL%",
        "%REQ(X-ENVOY-ORIGINAL-PATH?:PATH):10%",
        "%START_TIME(%Y-%m-%dT%H:%M:%S%z)%",
        "%COMMON_DURATION(DS_RX_BEG:DS_TX_END:ms)%",
        TEXT_FORMAT,
    ],
)
def test_a_text_that_envoy_takes_has_no_mistake(text: str) -> None:
    assert mistake(text) == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("100%", "begins no command"),
        ("%protocol%", "begins no command"),
        ("%PROTOCOL", "begins no command"),
        ("%PROTOCOLL%", "did you mean %PROTOCOL%?"),
        ("%REQ%", "needs an argument"),
        ("%PROTOCOL(x)%", "takes no argument"),
        ("%REQ(A?B?C)%", "has an argument that Envoy does not take"),
        ("%COMMON_DURATION(x)%", "has an argument that Envoy does not take"),
        ("%PROTOCOL% %XYZ%", "'%XYZ%' is not a command"),
        ("%ENVIRONMENT(HOME)%", "is not allowed here"),
        ("%SECRET(tls)%", "is not a command"),
    ],
)
def test_a_text_that_envoy_rejects_has_one(text: str, said: str) -> None:
    assert said in mistake(text)


def test_a_log_may_show_the_gateway_and_a_header_may_not() -> None:
    assert mistake("%HOSTNAME%") == ""
    assert mistake("%HOSTNAME%", HEADER_COMMANDS) == (
        "'%HOSTNAME%' is not allowed here: it shows what is the gateway's, not the request's"
    )
    assert mistake("%ENVIRONMENT(HOME)%", HEADER_COMMANDS)


def test_formats_in_json_are_checked_at_any_depth() -> None:
    assert mistake_in(JSON_FORMAT) == ""
    assert "'%XYZ%'" in mistake_in({"a": [{"b": "%XYZ%"}], "c": 1})
