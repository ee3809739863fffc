"""Sites: a host name on a port of a frontend, who claims it, and which may share a listener (docs/appgw.md §6.6)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence

import msgspec

from .sub_resource_names import Owner

PUBLIC, PRIVATE = "Public", "Private"
HTTP, HTTPS = "Http", "Https"
SERVE, REDIRECT, CHALLENGE = "serve", "redirect", "challenge"
"""What a claim wants of a site: its backends, a redirect to HTTPS, or only the paths of ACME challenges."""
PLAIN_PORT, SECURE_PORT = 80, 443
MOST_SITES = 5
"""Host names of a listener."""
_MOST_WILDCARDS = 4
_LABEL = re.compile(r"[a-z0-9_*?]([a-z0-9_*?-]{0,61}[a-z0-9_*?])?", re.ASCII)


class Site(msgspec.Struct, frozen=True, order=True):
    """``frontend``: Public or Private; ``protocol``: Http or Https; ``name``: in lower case, empty for all names."""

    frontend: str
    port: int
    protocol: str
    name: str

    @property
    def key(self) -> str:
        return f"{self.frontend}|{self.port}|{self.protocol}|{self.name}"

    @classmethod
    def of(cls, key: str) -> Site:
        frontend, port, protocol, name = key.split("|", 3)
        return cls(frontend, int(port), protocol, name)


class Claim(msgspec.Struct, frozen=True, order=True):
    """What a rule of an Ingress wants of a site. Sorted by precedence.

    ``rule``: its position, -1 for an Ingress without rules; ``paths``: the positions of the paths that count here;
    ``position``: of the name among those of the rule. ``certificate``: ``secret|namespace|name``, ``installed|name``,
    or empty. ``target``: the HTTPS port, of a redirect.
    """

    owner: Owner
    rule: int
    mode: str
    paths: tuple[int, ...]
    position: int
    certificate: str = ""
    profile: str = ""
    policy: str = ""
    priority: int = 0
    target: int = 0
    is_target: bool = False
    """Whether a redirect leads to this site."""
    challenges: tuple[int, ...] = ()
    """Of a claim without a certificate: the positions of those ``paths`` that lead to ACME challenges."""

    @property
    def content(self) -> str:
        """The name of the fact that holds the rule's paths."""
        return f"{self.owner.namespace}|{self.owner.name}|{self.rule}"


class Share(msgspec.Struct, frozen=True, order=True):
    """A site as its claims have settled it: a part of a listener."""

    position: int
    site: Site
    claims: tuple[Claim, ...]
    certificate: str = ""
    profile: str = ""
    policy: str = ""

    @property
    def group(self) -> str:
        """What sites have in common that may share a listener, as a name."""
        claims = [
            (one.owner.namespace, one.owner.name, one.rule, one.mode, one.paths, one.target) for one in self.claims
        ]
        alone = any(one.mode == REDIRECT or one.is_target for one in self.claims)
        common = (
            *(self.site.frontend, self.site.port, self.site.protocol, claims),
            *(self.certificate, self.profile, self.policy, is_wildcard(self.site.name), self.site.name == ""),
            self.site.name if alone else "",
        )
        return hashlib.md5(msgspec.json.encode(common), usedforsecurity=False).hexdigest()


def without_certificate(site: Site, claim: Claim) -> Claim | None:
    """What is left of a claim to be served in the clear once the name is covered by a ``tls`` entry; None if nothing
    is. Whoever solves a challenge is asked on port 80."""
    if not claim.challenges or site.port != PLAIN_PORT:
        return None
    return msgspec.structs.replace(claim, mode=CHALLENGE, paths=claim.challenges, policy="")


def names_of(host: str, extension: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(the names of a rule, in lower case, each once; those that are invalid)

    >>> names_of("Shop.test", ["shop.test", "-x"])
    (('shop.test',), ('-x',))
    """
    written = [name.lower() for name in (host, *extension) if name]
    found = dict.fromkeys(written)
    return tuple(name for name in found if is_valid(name)), tuple(name for name in found if not is_valid(name))


def is_valid(name: str) -> bool:
    """Whether the gateway takes a host name."""
    wildcards = sum(name.count(one) for one in "*?")
    labels = name.split(".")
    return len(name) <= 253 and wildcards <= _MOST_WILDCARDS and all(_LABEL.fullmatch(label) for label in labels)


def is_wildcard(name: str) -> bool:
    return "*" in name or "?" in name


def settled(site: Site, claims: Sequence[Claim]) -> tuple[Share, list[tuple[Claim, str, Claim]]]:
    """The share of a site with its ``claims`` in order of precedence, at least one; and (claim that loses a part,
    reason, claim that counts in its place) of each conflict."""
    conflicts: list[tuple[Claim, str, Claim]] = []

    def first(field: str, reason: str) -> str:
        given = [(claim, getattr(claim, field)) for claim in claims if getattr(claim, field)]
        for claim, value in given[1:]:
            if value != given[0][1]:
                conflicts.append((claim, reason, given[0][0]))
        return str(given[0][1]) if given else ""

    certificate = profile = ""
    if site.protocol == HTTPS:
        certificate = first("certificate", "CertificateConflict")
        profile = first("profile", "SslProfileConflict")
    policy = first("policy", "WafPolicyConflict")
    return Share(claims[0].position, site, tuple(claims), certificate, profile, policy), conflicts


def listeners(shares: Iterable[Share]) -> list[tuple[Share, ...]]:
    """The sites of one group, cut into those of each listener."""
    ordered = sorted(shares)
    return [tuple(ordered[start : start + MOST_SITES]) for start in range(0, len(ordered), MOST_SITES)]
