"""The search for secrets finds them in each form in which a program may pass them on."""

from __future__ import annotations

import base64
import json

import pytest

from tests.support.secret_search import assert_shows_none

KEY = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49\nAwEHBG0wawIBAQQg\n-----END PRIVATE KEY-----\n"


@pytest.mark.parametrize(
    "shown",
    [
        "token=swordfish-77",
        b"swordfish-77",
        {"status": [{"message": "swordfish-77"}]},
        base64.b64encode(b"swordfish-77").decode(),
        json.dumps({"key": KEY}),
        base64.b64encode(KEY.encode()).decode(),
        KEY.splitlines()[2],
        "-----BEGIN EC PRIVATE KEY-----",
    ],
)
def test_each_form_is_found(shown: object) -> None:
    with pytest.raises(AssertionError, match=r"log shows"):
        assert_shows_none({"log": shown, "other": "nothing"}, ["swordfish-77", KEY])


def test_what_shows_none_passes_and_a_search_of_nothing_does_not() -> None:
    assert_shows_none({"log": "the Secret shop:account has no key"}, ["swordfish-77", KEY])
    with pytest.raises(AssertionError, match="nothing is searched for"):
        assert_shows_none({"log": "x"}, [])
    with pytest.raises(AssertionError, match=r"nothing is searched$"):
        assert_shows_none({"log": ""}, ["swordfish-77"])
