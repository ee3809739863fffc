"""The objects of one instance, as manifests: pure functions of an ``Instance`` (docs/gateway.md §8).

Each module makes the objects of one sort. No state, no I/O.
"""

from .child import Child

__all__ = ["Child"]
