"""Maps names that another program uses to the objects that a compiler made (``Compiler(names=…)``).

Why it exists: a statistic or log line of that program has its own name for a thing, not the object's, and only the
compiler's author knows how they relate. Its callers decide what to show of the object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from .overview import Compiled


class Naming(NamedTuple):
    """``kinds``: the kinds that it looks at, and may name. ``find``: a pure function of a text and of the objects of
    these kinds → (kind, fq_name joined by ``:``) of each object that the text may mean, the likeliest first; they need
    not exist. It is called twice: first with a ``Compiled`` that only finds single objects by name, which is cheap, and
    if that yields nothing with all objects, in a separate thread."""

    kinds: tuple[str, ...]
    find: Callable[[str, Compiled], Iterable[tuple[str, str]]]
