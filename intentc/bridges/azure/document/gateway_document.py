"""Assembles the document of a gateway: what compilers made, and what stays of others (docs/appgw.md §8.2, §10).

What Azure Resource Manager has besides these collections passes through.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from .fitting import fitting, limits_of, referenced, without_defaults, without_room
from .foreign import Foreign, foreign_parts, joined
from .parts import COLLECTIONS, Part, Parts, named_in
from .priorities import Rule, Trouble, priorities


class Assembled(NamedTuple):
    """``document``: what to put; ``problems``: what only the whole document shows, on Ingresses; ``made``: the ids of
    what is ours in it; ``left_out``: the Ingresses without room. ``held``: why the gateway must stay as it is, empty if
    it need not."""

    document: dict[str, Any]
    problems: tuple[Trouble, ...] = ()
    made: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    held: str = ""


def assemble(
    parts: Parts,
    gateway: Mapping[str, Any],
    *,
    limits: Mapping[str, int] | None = None,
    made: Collection[str] = (),
) -> Assembled:
    """The document of ``parts`` in ``gateway`` (as a GET gives it).

    ``limits``: in place of Azure's (``fitting.LIMITS``); ``made``: ids of what was ours in the last document, which
    the mode ``marked`` needs to know. Without a word from the compiler, and in a shared gateway about which nobody says
    what others have, the document is ``gateway``.
    """
    document: dict[str, Any] = copy.deepcopy(dict(gateway))
    whole = parts.whole
    if whole is None or whole.get("nothing"):
        return Assembled(document, held="Waiting" if whole is None else str(whole["nothing"]))
    foreign = foreign_parts(parts, gateway, whole, made)
    left_out = without_room(parts, limits_of(gateway, limits or {}), foreign.counts(parts))
    problems = [
        Trouble(owner, "CapacityExceeded", f"the gateway has no room for it ({why}); it is left out")
        for owner, why in sorted(left_out.items())
    ]
    fitted = fitting(parts, left_out, str(whole["gateway"]), str(whole.get("prefix") or ""))
    numbers = {name: _priority(entry) for name, entry in foreign.of("requestRoutingRules").items()}
    given: dict[str, int] = {}
    if foreign.of("httpListeners"):
        fitted = without_defaults(fitted)
        fitted, foreign, given, more = joined(fitted, foreign, whole)
        # A rule that keeps the default of others no longer refers to ours.
        fitted = referenced(fitted)
        problems += more
    found, troubles = _priorities(fitted, {number for number in numbers.values() if number}, given)
    problems += troubles
    properties = document.setdefault("properties", {})
    for collection in COLLECTIONS.values():
        properties[collection] = _collection(collection, fitted, foreign, found)
    document["tags"] = {**(document.get("tags") or {}), **(whole.get("tags") or {})}
    made_now = sorted(part.config["id"] for there in fitted.parts.values() for part in there.values())
    return Assembled(document, tuple(sorted(set(problems))), tuple(made_now), tuple(sorted(left_out)))


def _priorities(parts: Parts, taken: Collection[int], given: Mapping[str, int]) -> tuple[dict[str, int], list[Trouble]]:
    """Rule → priority. ``given``: those that are decided already."""
    listeners = parts.of("httpListeners")
    rules = []
    for name, part in parts.of("requestRoutingRules").items():
        if name in given:
            continue
        listener = listeners.get(named_in(part.content["httpListener"]))
        content = listener.content if listener is not None else {}
        place = "|".join(
            str((content.get(member) or {}).get("id")) for member in ("frontendIPConfiguration", "frontendPort")
        )
        fields = part.fields
        order = tuple(fields.get("order") or ())
        hosts = tuple(content.get("hostNames") or ())
        rules.append(Rule(name, hosts, place, fields.get("requested") or 0, str(fields.get("by") or ""), order))
    found, troubles = priorities(rules, parts.owners, taken)
    return {**found, **given}, troubles


def _collection(collection: str, parts: Parts, foreign: Foreign, numbers: Mapping[str, int]) -> list[dict[str, Any]]:
    ours = parts.of(collection)
    found = [_entry(collection, part, numbers) for _, part in sorted(ours.items())]
    others = [copy.deepcopy(entry) for name, entry in foreign.of(collection).items() if name not in ours]
    if collection == "rewriteRuleSets":
        return [*others, *found]
    return sorted([*others, *found], key=lambda entry: str(entry["name"]))


def _entry(collection: str, part: Part, numbers: Mapping[str, int]) -> dict[str, Any]:
    entry = copy.deepcopy(part.config)
    if collection == "requestRoutingRules":
        entry["properties"]["priority"] = numbers[part.name]
    if collection == "sslCertificates":
        # The publisher puts the certificate in place of it.
        entry["properties"] = {"digest": part.fields.get("digest"), "secret": part.fields.get("secret")}
    return entry


def _priority(entry: Mapping[str, Any]) -> int:
    return int((entry.get("properties") or {}).get("priority") or 0)
