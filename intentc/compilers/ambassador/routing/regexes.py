"""Checks regular expressions before Envoy (RE2) does; no other module parses them.

Envoy rejects a whole route configuration for one bad pattern, so most mistakes are found here, and ``mapping``
and ``mapping_action`` report them on the resource. The exact size of RE2's program is not known: ``Shape.size`` is a
lower bound, so that no valid pattern is rejected; Envoy decides the rest (``envoy_rejection``).
"""

from __future__ import annotations

import re
from typing import NamedTuple

_MOST_REPETITIONS = 1000
_LONGEST_BOUND = 5
"""Digits of a number of repetitions that are read: ``int`` rejects 5,000 of them with a ``ValueError`` of its own."""
_MOST_NESTED = 200
_TOKEN = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|$)"
    r"|\\[pP](?:\{\^?\w+\}|\w)|\\x(?:\{[0-9a-fA-F]+\}|[0-9a-fA-F]{2})|\\0[0-7]{0,2}|\\[1-7][0-7]{1,2}"
    r"|(?P<place>\^|\$|\\[bBAz])"
    r"|\\(?P<escaped>.)"
    r"|(?P<class>\[\^?\]?+(?:\[:\^?\w+:\]|\\.|[^\]\\])*\])"
    r"|(?P<group>\((?:\?(?P<kind>P?<[A-Za-z_]\w*>|[imsU-]*:|[imsU-]+(?=\))))?)"
    r"|(?P<repeat>\{(?P<least>\d+)(?:,(?P<most>\d*))?\}|[*+?])"
    r"|(?P<end>[)|])"
    r"|(?P<literal>.)",
    re.DOTALL,
)
_ESCAPES = frozenset("afnrtvdDsSwWCQE")
_SET = re.compile(r"\.$|\[|\\[dDsSwWCpP]")
"""A token that matches one of several characters."""


class BadRegex(ValueError):
    """What RE2 would reject, in words."""


class Shape(NamedTuple):
    """``size``: RE2's program has at least so many instructions. ``groups``: the number of capturing groups."""

    size: int
    groups: int


class _Group:
    """An open group. ``own``: the instructions of a capturing one. RE2 merges what branches have in common, and single
    characters, so only the largest branch counts."""

    def __init__(self, own: int = 0) -> None:
        self.branch = 0
        self._own = own
        self._largest = 0

    @property
    def size(self) -> int:
        return self._own + max(self._largest, self.branch)

    def next_branch(self) -> None:
        self._largest, self.branch = max(self._largest, self.branch), 0


def shape(pattern: str) -> Shape:
    """What is known of ``pattern`` without RE2. Raises ``BadRegex`` for what RE2 rejects."""
    opened, groups, last, position, repeatable = [_Group()], 0, 0, 0, False
    # Of a pattern that begins with a place, RE2 compares the characters up to the first set without the program.
    in_prefix: bool | None = None
    while position < len(pattern):
        token = _TOKEN.match(pattern, position)
        assert token is not None, "the last alternative matches anything"
        position = token.end()
        if token["repeat"]:
            if not repeatable:
                raise BadRegex(f"nothing that could be repeated before {token['repeat']!r}")
            grown = _repeated(last, token)
            opened[-1].branch += grown - last
            position += pattern.startswith("?", position)
            last, repeatable, in_prefix = grown, False, False
            continue
        if token["group"]:
            if pattern.startswith("?", position):
                raise BadRegex(f"RE2 has nothing like {pattern[token.start() : token.start() + 4]!r} (no lookaround)")
            captures = token["kind"] is None or token["kind"].endswith(">")
            groups += captures
            in_prefix = in_prefix and not captures
            opened.append(_Group(2 if captures else 0))
            if len(opened) > _MOST_NESTED:
                raise BadRegex("groups are nested too deeply")
            repeatable = False
            continue
        if token["end"] == ")":
            if len(opened) == 1:
                raise BadRegex("a closing parenthesis without an opening one")
            last = opened.pop().size
            opened[-1].branch += last
            repeatable = True
            continue
        if token["end"]:
            opened[-1].next_branch()
            repeatable = False
            continue
        if token["quoted"] == "":
            continue
        last, repeatable = _literal(token), True
        in_prefix = token["place"] is not None if in_prefix is None else in_prefix and not _SET.match(token[0])
        if in_prefix:
            last = 0
        else:
            opened[-1].branch += last if token["quoted"] is None else len(token["quoted"])
    if len(opened) > 1:
        raise BadRegex("a group is not closed")
    return Shape(opened[0].size, groups)


def check(pattern: str, most: int) -> Shape:
    """Checks that RE2 accepts ``pattern`` and that its size is ``most`` or less. Raises ``BadRegex``."""
    if not pattern:
        raise BadRegex("it is empty")
    found = shape(pattern)
    if found.size > most:
        raise BadRegex(f"its size is {found.size:,} or more, and {most:,} is the limit (regex_max_size of the Module)")
    return found


def check_substitution(substitution: str, groups: int) -> None:
    """Checks that ``substitution`` names only existing groups (``\\1`` …, ``\\0`` for all). Raises ``BadRegex``."""
    if not substitution.isprintable():
        raise BadRegex(f"substitution: {substitution!r} has characters that can't stand there")
    for escape in re.findall(r"\\(?:.|$)", substitution, re.DOTALL):
        if escape[1:] != "\\" and not (escape[1:].isascii() and escape[1:].isdigit()):
            raise BadRegex(f"substitution: after a backslash there stands a digit or another one, not {escape[1:]!r}")
        if escape[1:].isdigit() and int(escape[1:]) > groups:
            raise BadRegex(f"substitution: {escape} names a group, and there are {groups}")


def _literal(token: re.Match[str]) -> int:
    """The size of one character, in a quotation of its last. Raises ``BadRegex``."""
    if token["place"] is not None:
        return 0  # RE2 does not repeat it.
    if token["escaped"] is not None:
        letter = token["escaped"]
        if letter in "123456789k":
            raise BadRegex(f"RE2 has no backreferences (\\{letter})")
        if letter.isalnum() and letter not in _ESCAPES:
            raise BadRegex(f"RE2 does not know \\{letter}")
        return 1
    if token["class"] is not None:
        _check_class(token["class"])
        return 1
    if token["literal"] == "[":
        raise BadRegex("a character class is not closed")
    if token["literal"] == "\\":
        raise BadRegex("it ends with a backslash")
    return 1


def _check_class(text: str) -> None:
    """Checks that no range runs backwards. Raises ``BadRegex``."""
    without_escapes = re.sub(r"\\(?:x[0-9a-fA-F]{2}|x\{\w+\}|[0-7]{1,3}|.)", "\\0", text)
    for first, last in re.findall(r"([0-9A-Za-z])-([0-9A-Za-z])", without_escapes):
        if first > last:
            raise BadRegex(f"the range {first}-{last} runs backwards")


def _repeated(size: int, token: re.Match[str]) -> int:
    """The size of what has ``size`` once it is repeated. Raises ``BadRegex``."""
    if token["least"] is None:
        # Neighbours are merged: ``a*a*`` is ``a*``.
        return 0 if token["repeat"] == "*" and size == 1 else size
    bounds = (token["least"], token["most"] or token["least"])
    is_short = all(len(bound) <= _LONGEST_BOUND for bound in bounds)
    least, most = map(int, bounds) if is_short else (0, _MOST_REPETITIONS + 1)
    if most < least or most > _MOST_REPETITIONS:
        raise BadRegex(f"RE2 repeats at most {_MOST_REPETITIONS} times: {token['repeat'][: 4 * _LONGEST_BOUND]}")
    return size * most
