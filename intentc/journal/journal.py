"""The bounded journal: a ring of lines, appended to on the hot path, searched only when somebody asks.

Why no index: appending must cost next to nothing for every evaluation, and looking through ten thousand lines for
one question takes a millisecond.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from intentc.model import Key, Name

from .entries import Entry, Write


class Journal:
    """Keeps the last ``size`` lines; older ones go."""

    def __init__(self, size: int = 10_000) -> None:
        self._lines: deque[Entry | Write] = deque(maxlen=size)
        self.add = self._lines.append
        """Note an evaluation."""
        self.wrote = self._lines.append
        """Note a write."""

    def clear(self) -> None:
        """Forget all: what was done is void."""
        self._lines.clear()

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[Entry | Write]:
        """All lines, the oldest first."""
        return iter(tuple(self._lines))

    def about(self, name: Name) -> tuple[Entry | Write, ...]:
        """The lines about an object, the oldest first: its writes, and the evaluations that changed claims on it."""
        return tuple(line for line in self if (line.name == name if isinstance(line, Write) else name in line.objects))

    def of(self, key: Key) -> tuple[Entry | Write, ...]:
        """The lines that go back to one intent, the oldest first: its own evaluations, those that a change of it led
        to, and the writes of objects on which its own evaluations changed claims before."""
        found: list[Entry | Write] = []
        touched: set[Name] = set()
        for line in self:
            if isinstance(line, Write):
                if line.name in touched:
                    found.append(line)
            elif line.origin == key or line.source == key:
                found.append(line)
                touched.update(line.objects)
        return tuple(found)
