"""Answers questions about a running engine: its status and resources, why one exists or does not, and what was done.

``reader`` answers the questions of the diagnostics and computes the compilers' views, with one module per question:
``details/`` shows what the engine holds, ``why/`` explains, and ``lookup/`` finds what a person means. ``status/``
computes ``/status``; the other modules serve all of these. The page and the commands decide how answers
look.

It only reads the engine (``engine/live.py``) and the journal, in slices of a few milliseconds, and evaluates intents
again to collect their reasons; the engine remembers which of these evaluations failed. The journal's files are read in
threads. State: the samples behind ``/status``, the findings of the last maps, a salt for comparing secrets, which
warnings were logged, how many threads read files, and locks.
"""

from .reader import Reader

__all__ = ["Reader"]
