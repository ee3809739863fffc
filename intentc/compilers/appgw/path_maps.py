"""The path map of a listener: from the rules of Ingresses that claim its sites (docs/appgw.md §6.8, §8.1).

``listener_contents.py`` makes its JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from .listener_certificates import CHALLENGE_PATH
from .path_patterns import rank
from .sites import CHALLENGE, REDIRECT, Claim


class Path(msgspec.Struct, frozen=True):
    """A path of a rule. ``backend``: the name of the fact of its backend; ``written``: as the Ingress has it."""

    position: int
    written: str
    patterns: tuple[str, ...]
    catch_all: bool
    by_element: bool
    backend: str


class RuleContent(msgspec.Struct, frozen=True):
    """A rule of an Ingress: what it does with requests. ``default``: the Ingress's own default backend, or empty;
    ``rewrite``: the name of a rewrite set on the gateway, or ``namespace|name`` of a resource."""

    paths: tuple[Path, ...] = ()
    default: str = ""
    policy: str = ""
    rewrite: str = ""
    field: str = ""
    """The rule in the Ingress."""


class Route(NamedTuple):
    """A path rule, or the default if there is no ``path``. ``backend``: None for a redirect, empty for the default
    pool."""

    claim: Claim
    content: RuleContent
    path: Path | None
    patterns: tuple[str, ...]
    backend: str | None


class Loss(NamedTuple):
    """A part of a claim that another one takes."""

    loser: Claim
    reason: str
    field: str
    winner: Claim


class PathMap(NamedTuple):
    """``default``: None if no claim has one."""

    default: Route | None
    rules: tuple[Route, ...]
    losses: tuple[Loss, ...]


def path_map(claims: Sequence[tuple[Claim, RuleContent]]) -> PathMap:
    """The map of the claims on one site, in order of precedence."""
    losses: list[Loss] = []
    default = _default(claims, losses)
    return PathMap(default, _rules(claims, losses), tuple(losses))


def _default(claims: Sequence[tuple[Claim, RuleContent]], losses: list[Loss]) -> Route | None:
    candidates = sorted(_candidates(claims), key=lambda one: one[0])
    if not candidates:
        return None
    (_, winner), *others = candidates
    seen: set[tuple[object, ...]] = set()
    for _, other in others:
        same_owner = other.claim.owner == winner.claim.owner
        if other.path is None and (same_owner or other.backend is None):
            continue
        if same_owner and other.path is not None and winner.backend is None:
            continue
        field = f"{other.content.field}.paths[{other.path.position}]" if other.path else "defaultBackend"
        if (other.claim.owner, field) not in seen:
            seen.add((other.claim.owner, field))
            losses.append(Loss(other.claim, "DefaultBackendConflict", field, winner.claim))
    return winner


def _candidates(claims: Sequence[tuple[Claim, RuleContent]]) -> Iterator[tuple[tuple[int, int, int], Route]]:
    """(rank, what a claim would do with requests that no path rule takes); the lowest rank counts."""
    for number, (claim, content) in enumerate(claims):
        if claim.mode == CHALLENGE:
            continue
        if claim.mode == REDIRECT:
            yield (0, number, 0), Route(claim, content, None, (), None)
            continue
        for path in _paths(claim, content):
            if path.catch_all:
                yield (1, number, path.position), Route(claim, content, path, (), path.backend)
        if content.default:
            yield (2, number, 0), Route(claim, content, None, (), content.default)


def _paths(claim: Claim, content: RuleContent) -> list[Path]:
    found = [path for path in content.paths if path.position in claim.paths]
    if claim.mode != CHALLENGE:
        return found
    # Not the bare half of a prefix: only what is below the path of challenges is served in the clear.
    below = [tuple(one for one in path.patterns if one.startswith(CHALLENGE_PATH)) for path in found]
    return [
        msgspec.structs.replace(path, patterns=patterns, by_element=False)
        for path, patterns in zip(found, below, strict=True)
        if patterns
    ]


def _rules(claims: Sequence[tuple[Claim, RuleContent]], losses: list[Loss]) -> tuple[Route, ...]:
    wanted = [
        (claim, content, path) for claim, content in claims for path in _paths(claim, content) if not path.catch_all
    ]
    holders: dict[str, tuple[Claim, int]] = {}
    for number, (claim, _, path) in enumerate(wanted):
        for pattern in path.patterns[1:] if path.by_element else path.patterns:
            holders.setdefault(pattern.lower(), (claim, number))
    written = frozenset(holders)
    for number, (claim, _, path) in enumerate(wanted):
        if path.by_element:
            holders.setdefault(path.patterns[0].lower(), (claim, number))
    found: list[tuple[tuple[bool, int], int, Route]] = []
    for number, (claim, content, path) in enumerate(wanted):
        kept: list[str] = []
        lost_to: Claim | None = None
        for place, pattern in enumerate(path.patterns):
            holder, by = holders[pattern.lower()]
            if by == number:
                kept.append(pattern)
            elif not (path.by_element and place == 0 and pattern.lower() in written):
                lost_to = lost_to or holder
        if lost_to is not None:
            losses.append(Loss(claim, "PathConflict", f"{content.field}.paths[{path.position}]", lost_to))
        if kept:
            backend = None if claim.mode == REDIRECT else path.backend
            found.append((rank(tuple(kept)), number, Route(claim, content, path, tuple(kept), backend)))
    return tuple(route for _, _, route in sorted(found, key=lambda one: one[:2]))
