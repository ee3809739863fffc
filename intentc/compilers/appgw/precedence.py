"""Which of several Ingresses counts: the oldest, then by namespace and name (docs/appgw.md §8.1).

Values only.
"""

from __future__ import annotations

import msgspec


class Owner(msgspec.Struct, frozen=True, order=True):
    """An Ingress, in its place among others: of two that contradict each other, the lesser one counts."""

    created: str
    """Its ``creationTimestamp``."""
    namespace: str
    name: str

    @property
    def shown(self) -> str:
        """namespace:name, as problems name it."""
        return f"{self.namespace}:{self.name}"
