"""The form of directives in etcd, and which values are rejected."""

from __future__ import annotations

import json
import re

import pytest

from intentc.directives.directive import (
    AllowDeletes,
    Directive,
    Drop,
    Pause,
    Retry,
    Suspect,
    decode,
    directive_key,
    encode,
)
from intentc.model import InvalidInput, Key

ORDERS: list[tuple[Directive, str]] = [
    (Pause(kind="net", uuid="u", name=("d", "n"), by="me@here", at="now", reason="why"), "pause/net:u"),
    (Drop(kind="net", uuid="u", mod_revision=7), "drop/net:u"),
    (Suspect(kind="net", uuid="u", mod_revision=7), "suspect/net:u"),
    (Retry(kind="net", uuid="u"), "retry/net:u"),
    (Retry(), "retry/*"),
    (AllowDeletes(kind="net"), "allow-deletes/net"),
]


@pytest.mark.parametrize(("directive", "place"), ORDERS)
def test_a_directive_is_stored_under_its_kind_and_read_back(directive: Directive, place: str) -> None:
    assert directive_key("west", directive) == f"/intentc/west/directives/{place}"
    sort, about = place.split("/")
    assert decode(sort, about, encode(directive)) == directive


def test_the_value_names_the_resource_and_who_ordered_what_when_and_why() -> None:
    directive = Pause(kind="net", uuid="u", name=("d", "n"), by="me@here", at="2026-01-01T00:00:00+00:00", reason="why")
    assert json.loads(encode(directive)) == {
        "kind": "net",
        "uuid": "u",
        "name": ["d", "n"],
        "by": "me@here",
        "at": "2026-01-01T00:00:00+00:00",
        "reason": "why",
    }


def test_a_retry_is_about_one_key_or_about_all() -> None:
    assert Retry(kind="net", uuid="u").key == Key("net", "u")
    assert Retry().key is None


@pytest.mark.parametrize(
    ("sort", "about", "value", "said"),
    [
        ("stop", "net:u", b"{}", "no directives of the sort 'stop'"),
        ("pause", "net:u", b"", "can't be read"),
        ("pause", "net:u", b"\xff", "can't be read"),
        ("pause", "net:u", b"[" * 100_000, "can't be read"),
        ("pause", "net:u", b'"net"', "can't be read"),
        ("pause", "net:u", b'{"kind": "net"}', "`uuid`"),
        ("pause", "net:u", b'{"kind": "net", "uuid": "u", "until": "tomorrow"}', "`until`"),
        ("pause", "net:u", b'{"kind": "net", "uuid": "u", "name": "n"}', "$.name"),
        ("pause", "net:u", b'{"kind": "net", "uuid": "v"}', "its value is about net:v"),
        ("drop", "net:u", b'{"kind": "net", "uuid": "u"}', "`mod_revision`"),
        ("drop", "net:u", b'{"kind": "net", "uuid": "u", "mod_revision": "7"}', "$.mod_revision"),
        ("retry", "*", b'{"kind": "net", "uuid": "u"}', "its value is about net:u"),
        ("retry", "net:", b'{"kind": "net"}', "a kind without a uuid"),
        ("allow-deletes", "*", b'{"kind": "*"}', "$.kind"),
    ],
)
def test_a_partly_understood_directive_is_rejected(sort: str, about: str, value: bytes, said: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(said)):
        decode(sort, about, value)
