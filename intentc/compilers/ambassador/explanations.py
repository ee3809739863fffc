"""The types of explanations: the sources that one reason for an element, or for a part of it, needs."""

from collections.abc import Iterable

from intentc import Source

Sources = tuple[Source, ...]
"""All sources that one reason needs."""

Reasons = Iterable[Sources]

PartReasons = Iterable[tuple[str, Sources]]
"""(part of an element, the sources that one reason for it needs in addition to those of the element)"""
