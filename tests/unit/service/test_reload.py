"""A running engine takes another reaction map and other settings: checked first, applied at once.

Only affected intents are evaluated again.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
import msgspec
import pytest
from pytest_mock import MockerFixture

from intentc.evaluation import Compiler, Context, Intent
from intentc.loading.configuration import Configuration, Loaded, load
from intentc.model import Claim, Fact, Schema
from intentc.offline.offline import Offline
from intentc.plugins import Loaded as Compilers
from intentc.plugins import load_all
from intentc.service.reload import Reloader
from tests.support.toy_kinds import build
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

RUNS: list[str] = []
"""Kinds and names, as they are evaluated."""

KINDS: tuple[dict[str, Any], ...] = (
    {"kind": "tool", "properties": {"text": "string"}},
    {"kind": "shelf", "properties": {"text": "string"}, "references": {"tool": {"derived": True}}},
    {"kind": "room", "properties": {"text": "string"}, "references": {"shelf": {"derived": True}}},
)

FIRST = """\
intent-compiler:
  tool:
    self: [shelf]
  shelf:
    self: []
    tool: []
"""
FURTHER = FIRST.replace("tool: []", "tool: [room]") + "  room: {self: [], shelf: []}\n"
WITHOUT = FIRST.replace("[shelf]", "[]")
UNKNOWN = FIRST.replace("[shelf]", "[shelf, shelve]")


class Noting(Intent):
    kind = ""

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        RUNS.append(f"{self.kind} {self.name}")
        if self.kind == "tool" and self.text == "painted":
            ctx.setting("colour")
        return ()


class ToolIntent(Noting):
    kind = "tool"


class ShelfIntent(Noting):
    kind = "shelf"


class RoomIntent(Noting):
    kind = "room"
    trust = "reactions"


class Workshop:
    """An engine that has compiled three tools on two shelves in a room, and the files that it was started with."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "workshop.yml"
        self.map = directory / "map.yml"
        self.configure()
        self.map.write_text(FIRST)
        compiler = Compiler("workshop", [ToolIntent, ShelfIntent, RoomIntent], reactions=self.map)
        self.compilers = (compiler,)
        self.loaded = load(self.file, {})
        schema = Schema(build(declared) for declared in KINDS)
        reactions = load_all((), [self.map]).reactions
        found = Compilers((compiler,), schema, reactions, compiler.intents, dict.fromkeys(schema.kinds, "workshop"))
        self.offline = Offline(found, settings=self.loaded.configuration.intentc.settings)
        self.engine = self.offline.engine
        self.taken: list[Configuration] = []
        self.reloading = Reloader(
            self.engine, self.compilers, self.loaded, self.read, lambda loaded: self.taken.append(loaded.configuration)
        )

    def configure(self, **sections: Any) -> None:
        own = {
            "compilers": ["workshop"],
            "reactions": {"workshop": str(self.map)},
            "settings": {"colour": "red"},
            **sections.pop("intentc", {}),
        }
        self.file.write_bytes(msgspec.yaml.encode({**sections, "intentc": own}))

    def read(self) -> Loaded:
        return load(self.file, {})

    async def begin(self) -> Workshop:
        await self.create("tool", "saw", text="painted")
        await self.create("tool", "plane")
        await self.create("shelf", "left", tool_refs=[{"to": ["saw"]}, {"to": ["plane"]}])
        await self.create("shelf", "right")
        await self.create("room", "cellar", shelf_refs=[{"to": ["left"]}])
        await self.offline.settle()
        RUNS.clear()
        return self

    async def create(self, kind: str, name: str, **fields: Any) -> None:
        await self.offline.server.sync([{"kind": kind, "operation": "CREATE", "data": {"fq_name": [name], **fields}}])

    async def change(self, name: str, text: str) -> None:
        key = self.engine.world.named("tool", (name,))
        assert key is not None
        await self.offline.server.update(key, {"text": text})
        await self.offline.settle()

    async def reload(self, reactions: str | None = None) -> bool:
        """Reload, with this map in place of the former; then everything that follows is done."""
        if reactions is not None:
            self.map.write_text(reactions)
        done = await self.reloading.once()
        await self.offline.settle()
        return done


def _replace_by_pipe(path: Path) -> Path:
    """Where the file is now."""
    aside = path.rename(path.with_suffix(".aside"))
    os.mkfifo(path)
    return aside


