"""Runs the command line as ``python -m intentc.cli``, where the ``intentc`` script is not installed.

It runs ``entry.main``, and does nothing else: no state of its own.
"""

from .entry import main

main()
