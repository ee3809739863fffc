"""Contrail's shipped reaction map with other reactions of security groups, for tests of maps that are wrong.

Why it exists: a text that is replaced in a map must stand in it, or the test would try the shipped map.
"""

from __future__ import annotations

from intentc.loading.paths import reactions_file

SHIPPED = reactions_file("contrail").read_text()
_GROUPS = "    self: [security_group, security_logging_object, project]\n"


def to_groups(targets: str) -> str:
    """The map in which a changed security group leads to ``targets``, a YAML list."""
    assert SHIPPED.count(_GROUPS) == 1, f"the shipped map no longer says {_GROUPS.strip()!r}; correct it here"
    return SHIPPED.replace(_GROUPS, f"    self: {targets}\n")


WITHOUT_GROUPS = to_groups("[security_logging_object, project]")
"""A change of a group does not lead to those that name it."""
