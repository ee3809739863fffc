"""Answers ``GET /why``: why a resource exists or does not, from its sources to its history.

``why`` assembles the answer. ``part_sources`` and ``sources`` have the reasons, ``contents`` the values, ``outputs``
and ``dependents`` what follows, ``waiting`` what must happen first, ``absent`` why nothing is there, and ``sentence``
the summary.

It reads the engine and the journal, and evaluates intents again for their reasons: no output changes, but the engine
remembers which of these evaluations failed. State: the parts of one answer. The journal's files are read in a thread.
"""
