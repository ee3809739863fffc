"""Describes an exception in words that are never empty.

Why it exists: several libraries raise exceptions without a text (a timeout, a connection that nobody accepts), and a
message that ends in a colon helps nobody. The text is then that of what caused it.

Pure.
"""

from __future__ import annotations


def described(error: BaseException) -> str:
    """The class and text of ``error``; if it has no text, the text of the first cause that has one.

    >>> described(ValueError("no number")), described(TimeoutError())
    ('ValueError: no number', 'TimeoutError')
    """
    name, seen = type(error).__name__, 0
    cause: BaseException | None = error
    while cause is not None and seen < _CAUSES:
        if text := str(cause).strip():
            return f"{name}: {text}"
        cause, seen = cause.__cause__ or cause.__context__, seen + 1
    return name


_CAUSES = 10
