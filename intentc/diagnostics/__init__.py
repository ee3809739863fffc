"""Serves the diagnostics of a running compiler: answers and pages over HTTP, metrics, and structured logs.

``app`` assembles the paths, ``serving`` listens, ``access`` decides who may ask. ``asking`` takes questions,
``browsing`` those for tables, ``parameters`` checks them, and ``answering`` bounds the answers. ``events`` streams
changes, ``pages`` renders HTML, ``metrics`` defines the figures, ``logs`` formats and redacts. The data comes from the
engine through the protocols in ``observed``. This module imports nothing, so that a command which only logs loads no
web server.

It changes nothing in the engine. State: connections, followers of events, the token, log levels and known secrets, and
the pages' files.

Touches: clock, files, HTTP, logs, metrics, sockets, terminal; through others: environment, processes, randomness,
threads.
"""
