"""Answers questions about a running engine: its status and resources, why one exists or does not, and what was done.

``reader`` answers the questions of the diagnostics and computes the compilers' views. ``finding`` finds what a person
means, ``object_search``, ``neighbourhood``, ``compared``, ``journal_lines``, ``reaction_map``, ``quarantined`` and
``why`` answer one question each; ``status_tables``, ``pending_work`` and ``pending_references`` compute ``/status``.
The page and the commands decide how answers look.

It only reads the engine (``engine/live.py``) and the journal, in slices of a few milliseconds, and evaluates intents
again to collect their reasons; the engine remembers which of these evaluations failed.
"""

from intentc.inspection.reader import Reader

__all__ = ["Reader"]
