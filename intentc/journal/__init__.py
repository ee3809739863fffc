"""Stage 9: records what was done and why: the last few thousand steps, in memory and optionally in files.

``entries`` are the lines, ``journal`` keeps and finds them; ``keeping`` writes them into ``files`` as ``records``;
``searching`` finds them there after a restart. Commands and pages word the answer to "why".

State: the lines, in memory. It owns the journal's files.

Touches: clock, files, logs, threads.
"""

from .entries import Entry, Kept, Line, Write, touches
from .journal import Delivery, Journal, TooManyFollowers

__all__ = ["Delivery", "Entry", "Journal", "Kept", "Line", "TooManyFollowers", "Write", "touches"]
