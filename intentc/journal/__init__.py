"""Stage 9: what was done and why, the last few thousand steps of it, in memory and, if wanted, in a ring of files.

``entries`` are the lines, ``journal`` keeps and finds them; ``keeping`` puts them into ``files`` as ``records``, where
``searching`` finds them after a restart. How an answer to "why" is worded is left to the faces.
"""

from .entries import Entry, Kept, Line, Write, touches
from .journal import Delivery, Journal, TooManyFollowers

__all__ = ["Delivery", "Entry", "Journal", "Kept", "Line", "TooManyFollowers", "Write", "touches"]
