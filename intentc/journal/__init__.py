"""Stage 9: what was done and why, the last few thousand steps of it, in memory.

``entries`` are the lines, ``journal`` keeps and finds them. How an answer to "why" is worded is left to the faces.
"""

from .entries import Entry, Write
from .journal import Journal

__all__ = ["Entry", "Journal", "Write"]
