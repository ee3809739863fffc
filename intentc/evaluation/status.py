"""Builds claims on the status of resources: conditions and fields (docs/engine.md §5.8).

>>> from intentc import Intent, status
>>> class FarmIntent(Intent):
...     kind = "farm"
...     def evaluate(self, ctx):
...         yield status.condition(self, "Sown", False, "NoCrops", "no crop is valid; give one")
...         yield status.field(self, "state", "idle")

An author says what holds now. The runner adds the generation; planning decides which items are written, and the API
server gives the times. The kind's schema declares the conditions and the fields that may be claimed.
"""

from __future__ import annotations

from typing import Any

from intentc.model import Name, ResourceClaim, StatusClaim
from intentc.model.status import condition as condition_item

from .intent import View, name_of


def condition(
    owner: View | ResourceClaim | Name, type: str, status: bool | str, reason: str, message: str = ""
) -> StatusClaim:
    """A claim that ``owner`` has the condition ``type``. ``status``: a boolean, or ``True``, ``False``, ``Unknown``;
    ``reason``: a CamelCase word for programs; ``message``: for people.

    >>> condition(Name("farm", ("valley", "north")), "Fenced", False, "GateOpen").value
    {'type': 'Fenced', 'status': 'False', 'reason': 'GateOpen', 'message': ''}
    """
    value = {"type": type, "status": str(status), "reason": reason, "message": message}
    return StatusClaim(name_of(owner), condition_item(type), value)


def field(owner: View | ResourceClaim | Name, path: str, value: Any) -> StatusClaim:
    """A claim that the status of ``owner`` has ``value`` at ``path`` (dots between names). When nobody claims it any
    more, it has its default again."""
    return StatusClaim(name_of(owner), path, value)
