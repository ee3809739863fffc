"""Names what the server recognizes by itself: the root, kinds of tenants, access lists, and the marks of compilers.

Why it exists: rules of kinds and ``authorization`` both need these, and neither may import the other.

Constants and pure functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from intentc.model.ownership import MARK_KEY, Mark

ACCESS_LIST = "api_access_list"
"""Its resources hold the rules."""

EVERYBODY = "global_system_config"
"""Lists below it concern every caller."""

DOMAIN, PROJECT = "domain", "project"
"""Lists below one concern the callers whose token is for it."""

DEFAULT_DOMAIN = "default-domain"
"""The name of the domain that Keystone calls ``default``."""


ROOT_KINDS = frozenset({"config_root"})
"""The root of the tree. It is not stored, so its children have no parent_uuid (docs/contrail.md A.3, B.5.4)."""


def mark_of(document: Mapping[str, Any]) -> Mark | None:
    """The mark of a resource that a compiler made; None for others."""
    pairs = (document.get("annotations") or {}).get("key_value_pair") or ()
    marks = (Mark.parse(pair.get("value") or "") for pair in pairs if pair.get("key") == MARK_KEY)
    return next((mark for mark in marks if mark is not None), None)
