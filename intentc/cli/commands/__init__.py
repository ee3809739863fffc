"""The commands, one module each; what they share stands in ``intentc.cli``.

A command reads its options and the configuration (``options``), calls other packages, and prints on stdout and stderr;
rules of the engine or a domain are not here.
"""
