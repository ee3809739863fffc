"""Each log line about an intent or an object has its key, the revision, and the reaction path."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from intentc.model import Name
from intentc.writing import Rejected, Throttled
from tests.support.box_system import BoxSystem, part

pytestmark = pytest.mark.anyio


def line(caplog: pytest.LogCaptureFixture, words: str) -> dict[str, Any]:
    """The extras of the only line with these words."""
    (record,) = [record for record in caplog.records if words in record.getMessage()]
    return vars(record)


async def test_a_held_intent_is_logged_with_the_path_that_led_to_it(
    plant: BoxSystem, caplog: pytest.LogCaptureFixture
) -> None:
    await plant.boxes("a")
    await plant.change("a", text="fail")
    fields = line(caplog, "is held, its outputs stay")
    a = await plant.key("box", "a")
    assert (fields["key"], fields["resource"], fields["reason"]) == (str(a), "box a", "failed")
    assert (fields["revision"], fields["reaction_path"]) == (plant.engine.world.mod_revision(a), ["box a"])


async def test_a_value_that_cannot_be_read_is_logged_with_its_key(
    plant: BoxSystem, caplog: pytest.LogCaptureFixture
) -> None:
    await plant.boxes("a")
    a = await plant.key("box", "a")
    await plant.put(a, b"{")
    fields = line(caplog, "is held: ")
    assert (fields["key"], fields["revision"]) == (str(a), plant.engine.revision)


@pytest.mark.parametrize("error", [Rejected(422, "no such colour"), Throttled(60.0)])
async def test_a_write_that_failed_is_logged_with_the_path_that_led_to_it(
    plant: BoxSystem, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    caplog.set_level(logging.INFO)
    await plant.boxes("b")
    await plant.boxes("a", text="see b", box_refs=[{"to": ["b"]}])
    plant.write.failures["a"] = [error]
    await plant.change("b", text="other")
    fields = line(caplog, "part a:one: ")
    assert fields["key"] == str(await plant.key("part", "a", "one"))
    assert (fields["resource"], fields["reaction_path"]) == ("part a:one", ["box b", "box a"])
    assert fields["revision"] == plant.engine.world.mod_revision(await plant.key("box", "b"))


async def test_a_missing_reaction_names_the_intent_that_showed_it(
    plant: BoxSystem, caplog: pytest.LogCaptureFixture
) -> None:
    await plant.boxes("b")
    await plant.boxes("a", text="see b")
    await plant.change("b", text="other")
    fields = line(caplog, "missing reaction")
    assert (fields["resource"], fields["reaction_path"]) == ("box a", [])


async def test_evaluations_and_writes_are_logged_at_level_debug(
    plant: BoxSystem, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "intentc.engine")
    await plant.boxes("a")
    a = await plant.key("box", "a")
    evaluated, written = line(caplog, "evaluated "), line(caplog, "written: ")
    assert (evaluated["key"], evaluated["reaction_path"]) == (str(a), ["box a"])
    assert (written["message"], written["reaction_path"]) == ("written: create part a:one", ["box a"])
    assert written["written"] > written["revision"]


async def test_no_body_is_ever_logged(plant: BoxSystem, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "intentc")
    await plant.boxes("a", text="a text that must not show")
    plant.write.failures["a"] = [Rejected(422, "refused")]
    await plant.change("a", text="a text that must not show either")
    await plant.remove("a")
    shown = "".join(str(vars(record)) for record in caplog.records if record.name.startswith("intentc"))
    assert "box a" in shown
    assert "must not show" not in shown


async def test_an_absent_object_is_logged_by_its_name(plant: BoxSystem) -> None:
    assert plant.engine.about(part("a"))["key"] == "part a:one"
    assert plant.engine.about(Name("moon", ("a",))) == {
        "key": "moon a",
        "resource": "moon a",
        "revision": plant.engine.revision,
        "reaction_path": [],
    }
