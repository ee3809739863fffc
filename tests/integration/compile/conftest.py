"""The compiler between a real etcd and a real API server over HTTP."""

from tests.support.live_fixtures import bare_world, loaded, world

__all__ = ["bare_world", "loaded", "world"]
