"""Connects the stages: one module per step of an event's path, and what several steps share (docs/architecture.md).

No stage imports another one. The modules here carry a batch from the watch to the intents, an outcome to the claims, a
plan to the API server, and an allocation from the server to the intent that waits for it. ``assembly.py`` makes the
stages, ``engine.py`` wires the steps, and ``live.py`` shows them to others. All requests pass through the read and
write services of ``writing``. Rules of a domain or of a single stage belong elsewhere. Each module keeps its own state
in memory.
"""
