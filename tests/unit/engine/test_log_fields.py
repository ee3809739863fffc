"""Each log line about an intent or an object has its key, the revision, and the reaction path."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from intentc.model import Name
from intentc.reconcile.failures import Rejected, Throttled
from tests.support.box_system import BoxSystem, part

pytestmark = pytest.mark.anyio


def line(caplog: pytest.LogCaptureFixture, words: str) -> dict[str, Any]:
    """The extras of the only line with these words."""
    (record,) = [record for record in caplog.records if words in record.getMessage()]
    return vars(record)


async def test_a_held_intent_is_logged_with_the_path_that_led_to_it(
    box_system: BoxSystem, caplog: pytest.LogCaptureFixture
) -> None:
    await box_system.boxes("a")
    await box_system.change("a", text="fail")
    fields = line(caplog, "is held, its outputs stay")
    a = await box_system.key("box", "a")
    assert (fields["key"], fields["resource"], fields["reason"]) == (str(a), "box a", "failed")
    assert (fields["revision"], fields["reaction_path"]) == (box_system.engine.world.mod_revision(a), ["box a"])


async def test_a_value_that_cannot_be_read_is_logged_with_its_key(
    box_system: BoxSystem, caplog: pytest.LogCaptureFixture
) -> None:
    await box_system.boxes("a")
    a = await box_system.key("box", "a")
    await box_system.put(a, b"{")
    fields = line(caplog, "is held: ")
    assert (fields["key"], fields["revision"]) == (str(a), box_system.engine.revision)


@pytest.mark.parametrize("error", [Rejected(422, "no such colour"), Throttled(60.0)])
async def test_a_write_that_failed_is_logged_with_the_path_that_led_to_it(
    box_system: BoxSystem, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    caplog.set_level(logging.INFO)
    await box_system.boxes("b")
    await box_system.boxes("a", text="see b", box_refs=[{"to": ["b"]}])
    box_system.write.failures["a"] = [error]
    await box_system.change("b", text="other")
    fields = line(caplog, "part a:one: ")
    assert fields["key"] == str(await box_system.key("part", "a", "one"))
    assert (fields["resource"], fields["reaction_path"]) == ("part a:one", ["box b", "box a"])
    assert fields["revision"] == box_system.engine.world.mod_revision(await box_system.key("box", "b"))


async def test_a_missing_reaction_names_the_intent_that_showed_it(
    box_system: BoxSystem, caplog: pytest.LogCaptureFixture
) -> None:
    await box_system.boxes("b")
    await box_system.boxes("a", text="see b")
    await box_system.change("b", text="other")
    fields = line(caplog, "missing reaction")
    assert (fields["resource"], fields["reaction_path"]) == ("box a", [])


async def test_evaluations_and_writes_are_logged_at_level_debug(
    box_system: BoxSystem, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "intentc.engine")
    await box_system.boxes("a")
    a = await box_system.key("box", "a")
    evaluated, written = line(caplog, "evaluated "), line(caplog, "written: ")
    assert (evaluated["key"], evaluated["reaction_path"]) == (str(a), ["box a"])
    assert (written["message"], written["reaction_path"]) == ("written: create part a:one", ["box a"])
    assert written["written"] > written["revision"]


async def test_no_body_is_ever_logged(box_system: BoxSystem, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "intentc")
    await box_system.boxes("a", text="a text that must not show")
    box_system.write.failures["a"] = [Rejected(422, "rejected")]
    await box_system.change("a", text="a text that must not show either")
    await box_system.remove("a")
    shown = "".join(str(vars(record)) for record in caplog.records if record.name.startswith("intentc"))
    assert "box a" in shown
    assert "must not show" not in shown


async def test_an_absent_object_is_logged_by_its_name(box_system: BoxSystem) -> None:
    assert box_system.engine.about(part("a"))["key"] == "part a:one"
    assert box_system.engine.about(Name("moon", ("a",))) == {
        "key": "moon a",
        "resource": "moon a",
        "revision": box_system.engine.revision,
        "reaction_path": [],
    }
