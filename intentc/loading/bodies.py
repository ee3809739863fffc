"""Decodes the bodies that clients send to servers: JSON and YAML, within limits that keep the event loop free.

A body arrives before anybody knows what it holds, and the libraries that decode it have no limits of their own: nested
brackets end a process, a kilobyte of aliases fills its memory, and long numbers take seconds. Size, nesting, number of
values and length of numbers are checked in linear time before anything is decoded.

JSON within ``LARGEST`` takes some tens of milliseconds at most. YAML takes longer: call ``read_yaml`` in a thread.
"""

from __future__ import annotations

import functools
import math
from typing import Any, TypeVar

import msgspec

from intentc.model.limits import LARGEST_VALUE, deeper_than, outside_texts
from intentc.model.problem import InvalidInput

from .yaml import Limits, parse_documents, single

Wanted = TypeVar("Wanted")

LARGEST = 4 * 1024 * 1024
"""Bytes of a body. Etcd takes 1.5 MB in one request by default; JSON may write a character as six."""
DEEPEST = 64
"""Levels of objects and arrays: compilers accept no deeper values from etcd (``logic/decoding.py``)."""
MOST_VALUES = 100_000
"""Objects, arrays, and what stands in them. Fifteen bytes a value fill the largest request that etcd takes."""
MOST_FRACTIONS = 50_000
"""Numbers with a fraction or an exponent, which take the longest to decode."""
MOST_DIGITS = 32
"""Digits in a row of a number. A double needs 17; longer numbers take much longer to decode."""
TOO_LARGE = "TooLarge"
"""The reason of errors for bodies that are to be split."""

_YAML = Limits(size=LARGEST_VALUE, depth=DEEPEST, aliases=100, copies=10_000, nodes=MOST_VALUES, json_keys=True)
_AS_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_TOO_MANY_DIGITS = b"0" * (MOST_DIGITS + 1)


def read_json(raw: bytes, wanted: type[Wanted]) -> Wanted:
    """Decode JSON as ``wanted``.

    Raises ``InvalidInput`` with the place of the error; its reason is ``TOO_LARGE`` if there is too much of something.
    """
    _check(raw)
    try:
        found: Wanted = _decoder(wanted).decode(raw)  # type: ignore[arg-type]  # types are hashable
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(str(error) or "nested too deep") from None
    return found


def read_yaml(raw: bytes) -> Any:
    """Decode one YAML document, or JSON, into plain values. Raises ``InvalidInput`` as ``read_json`` does."""
    if len(raw) > _YAML.size:
        raise InvalidInput(f"it has more than {_YAML.size:,} bytes of YAML; split it, or send JSON", reason=TOO_LARGE)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(str(error)) from None
    return single(parse_documents(text, source="body", limits=_YAML), "body").value


def _check(raw: bytes) -> None:
    """Raise ``InvalidInput`` for what would take long to decode, or to look at."""
    if len(raw) > LARGEST:
        raise InvalidInput(f"it has more than {LARGEST:,} bytes; split the request", reason=TOO_LARGE)
    # Each value follows one of these; a text has two quotes, and each value may have a name.
    if raw.count(b",") + raw.count(b"{") + raw.count(b"[") > MOST_VALUES or raw.count(b'"') > 4 * MOST_VALUES:
        raise InvalidInput(f"it has more than {MOST_VALUES:,} values; split the request", reason=TOO_LARGE)
    if deeper_than(raw, DEEPEST):
        raise InvalidInput(f"it is nested deeper than {DEEPEST} levels")
    if _TOO_MANY_DIGITS in raw.translate(_AS_ZEROS) and _TOO_MANY_DIGITS in outside_texts(raw).translate(_AS_ZEROS):
        raise InvalidInput(f"a number has more than {MOST_DIGITS} digits in a row")
    if _points(raw) > MOST_FRACTIONS:
        outside = outside_texts(raw)
        if _points(outside) - outside.count(b"true") - outside.count(b"false") > MOST_FRACTIONS:
            raise InvalidInput(f"it has more than {MOST_FRACTIONS:,} fractions; split the request", reason=TOO_LARGE)


def _points(raw: bytes) -> int:
    """How many fractions and exponents there are at most."""
    return raw.count(b".") + raw.count(b"e") + raw.count(b"E")


@functools.cache
def _decoder(wanted: type[Wanted]) -> msgspec.json.Decoder[Wanted]:
    return msgspec.json.Decoder(wanted, float_hook=_number)


def _number(text: str) -> float:
    # msgspec's own conversion takes twelve times as long for long numbers, and reads 1e999 as infinity.
    number = float(text)
    if math.isinf(number):
        raise ValueError("Number out of range")
    return number
