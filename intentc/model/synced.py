"""The mark by which a bridge says that etcd holds a whole kind of a cluster.

Why in the model: the bridge writes it, and the service reads it (``needs_synced``); neither knows the other.

Values only.
"""

from __future__ import annotations

import msgspec


class Mark(msgspec.Struct, frozen=True):
    """``cluster``: what identifies it, empty if that could not be read. ``version``: the resourceVersion up to which it
    was seen. ``served``: whether the cluster has the kind."""

    cluster: str = ""
    version: str = ""
    served: bool = True


def synced_prefix(path: str) -> str:
    """The prefix of the marks of the kinds below ``/<path>/``. Every installation that compiles them reads these."""
    return f"/intentc/synced/{path}/"


def synced_key(path: str, kind: str) -> str:
    """The key of a kind's mark."""
    return f"{synced_prefix(path)}{kind}"
