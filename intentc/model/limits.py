"""Limits the size of a resource, by what etcd accepts.

Why it exists: the API server rejects what the compilers would hold, with the same number. ``logic.decoding`` limits how
deep a resource may be nested.
"""

from __future__ import annotations

LARGEST_VALUE = 1_572_864
"""Bytes of one resource as JSON: what etcd takes in one request by default (``--max-request-bytes``)."""