@pytest.fixture
async def workshop(tmp_path: Path) -> Workshop:
    return await Workshop(tmp_path).begin()


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.INFO, "intentc.service.reload"):
        yield caplog


async def test_what_has_not_changed_concerns_nobody(workshop: Workshop) -> None:
    assert await workshop.reload()
    assert RUNS == []


async def test_a_new_reaction_has_those_evaluated_again_that_it_reaches(workshop: Workshop) -> None:
    assert await workshop.reload(WITHOUT)
    RUNS.clear()
    assert await workshop.reload(FIRST)
    assert RUNS == ["shelf left", "shelf right"]


async def test_a_reaction_that_goes_concerns_nobody_who_does_not_trust_the_map(workshop: Workshop) -> None:
    assert await workshop.reload(WITHOUT)
    assert RUNS == []


async def test_an_intent_that_trusts_the_map_is_reevaluated_after_any_change_of_its_edges(workshop: Workshop) -> None:
    assert await workshop.reload(FURTHER)
    assert RUNS == ["room cellar"]
    assert await workshop.reload(FIRST)
    assert RUNS == ["room cellar", "room cellar"]


async def test_the_next_change_goes_by_the_new_map(workshop: Workshop) -> None:
    await workshop.reload(FURTHER)
    RUNS.clear()
    await workshop.change("saw", "sharpened")
    assert RUNS == ["tool saw", "room cellar"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (UNKNOWN, "map.yml:3: unknown kind 'shelve'"),
        ("intent-compiler: [", "map.yml:1: "),
        ("intents:\n", "map.yml:1: unknown key 'intents'"),
        ("", "map.yml:1: is empty"),
        ("intent-compiler:\n", "map.yml:1: nothing stands under"),
    ],
)
async def test_a_map_that_is_wrong_leaves_the_former_in_force(
    workshop: Workshop, logged: pytest.LogCaptureFixture, text: str, words: str
) -> None:
    before = workshop.engine.world.reactions
    assert not await workshop.reload(text)
    assert workshop.engine.world.reactions is before
    assert RUNS == []
    (record,) = [record for record in logged.records if record.levelno == logging.ERROR]
    assert words in record.message
    status = workshop.engine.reloads.status()
    assert (status["reloads"], status["failures"]) == (0, 1)
    assert words in status["last_error"]


@pytest.mark.parametrize("break_it", [Path.unlink, lambda file: file.write_text("intentc: {colour: red}\n")])
async def test_a_configuration_that_cannot_be_used_leaves_the_former_in_force(
    workshop: Workshop, break_it: Any
) -> None:
    workshop.map.write_text(FURTHER)
    break_it(workshop.file)
    assert not await workshop.reload()
    assert workshop.taken == []
    assert RUNS == []


@pytest.mark.parametrize("file", ["map", "file"])
async def test_a_pipe_in_place_of_a_file_is_rejected_and_not_waited_for(workshop: Workshop, file: str) -> None:
    path: Path = getattr(workshop, file)
    aside = _replace_by_pipe(path)
    with anyio.fail_after(PATIENCE):
        assert not await workshop.reload()
    error = workshop.engine.reloads.status()["last_error"]
    assert f"{path}: can't be read: it is a pipe, and no regular file" in error
    aside.rename(path)
    assert await workshop.reload(FURTHER)


async def test_a_reload_that_times_out_changes_nothing(workshop: Workshop, mocker: MockerFixture) -> None:
    answers = threading.Event()
    mocker.patch("intentc.service.reload.READING_SECONDS", 0.1)
    hung = mocker.patch.object(workshop.reloading, "_read", side_effect=lambda: answers.wait(30))
    try:
        with anyio.fail_after(PATIENCE):
            assert not await workshop.reload()
    finally:
        answers.set()
    assert "could not be read within 0.1 s" in workshop.engine.reloads.status()["last_error"]
    mocker.stop(hung)
    mocker.patch("intentc.service.reload.READING_SECONDS", 30)
    mocker.patch.object(workshop.reloading, "_read", workshop.read)
    assert await workshop.reload(FURTHER)


