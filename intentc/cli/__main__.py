"""Runs the command line as ``python -m intentc.cli``, where the ``intentc`` script is not installed.

It runs ``entry.main``.

Touches: nothing itself; through others: clock, environment, files, logs, processes, sockets, terminal, threads.
"""

from .entry import main

main()
