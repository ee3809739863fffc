"""The command line: one module per command, loaded when it is called.

``commands`` lists them, ``errors`` holds the exit codes and what a failure looks like. Nothing that costs start-up
time (gRPC, HTTP, graphs, tables) may be imported before a command needs it: ``intentc --help`` is measured.
"""

from .entry import main

__all__ = ["main"]
