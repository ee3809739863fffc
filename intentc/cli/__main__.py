"""Runs the command line as ``python -m intentc.cli``, where the ``intentc`` script is not installed.

It runs ``entry.main``.
"""

from .entry import main

main()
