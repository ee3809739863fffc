"""Answers ``GET /why``: why a resource exists or does not, from its sources to its history.

It reads the engine and the journal, evaluates intents again for their reasons, and changes nothing. State: the parts of
one answer. The journal's files are read in a thread.

Touches: clock, threads; through others: files, logs, processes.
"""
