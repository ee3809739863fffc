"""Stage 9: records what was done and why, in a bounded ring in memory and, if configured, in a ring of files.

``entries`` defines the lines, ``journal`` keeps and finds them in memory; ``keeping`` writes them into ``files`` as
``records``; ``searching`` finds lines there that memory lacks. ``inspection`` answers questions from them.

State: the lines and their followers, the last names of deleted resources, and how far the files have them. It owns the
journal's files.
"""

from .entries import Entry, Kept, Line, Write, touches
from .journal import Delivery, Journal, TooManyFollowers

__all__ = ["Delivery", "Entry", "Journal", "Kept", "Line", "TooManyFollowers", "Write", "touches"]
