"""Orders: what operators told the compiler, kept in etcd, so that it outlives processes and every standby knows it.

``order`` says what an order is, ``book`` puts and withdraws them, ``watching`` brings them to the engine's ``levers``.
Why etcd and not a call to the compiler: the diagnostics are read-only, and etcd's own roles protect who may write.
"""

from .actions import Levers
from .book import Book, Kept
from .directive import AllowDeletes, Drop, Order, Pause, Retry, Suspect, orders_prefix
from .suspects import hold_suspects
from .watching import Orders

__all__ = [
    "AllowDeletes",
    "Book",
    "Drop",
    "Kept",
    "Levers",
    "Order",
    "Orders",
    "Pause",
    "Retry",
    "Suspect",
    "hold_suspects",
    "orders_prefix",
]
