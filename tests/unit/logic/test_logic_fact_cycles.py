"""Facts that change each other without end are cut off and shown; nothing else is (docs/engine.md §4.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import pytest

from intentc.logic import Affected, Job, Service
from intentc.logic.dependencies import load
from intentc.logic.facts import ROUNDS
from intentc.model import Fact, Key, Problem
from intentc.model.reads import fact_read, object_read, setting_read
from tests.support.toy_kinds import batch, deleted, key, keys, put, snapshot, toy_schema

Intent = Callable[[Mapping[str, int]], dict[str, int]]
"""From the facts that it reads to those that it yields."""


class FactWorld:
    """Evaluates toy intents until none has a job: net → (the names of the facts that it reads, what it makes of them).
    Facts of the kind ``hint`` are plain, those called ``tag/…`` are intents of their own (kind ``tag``)."""

    def __init__(self, **intents: tuple[tuple[str, ...], Intent]) -> None:
        self.intents = {name.replace("__", "/"): intent for name, intent in intents.items()}
        kinds = {"net": False, "tag": False}
        reactions = load("intent-compiler: {policy: {self: [net]}, net: {policy: []}}\n")
        self.logic = Service(toy_schema(), reactions, intent_kinds=kinds, settings={"step": 1})
        self.jobs: dict[Key, Job] = {}
        self.runs: Counter[str] = Counter()
        self.held: dict[Key, Problem] = {}
        nets = [name for name in self.intents if "/" not in name]
        self.revision = 1
        self.take(self.logic.apply(snapshot(*(put("net", name, 1) for name in nets))))

    def take(self, affected: Affected) -> Affected:
        for gone in affected.deleted:
            self.held.pop(gone, None)
        self.jobs.update(affected.jobs)
        return affected

    def settle(self, most: int = 20_000) -> None:
        """First come, first served, as the queue does."""
        while self.jobs:
            assert sum(self.runs.values()) < most, "it never comes to rest"
            intent = next(iter(self.jobs))
            del self.jobs[intent]
            name = intent.uuid if intent.kind == "net" else f"tag/{intent.uuid}"
            self.runs[name] += 1
            reads, compute = self.intents[name]
            facts = {read: self.value(read) for read in reads}
            yielded = tuple(Fact(*fact(name), value) for name, value in compute(facts).items())
            recorded = frozenset(
                {object_read(intent), setting_read("step"), *(fact_read(*fact(read)) for read in reads)}
            )
            self.held.pop(intent, None)
            affected = self.take(self.logic.evaluated(intent, recorded, yielded, complete=True))
            self.held.update(affected.cycles)

    def value(self, name: str) -> int:
        found = self.logic.contributions(*fact(name))
        return int(found[0][1]) if found else 0

    def change(self, name: str) -> None:
        """A change of the net itself."""
        self.revision += 1
        self.take(self.logic.apply(batch(put("net", name, self.revision, born=1, text=str(self.revision)))))


def fact(name: str) -> tuple[str, str]:
    kind, separator, rest = name.partition("/")
    return (kind, rest) if separator else ("hint", name)


def plus_one(read: str, yields: str, *, up_to: int | None = None) -> tuple[tuple[str, ...], Intent]:
    """Yields one more than it reads."""

    def compute(facts: Mapping[str, int]) -> dict[str, int]:
        value = facts[read] + 1
        return {yields: value if up_to is None else min(value, up_to)}

    return (read,), compute


def watching(read: str) -> tuple[tuple[str, ...], Intent]:
    """Yields nothing."""
    return (read,), lambda facts: {}


@pytest.fixture
def circle() -> FactWorld:
    """Two nets that count each other up, one that only reads what they yield."""
    world = FactWorld(a=plus_one("fb", "fa"), b=plus_one("fa", "fb"), watcher=watching("fa"))
    world.settle()
    return world


def test_a_cycle_is_cut_off_after_a_hundred_rounds_and_its_intents_are_held(circle: FactWorld) -> None:
    assert set(circle.held) == keys("net/a", "net/b")
    assert {problem.reason for problem in circle.held.values()} == {"FactCycle"}
    assert ROUNDS <= circle.runs["a"] <= ROUNDS + 5
    assert circle.value("fa") > ROUNDS


def test_the_problem_shows_the_cycle_and_stands_on_each_of_its_intents(circle: FactWorld) -> None:
    problem = circle.held[key("net/b")]
    assert (problem.kind, problem.name, problem.source) == ("net", "b", "net/b")
    assert "net a → hint fa → net b → hint fb → net a; cut off after 100 rounds" in problem.message
    assert circle.held[key("net/a")].message == problem.message


def test_an_intent_that_counts_itself_up_is_a_cycle_of_one() -> None:
    world = FactWorld(a=plus_one("fa", "fa"))
    world.settle()
    assert set(world.held) == keys("net/a")
    assert "net a → hint fa → net a;" in world.held[key("net/a")].message


def test_a_reader_of_facts_in_a_cycle_is_not_held(circle: FactWorld) -> None:
    assert key("net/watcher") not in circle.held
    assert key("net/watcher") not in circle.jobs


def test_a_change_of_somebody_else_starts_nothing(circle: FactWorld) -> None:
    before = circle.runs.total()
    circle.take(circle.logic.apply(batch(put("policy", "p", 9))))
    circle.settle()
    assert circle.runs.total() == before
    assert set(circle.held) == keys("net/a", "net/b")


def test_a_change_of_another_input_runs_and_holds_the_whole_cycle_again(circle: FactWorld) -> None:
    before = circle.runs["b"]
    circle.change("a")
    assert set(circle.jobs) == keys("net/a", "net/b")
    circle.settle()
    assert circle.runs["b"] >= before + ROUNDS
    assert set(circle.held) == keys("net/a", "net/b")


def test_a_cycle_that_a_change_breaks_is_held_no_longer(circle: FactWorld) -> None:
    circle.intents["a"] = plus_one("fb", "fa", up_to=5)
    circle.change("a")
    circle.settle()
    assert circle.held == {}
    assert (circle.value("fa"), circle.value("fb")) == (5, 6)


def test_a_setting_that_one_of_them_reads_is_another_input(circle: FactWorld) -> None:
    assert circle.logic.set_setting("step", 2).jobs.keys() >= keys("net/a", "net/b")


def test_the_end_of_one_of_them_runs_the_others_again(circle: FactWorld) -> None:
    affected = circle.take(circle.logic.apply(batch(deleted("net", "a", 9))))
    assert affected.jobs[key("net/b")].by_readers
    circle.settle()
    assert circle.held == {}
    assert circle.value("fb") == 1


def test_a_fact_from_outside_is_another_input() -> None:
    world = FactWorld(
        a=(("fb", "go"), lambda facts: {"fa": facts["fb"] + facts["go"]}),
        b=plus_one("fa", "fb"),
        c=((), lambda facts: {}),
    )
    world.settle()
    world.intents["c"] = (), lambda facts: {"go": 1}
    before = world.runs["a"]
    world.change("c")
    world.settle()
    assert world.runs["a"] >= before + ROUNDS
    assert set(world.held) == keys("net/a", "net/b")


def test_what_only_the_walk_names_stays_cut_off(circle: FactWorld) -> None:
    circle.logic.apply(batch(put("policy", "p", 9)))
    circle.take(circle.logic.apply(batch(put("net", "a", 10, born=1, policy_refs=[{"uuid": "p", "to": ["p"]}]))))
    circle.settle()
    assert circle.logic.apply(batch(put("policy", "p", 11, born=9, text="x"))).jobs == {}


def test_intents_that_come_and_go_with_each_other_are_a_cycle() -> None:
    """One yields while the other doesn't, and the other while the one does."""
    world = FactWorld(
        a=(("fb",), lambda facts: {} if facts["fb"] else {"fa": 1}),
        b=(("fa",), lambda facts: {"fb": 1} if facts["fa"] else {}),
    )
    world.settle()
    assert set(world.held) == keys("net/a", "net/b")


