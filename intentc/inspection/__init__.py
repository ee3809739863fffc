"""Answers questions about a running engine: why an object exists or does not, its neighbours, its history.

It only reads the engine (``engine/read_only``) and the journal, in slices of a few milliseconds, and evaluates intents
again to collect their reasons; the engine remembers which of these evaluations failed. The journal's files are read in
a thread. State: the samples behind ``/status``, the findings of the last maps, a salt for comparing secrets, and locks.
``answers`` implements the interface that ``diagnostics`` calls, with one module per question. The page and the commands
decide how answers look.

Touches: randomness, threads; through others: clock, files, logs, processes.
"""

from .answers import Answers

__all__ = ["Answers"]
