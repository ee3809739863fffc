"""Checks that a service instance has one template at most (docs/contrail.md B.7); a pure rule."""

from __future__ import annotations

from typing import ClassVar

from ..errors import BadRequest
from .rules import Change, Found, Rules, Uuids

_TEMPLATES = "service_template_refs"


class ServiceInstanceRules(Rules):
    """An instance has one template at most: its mode and interfaces come from there."""

    kind: ClassVar[str] = "service_instance"

    def admit(self, change: Change, found: Found, uuids: Uuids) -> None:
        templates = (change.after or {}).get(_TEMPLATES) or ()
        if len(templates) > 1 and change.changes(_TEMPLATES):
            raise BadRequest(f"{_TEMPLATES}: a service instance has one template; leave the others out")
