"""The contrail compiler's engine over memory, as tests with a mocked ``WriteService`` use it (docs/authoring.md)."""

from __future__ import annotations

from collections.abc import Iterable

from intentc.testing import MemoryService, WriteService, service_for
from intentc.testing.given import Resource


def contrail_service(*, write_service: WriteService | None = None, cached: Iterable[Resource] = ()) -> MemoryService:
    return service_for("contrail", write_service=write_service, cached=cached)
