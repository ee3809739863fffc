"""Names the fixed root of the tree, which is not stored, so its children have no parent_uuid (docs/contrail.md A.3,
B.5.4)."""

from __future__ import annotations

ROOT_KINDS = frozenset({"config_root"})
