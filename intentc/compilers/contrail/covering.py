"""Leaves out a rule of an access control list that an earlier one covers (docs/contrail.md D.4.3).

A rule is covered if an earlier one matches all that it matches, in the dynamic list with the same analyzer; actions and
directions do not count, so the first rule decides. Earlier rules are found by protocol and addresses, not by a scan: a
list may have hundreds.

State: the rules of one list while it is built, which ``append`` adds to; the rules themselves stay as they are.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any, NamedTuple

from .policy_rules import ANY, Address, ListRule

ANY_PROTOCOL = "any"


class _Prefix(NamedTuple):
    """The first ``length`` bits of an address."""

    version: int
    length: int
    bits: int


class RuleList:
    """The rules of one list so far. ``dynamic``: a rule covers only rules with the same analyzer."""

    def __init__(self, *, dynamic: bool = False) -> None:
        self.rules: list[ListRule] = []
        self._dynamic = dynamic
        self._found: dict[tuple[str, object, object], list[ListRule]] = {}
        """Protocol, source and destination as the covering side has them → rules."""
        self._lengths: set[tuple[int, int]] = set()
        """(version, length) of the prefixes so far."""

    def append(self, rule: ListRule) -> ListRule | None:
        """Adds the rule, unless an earlier one covers it: then that one is returned."""
        covering = self._covering(rule)
        if covering is not None:
            return covering
        self.rules.append(rule)
        for source in _own_forms(rule.source):
            for destination in _own_forms(rule.destination):
                self._found.setdefault((rule.protocol, source, destination), []).append(rule)
        for address in (rule.source, rule.destination):
            self._lengths |= {(prefix.version, prefix.length) for prefix in _prefixes(address)}
        return None

    def _covering(self, rule: ListRule) -> ListRule | None:
        sources, destinations = list(self._wider(rule.source)), list(self._wider(rule.destination))
        for protocol in dict.fromkeys((rule.protocol, ANY_PROTOCOL)):
            for source in sources:
                for destination in destinations:
                    for earlier in self._found.get((protocol, source, destination), ()):
                        if self._covers(earlier, rule):
                            return earlier
        return None

    def _covers(self, earlier: ListRule, rule: ListRule) -> bool:
        return (
            _within(rule.source_port, earlier.source_port)
            and _within(rule.destination_port, earlier.destination_port)
            and (not self._dynamic or earlier.analyzer_name == rule.analyzer_name)
        )

    def _wider(self, address: Address) -> Iterator[object]:
        """The forms of addresses that contain this one."""
        if not address.subnets:
            yield from dict.fromkeys((address.network, ANY))
        for prefix in _prefixes(address):
            for version, length in self._lengths:
                if version == prefix.version and length <= prefix.length:
                    yield _Prefix(version, length, prefix.bits >> (prefix.length - length))


def _own_forms(address: Address) -> list[object]:
    """What stands for an address: its subnets, or its network if it has none."""
    return list(dict.fromkeys(_prefixes(address))) if address.subnets else [address.network]


def _prefixes(address: Address) -> list[_Prefix]:
    """The readable subnets of an address; those that can't be read cover nothing, and nothing covers them."""
    found = []
    for subnet in address.subnets:
        try:
            network = ipaddress.ip_network(f"{subnet.ip_prefix}/{subnet.ip_prefix_len}", strict=False)
        except ValueError:
            continue
        length = network.prefixlen
        found.append(_Prefix(network.version, length, int(network.network_address) >> (network.max_prefixlen - length)))
    return found


def _within(inner: Any, outer: Any) -> bool:
    """Whether a range of ports lies in another; an end of −1 has no limit."""
    is_before_end: bool = outer.end_port == -1 or inner.end_port <= outer.end_port
    return is_before_end and bool(inner.start_port >= outer.start_port)
