"""Why each element of Envoy is there: told to ``ctx.because`` when somebody asks, and at no other time.

An element often follows from many resources, over facts: who is needed for it, and who could take another's place, is
found by asking the rules themselves again with fewer of them (``sufficient.py``), or by going back from the element's
name to all from whom it could follow. Reasons are complete: without a source of each the element is gone. One that
could take another's place is named also while it is overruled. Nothing here decides what an element is.
"""

from collections.abc import Iterable

from intentc import Source

Sources = tuple[Source, ...]
"""What one reason needs, all of it."""

Reasons = Iterable[Sources]

PartReasons = Iterable[tuple[str, Sources]]
"""(part of an element, what one reason for it needs beside the element itself)"""
