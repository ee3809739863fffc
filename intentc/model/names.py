"""How things are called: a key names one life of an object, a name its place in the world.

A key (kind and uuid) changes when an object is deleted and made again; a name (kind and fq_name) does not. Intents
are known by key, what compilers want is known by name. uuids and marks of our own objects are in ``ownership.py``.
"""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    """One object for its whole life. Facts have keys, too: their uuid is the fact's name."""

    kind: str
    uuid: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.uuid}"


class Name(NamedTuple):
    """The place of an object: unique per kind at any moment."""

    kind: str
    fq_name: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.kind} {':'.join(self.fq_name)}"


def kebab(kind: str) -> str:
    """``virtual_x`` as URLs and ``parent_type`` spell it: ``virtual-x``."""
    return kind.replace("_", "-")


def snake(kind: str) -> str:
    """The way back from ``kebab``."""
    return kind.replace("-", "_")
