"""Serves the diagnostics of a running compiler or bridge: answers and pages over HTTP, metrics, and structured logs.

``questions`` defines what can be asked, and the process and the reader that answer. ``app`` assembles the paths,
``json_answers`` bounds the answers, ``serving`` listens, ``access`` decides who may ask, ``event_streams`` streams
changes, ``pages`` renders HTML, ``metrics`` defines figures, ``logs`` formats and redacts. This module imports nothing,
so that a command which only logs loads no web server.
"""
