"""The commands, one module each; what they share stands in ``intentc.cli``."""
