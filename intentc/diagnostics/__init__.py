"""Serves the diagnostics of a running compiler or bridge: answers and pages over HTTP, metrics, and structured logs.

``app`` assembles the paths, ``serving`` listens, ``access`` decides who may ask. ``asking`` takes questions,
``browsing`` those for tables, ``parameters`` checks them, and ``answering`` bounds the answers; ``value_paths`` finds a
part in an answer. ``events`` streams changes, ``pages`` renders HTML, ``metrics`` defines a compiler's figures,
``registry`` exports figures, ``logs`` formats and redacts. The data comes from the engine or bridge through the
protocols in ``observed``. This module imports nothing, so that a command which only logs loads no web server.

It changes nothing in the engine. State: connections, followers of events, the token, log levels and known secrets, and
the pages' files.
"""
