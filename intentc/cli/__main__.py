"""Runs the command line as ``python -m intentc.cli``, where the ``intentc`` script is not installed."""

from .entry import main

main()
