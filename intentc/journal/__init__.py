"""Stage 9: records what was done and why, in a bounded ring in memory and, if configured, in a ring of files.

``journal`` defines the lines, keeps and finds them in memory; ``keeping`` writes them into files as ``records``;
``ring`` manages these files and finds lines there that memory lacks. ``inspection`` answers questions from them.
"""

from intentc.journal.journal import Delivery, Entry, Journal, Kept, Line, TooManyFollowers, Write, touches

__all__ = ["Delivery", "Entry", "Journal", "Kept", "Line", "TooManyFollowers", "Write", "touches"]
