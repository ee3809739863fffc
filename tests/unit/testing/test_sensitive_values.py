"""An intent that fails over a sensitive value: whatever the engine shows of it afterwards does not hold the value."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from intentc import Compiler, Intent
from intentc.testing import MemoryService, load, service_for
from tests.support.engine_status import engine_status

pytestmark = pytest.mark.anyio

CANARY = "canary-of-a-safe"
SAFE = load(f"{{kind: safe, data: {{fq_name: [s], code: {CANARY}, body: body-canary}}}}\n")


class SafeIntent(Intent):
    kind = "safe"

    def evaluate(self, ctx: Any) -> Iterable[Any]:
        ctx.problem("Odd", f"the code {self.code!r} is odd")
        if self.body:
            raise ValueError({"code": self.code})
        yield self.child("lid", "lid", code=self.code)


@pytest.fixture
def service(tmp_path: Path) -> MemoryService:
    folder = tmp_path / "schemas" / "safes"
    folder.mkdir(parents=True)
    sensitive = "{type: string, sensitive: true%s}"
    (folder / "safe.yml").write_text(f"kind: safe\ngroup: toy\nproperties: {{code: {sensitive % ''}, body: string}}\n")
    (folder / "lid.yml").write_text(
        "kind: lid\ngroup: toy\nparents: [safe]\nsystem: true\n"
        f"properties: {{code: {sensitive % ', writer: compiler'}}}\n"
    )
    (tmp_path / "reactions.yml").write_text("intent-compiler: {safe: {self: []}}\n")
    compiler = Compiler(
        "safes", [SafeIntent], schema_directories=[tmp_path / "schemas"], reactions=tmp_path / "reactions.yml"
    )
    return service_for(compiler)


async def test_it_is_in_no_problem_status_page_journal_or_log(
    service: MemoryService, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await service.create(SAFE)
    assert {problem.reason for problem in service.problems} == {"EvaluationFailed", "Odd"}
    engine = service.offline.engine
    status = msgspec.json.encode(engine_status(engine)).decode()
    assert "<secret>" in status and "safe" in status
    shown = [status, caplog.text, repr(service.problems), repr(list(engine.journal))]
    assert all(text and CANARY not in text for text in shown), shown
    assert all("body-canary" not in text for text in shown), shown
    assert f'File "{__file__}", line ' in caplog.text, "where it failed, for pytest and the log"


async def test_it_reaches_what_is_made_of_it_nevertheless(service: MemoryService) -> None:
    await service.create(SAFE.changed(body=""))
    (lid,) = service.written
    assert lid.properties["code"] == CANARY  # type: ignore[union-attr]
