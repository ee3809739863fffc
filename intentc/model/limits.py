"""How large a resource may be, by what etcd takes.

Why it exists: the API server rejects what the compilers would hold, with the same number. How deep a resource may be
nested stands in ``logic.door``.
"""

from __future__ import annotations

LARGEST_VALUE = 1_572_864
"""Bytes of one resource as JSON: what etcd takes in one request by default (``--max-request-bytes``)."""
