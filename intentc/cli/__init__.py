"""The command line: one module per command in ``commands``, imported when the command is called, and what they share.

``entry`` lists the commands, ``command_error`` holds the exit codes and formats failures. Imports that cost start-up
time (gRPC, HTTP, graphs, tables) stay inside the commands that need them: a test measures ``intentc --help``.

Commands reach a running compiler over its diagnostics, resources over the API server, and directives over etcd; plans,
``audit`` and ``release`` read the live state from etcd. Others compile in memory, or run servers and bridges. They
print on stdout and stderr.
"""

from .entry import main

__all__ = ["main"]
