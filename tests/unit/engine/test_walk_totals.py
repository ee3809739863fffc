"""The results of all walks over the reaction map, in three figures."""

from __future__ import annotations

from intentc.engine.edges import Edges
from intentc.model import Key

PATH = (Key("tool", "1"), Key("shelf", "2"))
FURTHER = (*PATH, Key("room", "3"))


def walked(edges: Edges, path: tuple[Key, ...], *, idle: int = 0, ran: int = 0, changed: int = 0) -> None:
    count = edges.walked(path)
    assert count is not None
    count.idle += idle
    count.ran += ran
    count.changed += changed


def test_walks_are_idle_unchanged_or_changed_something() -> None:
    edges = Edges()
    assert edges.totals() == {"idle": 0, "unchanged": 0, "changed": 0}
    walked(edges, PATH, idle=1)
    walked(edges, PATH, ran=1, changed=1)
    walked(edges, FURTHER, ran=1)
    assert edges.totals() == {"idle": 1, "unchanged": 1, "changed": 1}


def test_reactions_that_went_count_no_more() -> None:
    edges = Edges()
    walked(edges, PATH, idle=1)
    walked(edges, FURTHER, idle=1)
    edges.keep([("tool", "self", "shelf")])
    assert edges.totals() == {"idle": 1, "unchanged": 0, "changed": 0}
