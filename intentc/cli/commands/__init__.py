"""The commands, one module each; what they share stands in ``intentc.cli``.

A command reads its options, calls one other package, and prints; rules of the engine or a domain are not here.
Each says which I/O its command does.
"""
