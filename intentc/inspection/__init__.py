"""Answers about a running engine: why an object exists or does not, what is around it, what happened to it.

It reads the engine's parts and the journal between two awaits, evaluates again to be told reasons, and changes
nothing. ``answers`` is the face that ``diagnostics`` asks; one module per question. How answers are shown is left to
the page and the commands.
"""

from .answers import Answers

__all__ = ["Answers"]