async def test_a_file_that_hangs_keeps_nobody_from_ending(workshop: Workshop, mocker: MockerFixture) -> None:
    begun, answers = threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        answers.wait(30)

    mocker.patch.object(workshop.reloading, "_read", side_effect=hang)
    try:
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as group:
                group.start_soon(workshop.reloading.run)
                workshop.reloading.request()
                await anyio.to_thread.run_sync(begun.wait)
                group.cancel_scope.cancel()
    finally:
        answers.set()


async def test_a_map_that_leaves_out_most_reactions_is_taken_and_warned_of(
    workshop: Workshop, logged: pytest.LogCaptureFixture
) -> None:
    assert await workshop.reload(FURTHER)
    assert await workshop.reload("intent-compiler: {}")
    (record,) = [record for record in logged.records if "lacks" in record.message]
    assert record.levelno == logging.WARNING
    assert "lacks 2 of the former 2 reactions" in record.message


async def test_after_a_wrong_map_the_next_right_one_is_taken(workshop: Workshop) -> None:
    await workshop.reload(UNKNOWN)
    assert await workshop.reload(FURTHER)
    status = workshop.engine.reloads.status()
    assert (status["reloads"], status["failures"], status["last_error"]) == (1, 1, None)


async def test_a_setting_that_has_changed_has_its_readers_evaluated_again(workshop: Workshop) -> None:
    workshop.configure(intentc={"settings": {"colour": "blue", "smell": "oak"}})
    assert await workshop.reload()
    assert RUNS == ["tool saw"]


async def test_a_setting_that_has_gone_is_gone_for_its_readers(workshop: Workshop) -> None:
    workshop.configure(intentc={"settings": {}})
    assert await workshop.reload()
    assert RUNS == ["tool saw"]
    assert [problem.reason for problem in workshop.offline.problems()] == ["EvaluationFailed"]


async def test_what_a_reload_will_do_is_logged_before(workshop: Workshop, logged: pytest.LogCaptureFixture) -> None:
    workshop.configure(intentc={"settings": {"colour": "blue"}})
    await workshop.reload(FURTHER)
    assert [record.message for record in logged.records if record.levelno == logging.INFO] == [
        f"reload: + shelf (from tool) → room ({workshop.map}:6)",
        "reload: the setting colour has changed",
        "reload: reactions +1 -0, settings changed: 1, intents to evaluate again because of the map: 1 (room)",
        "reloaded",
    ]


async def test_what_needs_a_restart_is_named_and_the_rest_is_taken(
    workshop: Workshop, logged: pytest.LogCaptureFixture
) -> None:
    workshop.configure(
        etcd={"path": "elsewhere"},
        compilation={"number_of_workers": 7},
        log_level="debug",
        intentc={"settings": {"colour": "blue"}},
    )
    assert await workshop.reload()
    assert [record.message for record in logged.records if record.levelno == logging.WARNING] == [
        "reload: restart to change compilation.number_of_workers",
        "reload: restart to change etcd.path",
    ]
    assert RUNS == ["tool saw"]
    assert [configuration.log_level for configuration in workshop.taken] == ["debug"]


async def test_missing_reactions_are_counted_anew_under_another_map(workshop: Workshop) -> None:
    workshop.engine.evaluator.note_missing(("room", "tool"))
    await workshop.reload()
    assert workshop.engine.evaluator.missing_reactions == {("room", "tool"): 1}
    await workshop.reload(FURTHER)
    assert workshop.engine.evaluator.missing_reactions == {}


async def test_one_reload_runs_at_a_time_and_the_last_wins(workshop: Workshop) -> None:
    maps = [WITHOUT, FURTHER]
    under_way: list[str] = []

    def read() -> Loaded:
        assert not under_way
        under_way.append("one")
        workshop.map.write_text(maps.pop(0))
        if maps:
            # Both of these are one more reload, after this one.
            anyio.from_thread.run_sync(reloading.request)
            anyio.from_thread.run_sync(reloading.request)
        under_way.clear()
        return workshop.read()

    reloading = Reloader(workshop.engine, workshop.compilers, workshop.loaded, read)
    async with anyio.create_task_group() as group:
        group.start_soon(reloading.run)
        reloading.request()
        reloading.request()
        with anyio.fail_after(PATIENCE):
            while workshop.engine.reloads.reloads < 2:
                await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert maps == []
    assert ("room", "shelf") in workshop.engine.world.reactions
