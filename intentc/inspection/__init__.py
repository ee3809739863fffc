"""Answers questions about a running engine: why an object exists or does not, its neighbours, its history.

It only reads the engine's views (``engine/view``) and the journal, in slices of a few milliseconds, and evaluates
intents again to collect their reasons. Its only I/O is reading the journal's files, in a thread; its only state is the
samples behind ``/status`` and a salt for comparing secrets. ``answers`` implements the interface that ``diagnostics``
calls, with one module per question. The page and the commands decide how answers look.
"""

from .answers import Answers

__all__ = ["Answers"]
