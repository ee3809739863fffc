"""Names and keys of resources, and how references are resolved to their targets (docs/engine.md §2.2).

A resolver turns the text in a referring field into *wanted* values, and names the index of the target kind in which
targets *offer* values. A link holds if they match. ``logic/cache/graph.py`` keeps the links; the schemas declare which
kinds use which resolver.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

_PLAIN = re.compile(r"[\w.:-]+", re.ASCII)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)
_KEPT = string.punctuation.replace("%", "").replace("/", "")


class Key(NamedTuple):
    """One object for its whole life. Facts have keys as well: their uuid is the fact's name."""

    kind: str
    uuid: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.uuid}"


class Name(NamedTuple):
    """The place of an object: unique per kind at any moment.

    >>> str(Name("farm", ("valley", "north")))
    'farm valley:north'
    """

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


def is_uuid(text: str) -> bool:
    """Whether a text is a uuid in the form in which uuids are stored."""
    return _UUID.fullmatch(text) is not None


def escaped_segment(stored: str) -> str:
    """A part of an etcd key as printable ASCII without slashes: every other byte, and ``%``, becomes ``%XX``.

    ``stored``: as ``watch`` reads it, bytes that are not UTF-8 as surrogates. A uuid stays as it is."""
    if _PLAIN.fullmatch(stored):
        return stored
    return quote(stored.encode("utf-8", "surrogateescape"), safe=_KEPT)


def stored_segment(escaped: str) -> str:
    """The inverse of ``escaped_segment``."""
    return unquote_to_bytes(escaped).decode("utf-8", "surrogateescape") if "%" in escaped else escaped


def is_escaped(segment: str) -> bool:
    """Whether a part of an etcd key holds what no uuid and no kind holds."""
    return "%" in segment


UUID = "uuid"
FQ_NAME = "fq_name"
"""The two indexes of every kind."""


class Resolver(NamedTuple):
    """``offered_in``: the index in which targets offer. ``wanted(text, identity)``: the wanted value for one string of
    the referring field; ``identity`` is the referring object's fq_name. ``probe(wanted)``: the offered value under
    which candidates are found. ``accepts(wanted, offered)``: whether a candidate that offers all of ``offered`` is a
    target."""

    offered_in: str
    wanted: Callable[[str, tuple[str, ...]], str]
    probe: Callable[[str], str]
    accepts: Callable[[str, Collection[str]], bool]


def _same(text: str) -> str:
    return text


def _always(wanted: str, offered: Collection[str]) -> bool:
    return True


def _namespaced(text: str, identity: tuple[str, ...]) -> str:
    """``name`` or ``name.namespace`` → ``namespace:name``; without one the referring object's namespace."""
    name, _, namespace = text.partition(".")
    return f"{namespace or identity[0]}:{name}"


def _service(text: str, identity: tuple[str, ...]) -> str:
    """``scheme://name.namespace:port`` → ``namespace:name``."""
    host = text.rpartition("://")[2].partition("/")[0].partition(":")[0]
    name, _, namespace = host.partition(".")
    return f"{namespace.partition('.')[0] or identity[0]}:{name}"


RESOLVERS: Mapping[str, Resolver] = {
    "uuid": Resolver(UUID, lambda text, identity: text, _same, _always),
    "fq_name": Resolver(FQ_NAME, lambda text, identity: text, _same, _always),
    "namespaced_name": Resolver(FQ_NAME, _namespaced, _same, _always),
    "service_url": Resolver(FQ_NAME, _service, _same, _always),
    "selector": Resolver(
        "label",
        lambda text, identity: text,
        lambda wanted: wanted.partition(",")[0],
        lambda wanted, offered: all(part in offered for part in wanted.split(",")),
    ),
    "glob": Resolver("hostname", lambda text, identity: text, _same, _always),
}
"""Resolver's name in schema files → resolver."""


def hostname_offers(hostname: str) -> tuple[str, ...]:
    """Every glob that covers ``hostname``, itself first: ``a.b`` → ``a.b``, ``*.b``, ``*``."""
    labels = hostname.split(".")
    return (hostname, *(f"*.{'.'.join(labels[start:])}" for start in range(1, len(labels))), "*")
