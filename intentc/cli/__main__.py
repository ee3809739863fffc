"""Runs the command line as ``python -m intentc.cli``, where the ``intentc`` script is not installed.

It does nothing else.
"""

from .entry import main

main()
