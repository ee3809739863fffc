"""Reads what a Mapping matches as a ``RouteMatch``, or rejects it with advice.

Rules: docs/ambassador.md §4.3 (Mapping, *Match*). Of ``hostname``, ``host`` and the header ``:authority`` the first
that is set takes effect. Nothing is guessed: a Mapping whose match can't be understood matches nothing, and gets a
problem.

It reads only through the views that it gets, which record each read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from intentc import View

from ..settings.traffic import HeaderName, Text
from ..upstreams.upstream import Unusable
from .hostnames import ANY, is_pattern
from .regexes import BadRegex, check
from .route_match import EXACT, PREFIX, PRESENT, REGEX, Condition, RouteMatch

_AUTHORITY = ":authority"
_V2 = frozenset({"getambassador.io/v1", "getambassador.io/v2"})


class Authority(NamedTuple):
    """``pattern``: the host name of the Mapping's table, None if it names no host. ``regex``: a further condition on
    the name, or empty. ``fields``: all fields that name a host, the one in effect first."""

    pattern: str | None
    regex: str = ""
    fields: tuple[str, ...] = ()


def authority(mapping: View) -> Authority:
    """The host names of a Mapping. Raises ``Unusable`` if no name can match."""
    named = {
        "hostname": mapping.hostname,
        "host": mapping.host,
        "headers[':authority']": _header(mapping.headers),
        "regex_headers[':authority']": _header(mapping.regex_headers),
    }
    fields = tuple(field for field, value in named.items() if value)
    if not fields:
        return Authority(None)
    counting, value = fields[0], named[fields[0]]
    if counting.startswith("regex_headers") or (counting == "host" and mapping.host_regex):
        return Authority(ANY, value, fields)
    if counting == "host" and "*" in value and mapping.api_version not in _V2:
        raise Unusable("InvalidHost", f"host {value!r} is matched exactly; write it as hostname")
    if counting.startswith("headers") and "*" in value:
        raise Unusable("InvalidHost", f"{counting} {value!r} is matched exactly, which no name is; write hostname")
    return Authority(_pattern(value, counting), "", fields)


def match_of(mapping: View, host: Authority, tables: tuple[str, ...], regex_limit: int) -> RouteMatch:
    """The match of ``mapping`` in these tables. Raises ``Unusable``."""
    prefix = mapping.prefix
    if not prefix:
        raise Unusable("InvalidPrefix", "prefix is empty; write / to match every path")
    _check_text(prefix, "prefix", "InvalidPrefix")
    sort = REGEX if mapping.prefix_regex else EXACT if mapping.prefix_exact else PREFIX
    if sort != REGEX and not prefix.startswith("/"):
        raise Unusable("InvalidPrefix", f"prefix {prefix!r} matches no path; write it with a / at its start")
    method = mapping.method if mapping.method_regex else mapping.method.upper()
    _check_text(method, "method", "InvalidMethod")
    found = RouteMatch(
        tables=tables,
        path=prefix,
        path_sort=sort,
        case_sensitive=mapping.case_sensitive,
        # A Mapping without a host shares with those for all hosts.
        authority=host.regex or host.pattern or ANY,
        authority_regex=bool(host.regex),
        method=method,
        method_regex=bool(method) and mapping.method_regex,
        headers=_conditions(_headers(mapping), "headers", HeaderName),
        query=_conditions(_query(mapping), "query_parameters", Text),
        precedence=mapping.precedence,
    )
    _check_regexes(found, regex_limit)
    return found


def _pattern(text: str, field: str) -> str:
    pattern: str = text.lower()
    if not is_pattern(pattern):
        raise Unusable(
            "InvalidHostname", f"{field} {text!r} is not a host name; a * may stand at one end, as in *.shop.example"
        )
    return pattern


def _header(headers: Mapping[str, object]) -> str:
    """The host in a map of headers, empty if there is none."""
    return next((str(value) for name, value in headers.items() if name.lower() == _AUTHORITY), "")


def _headers(mapping: View) -> Iterator[Condition]:
    for name, value in mapping.headers.items():
        if name.lower() != _AUTHORITY:
            yield _exact_or_present(name.lower(), value, "headers")
    for name, value in mapping.regex_headers.items():
        if name.lower() != _AUTHORITY:
            yield Condition(name.lower(), REGEX, _text(value, f"regex_headers[{name!r}]"))
    for name in mapping.v2BoolHeaders:
        yield Condition(name.lower(), PRESENT)


def _query(mapping: View) -> Iterator[Condition]:
    for name, value in mapping.query_parameters.items():
        yield _exact_or_present(name, value, "query_parameters")
    for name, value in mapping.regex_query_parameters.items():
        yield Condition(name, REGEX, _text(value, f"regex_query_parameters[{name!r}]"))
    for name in mapping.v2BoolQueryParameters:
        yield Condition(name, PRESENT)


def _exact_or_present(name: str, value: object, field: str) -> Condition:
    """``true`` (v2) and an empty text only require presence: Envoy rejects a comparison with an empty text."""
    if value is True or value == "":
        return Condition(name, PRESENT)
    return Condition(name, EXACT, _text(value, f"{field}[{name!r}]"))


def _text(value: object, field: str) -> str:
    if isinstance(value, bool | Mapping | tuple | float):
        raise Unusable("InvalidMatch", f"{field}: a text is compared, not {value!r}; put it in quotes")
    return str(value)


def _conditions(found: Iterable[Condition], field: str, name: object) -> tuple[Condition, ...]:
    """The conditions, sorted. ``name``: the type of their names. Raises ``Unusable``."""
    conditions = tuple(sorted(found))
    for condition in conditions:
        try:
            msgspec.convert(condition.name, name)
        except msgspec.ValidationError:
            raise Unusable(
                "InvalidMatch", f"{field}: {condition.name!r} is not a name that a request can have"
            ) from None
        _check_text(condition.value, f"{field}[{condition.name!r}]", "InvalidMatch")
    return conditions


def _check_text(text: str, field: str, reason: str) -> None:
    """Raises ``Unusable``."""
    if not text.isprintable():
        raise Unusable(reason, f"{field} {text!r} has characters that no request can have")


def _check_regexes(match: RouteMatch, limit: int) -> None:
    """Checks that RE2 accepts all regular expressions of a match. Raises ``Unusable``."""
    patterns = [(c.name, c.value) for c in (*match.headers, *match.query) if c.sort == REGEX]
    patterns += [("prefix", match.path)] if match.path_sort == REGEX else []
    patterns += [("method", match.method)] if match.method_regex else []
    patterns += [("host", match.authority)] if match.authority_regex else []
    for field, pattern in patterns:
        try:
            check(pattern, limit)
        except BadRegex as error:
            raise Unusable(
                "InvalidRegex", f"{field}: {pattern!r} is not a regular expression of RE2: {error}"
            ) from None
