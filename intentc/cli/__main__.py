"""``python -m intentc.cli``: the command line where the ``intentc`` script is not installed."""

from .entry import main

main()
