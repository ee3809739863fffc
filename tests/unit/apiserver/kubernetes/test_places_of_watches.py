"""How many watches a server carries at once, of a user, from an address, and in total."""

from __future__ import annotations

import pytest

from intentc.apiserver.authorization import Caller
from intentc.apiserver.errors import TooManyRequests
from intentc.apiserver.kubernetes.watches import Places


def caller(name: str) -> Caller:
    return Caller("p", frozenset(), user_id=name)


def test_a_user_has_a_quarter_and_others_still_get_places() -> None:
    places = Places(16)
    for at in range(4):
        places.take(caller("a"), f"10.0.0.{at}", is_administrator=False)
    with pytest.raises(TooManyRequests, match="4 watches of the user a are open, and 4 are the most"):
        places.take(caller("a"), "10.0.0.9", is_administrator=False)
    places.take(caller("b"), "10.0.0.1", is_administrator=False)
    assert len(places) == 5


def test_an_address_has_half() -> None:
    places = Places(16)
    for _ in range(8):
        places.take(Caller(), "10.0.0.1", is_administrator=True)
    with pytest.raises(TooManyRequests, match="8 watches of the address"):
        places.take(Caller(), "10.0.0.1", is_administrator=True)
    places.take(Caller(), "10.0.0.2", is_administrator=True)


def test_the_last_places_are_for_administrators() -> None:
    places = Places(16)
    for at in range(14):
        places.take(caller(f"u{at}"), f"10.0.0.{at}", is_administrator=False)
    with pytest.raises(TooManyRequests, match="14 watches of all clients are open, and 14 are the most"):
        places.take(caller("v"), "10.0.1.1", is_administrator=False)
    for _ in range(2):
        places.take(caller("admin"), "10.0.1.2", is_administrator=True)
    with pytest.raises(TooManyRequests, match="all clients"):
        places.take(caller("admin"), "10.0.1.2", is_administrator=True)


def test_a_place_that_is_given_back_is_free() -> None:
    places = Places(16)
    ended = [places.take(caller("a"), "10.0.0.1", is_administrator=False) for _ in range(4)]
    for end in ended:
        end()
    assert len(places) == 0
    places.take(caller("a"), "10.0.0.1", is_administrator=False)
