"""What else people call what a compiler made (``Compiler(names=…)``): by the names of the program that uses it.

Why it exists: who reads a statistic or a log line of that program has its name for a thing, not the object's, and only
the compiler's author knows the one from the other. Who asks, and what is told of the object, is left to others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from .overview import Compiled


class Naming(NamedTuple):
    """``kinds``: the kinds that it looks at, and may name. ``find``: a pure function of a text and of the objects of
    these kinds → (kind, fq_name joined by ``:``) of each that the text may mean, the likeliest first; those need not
    exist. It is asked twice: first with a ``Compiled`` that only knows single objects by name, which costs nothing, and
    where that yields nothing with all of them, in a thread of its own."""

    kinds: tuple[str, ...]
    find: Callable[[str, Compiled], Iterable[tuple[str, str]]]