def test_a_fact_that_is_an_intent_takes_part_in_a_cycle() -> None:
    world = FactWorld(a=plus_one("fx", "tag/x"), tag__x=plus_one("tag/x", "fx"))
    world.settle()
    assert set(world.held) == keys("net/a", "tag/x")
    assert "net a → tag x → tag x → hint fx → net a" in world.held[key("net/a")].message


def test_a_fact_intent_that_appears_and_disappears_by_itself_is_a_cycle() -> None:
    world = FactWorld(
        a=(("fx",), lambda facts: {} if facts["fx"] else {"tag/x": 1}),
        tag__x=(("tag/x",), lambda facts: {"fx": 1}),
    )
    world.settle()
    assert key("net/a") in world.held


def test_cycles_that_share_an_intent_end_together() -> None:
    world = FactWorld(
        hub=(("fa", "fb", "fc"), lambda facts: {"hub": max(facts.values()) + 1}),
        a=plus_one("hub", "fa"),
        b=plus_one("hub", "fb"),
        c=plus_one("hub", "fc"),
    )
    world.settle()
    assert set(world.held) >= keys("net/hub")
    assert world.runs["hub"] <= 6 * ROUNDS


def test_a_cycle_that_feeds_another_ends_too() -> None:
    world = FactWorld(
        a=plus_one("fb", "fa"),
        b=plus_one("fa", "fb"),
        c=(("fd", "fa"), lambda facts: {"fc": facts["fd"] + facts["fa"]}),
        d=plus_one("fc", "fd"),
    )
    world.settle()
    assert set(world.held) == keys("net/a", "net/b", "net/c", "net/d")


def test_a_long_circle_is_cut_off_and_its_message_stays_short() -> None:
    nets = {f"n{n:02}": plus_one(f"f{(n - 1) % 30:02}", f"f{n:02}") for n in range(30)}
    world = FactWorld(**nets)
    world.settle()
    assert set(world.held) == {key(f"net/{name}") for name in nets}
    assert "… 22 more …" in world.held[key("net/n00")].message


def test_intents_that_agree_after_some_rounds_are_no_cycle() -> None:
    world = FactWorld(a=plus_one("fb", "fa", up_to=90), b=plus_one("fa", "fb", up_to=90))
    world.settle()
    assert world.held == {}
    for _ in range(150):
        world.change("a")
        world.settle()
    assert world.held == {}


def test_a_chain_of_facts_may_be_long() -> None:
    nets = {f"n{n:03}": plus_one(f"f{n - 1:03}", f"f{n:03}") for n in reversed(range(450))}
    world = FactWorld(**nets)
    world.settle()
    world.intents["n000"] = (), lambda facts: {"f000": 1_000}
    world.change("n000")
    world.settle()
    assert world.held == {}
    assert world.value("f449") == 1_449


def test_a_hub_may_read_more_facts_than_a_cycle_has_rounds() -> None:
    world = FactWorld(
        hub=(tuple(f"f{n}" for n in range(300)), lambda f: {}), **{f"n{n}": ((), lambda f: {}) for n in range(300)}
    )
    world.settle()
    for n in range(300):
        affected = world.logic.evaluated(key(f"net/n{n}"), frozenset(), (Fact("hint", f"f{n}", 1),), complete=True)
        assert affected.jobs == {key("net/hub"): Job(True)}
        assert affected.cycles == ()
