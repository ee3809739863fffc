"""Checks regular expressions before Envoy (RE2) does; no other module parses them.

Envoy rejects a whole route configuration for one bad pattern, so all that can be found out in advance is reported on
the resource. The exact size of RE2's program can't: ``Shape.size`` is a lower bound, so that no valid pattern is
rejected; Envoy decides the rest (``envoy_rejection``).

Pure functions of values.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_MOST_REPETITIONS = 1000
_MOST_NESTED = 200
_TOKEN = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|$)"
    r"|\\[pP](?:\{\^?\w+\}|\w)|\\x\{[0-9a-fA-F]+\}|\\[1-7][0-7]{1,2}|\\(?P<escaped>.)"
    r"|(?P<class>\[\^?\]?+(?:\[:\^?\w+:\]|\\.|[^\]\\])*\])"
    r"|(?P<group>\((?:\?(?P<kind>P?<[A-Za-z_]\w*>|[imsU-]*:|[imsU-]+(?=\))))?)"
    r"|(?P<repeat>\{(?P<least>\d+)(?:,(?P<most>\d*))?\}|[*+?])"
    r"|(?P<end>[)|])"
    r"|(?P<literal>.)",
    re.DOTALL,
)
_ESCAPES = frozenset("afnrtvdDsSwWbBAzC0xQE")


class BadRegex(ValueError):
    """What RE2 would reject, in words."""


class Shape(NamedTuple):
    """``size``: the least number of instructions in RE2's program. ``groups``: the number of capturing groups."""

    size: int
    groups: int


def shape(pattern: str) -> Shape:
    """What is known of ``pattern`` without RE2. Raises ``BadRegex`` for what RE2 rejects."""
    sizes, groups, last, position, repeatable = [0], 0, 0, 0, False
    while position < len(pattern):
        token = _TOKEN.match(pattern, position)
        assert token is not None, "the last alternative matches anything"
        position = token.end()
        if token["repeat"]:
            if not repeatable:
                raise BadRegex(f"nothing that could be repeated before {token['repeat']!r}")
            grown = last * _times(token)
            sizes[-1] += grown - last
            position += pattern.startswith("?", position)
            last, repeatable = grown, False
            continue
        if token["group"]:
            if pattern.startswith("?", position):
                raise BadRegex(f"RE2 has nothing like {pattern[token.start() : token.start() + 4]!r} (no lookaround)")
            captures = token["kind"] is None or token["kind"].endswith(">")
            groups += captures
            sizes.append(2 if captures else 0)
            if len(sizes) > _MOST_NESTED:
                raise BadRegex("groups are nested too deeply")
            repeatable = False
            continue
        if token["end"] == ")":
            if len(sizes) == 1:
                raise BadRegex("a closing parenthesis without an opening one")
            last = sizes.pop()
            sizes[-1] += last
            repeatable = True
            continue
        last = _literal(token)
        sizes[-1] += last
        repeatable = token["end"] is None
    if len(sizes) > 1:
        raise BadRegex("a group is not closed")
    return Shape(sizes[0], groups)


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
    """The size of one match. Raises ``BadRegex``."""
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
    return len(token["quoted"]) if token["quoted"] is not None else 1


def _check_class(text: str) -> None:
    """Checks that no range runs backwards. Raises ``BadRegex``."""
    without_escapes = re.sub(r"\\(?:x[0-9a-fA-F]{2}|x\{\w+\}|[0-7]{1,3}|.)", "\\0", text)
    for first, last in re.findall(r"([0-9A-Za-z])-([0-9A-Za-z])", without_escapes):
        if first > last:
            raise BadRegex(f"the range {first}-{last} runs backwards")


def _times(token: re.Match[str]) -> int:
    """How often RE2's program repeats the token. Raises ``BadRegex``."""
    if token["least"] is None:
        return 1
    least, most = int(token["least"]), int(token["most"] or token["least"])
    if most < least or most > _MOST_REPETITIONS:
        raise BadRegex(f"RE2 repeats at most {_MOST_REPETITIONS} times: {token['repeat']}")
    return most
