"""A Mapping contributes to the group of all Mappings with the same match; the group makes the route.

Rules: docs/ambassador.md §4.3 (Mapping, *Match*). Of ``hostname``, ``host`` and the header ``:authority`` the first
that is set takes effect. Nothing is guessed: a Mapping whose match can't be understood matches nothing, and gets a
problem. ``routing/mapping_action.py`` reads what it does. The intent decides which route tables it belongs to (§4.5,
Host ↔ Mapping), and reports why it takes no part, and which of its fields have no effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from intentc import Claim, Context, Fact, Intent, View
from intentc.model.hostname_patterns import ANY, is_pattern

from .faults import Faults
from .host_binding import crossing_members
from .http_gateway import RATE_LIMIT, RateLimitFilter
from .plain import mistake_in
from .routing.mapping_action import MappingReader
from .routing.regexes import BadRegex, check
from .routing.route_action import (
    EXACT,
    PREFIX,
    PRESENT,
    REGEX,
    Condition,
    Forward,
    GroupMember,
    Redirect,
    RouteMatch,
    group_name,
)
from .settings.module_settings import ModuleSettings, module_settings
from .settings.traffic import HeaderName, Text
from .this_gateway import Unusable, ours, report_variables

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
        if mistake_in(condition.name, name):
            raise Unusable("InvalidMatch", f"{field}: {condition.name!r} is not a name that a request can have")
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


_UNSUPPORTED = ("error_response_overrides", "bypass_error_response_overrides", "outlier_detection", "envoy_override")
_OLD_VERSION = "getambassador.io/v1"


class MappingIntent(Intent):
    kind = "mapping"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        if not ours(self, ctx):
            return
        report_variables(self, ctx)
        self._report_unsupported(ctx)
        faults = Faults(ctx)
        yield from self._member(ctx, faults)
        yield from faults.facts()

    def _member(self, ctx: Context, faults: Faults) -> Iterator[Fact]:
        """Its share in the group of its match; nothing if it is not routed."""
        module = module_settings(ctx)
        try:
            host = authority(self)
            for ignored in host.fields[1:]:
                ctx.problem(
                    "IgnoredField", f"{ignored} has no effect together with {host.fields[0]}; remove one of them"
                )
            tables = self._tables(host)
            if not tables:
                message = "it names no hostname, and no Host selects it by labels; write hostname: '*' for all"
                faults.report(self, "NotAttached", message)
                return
            match = match_of(self, host, tables, module.regex_max_size)
        except Unusable as unusable:
            faults.report(self, unusable.reason, f"{unusable.message}; until then this Mapping is not routed")
            return
        reader = MappingReader(self, module, self._rate_limit_domain(ctx, module), ctx.problem)
        action: Forward | Redirect | None = None
        trouble = None
        try:
            action = reader.action()
        except Unusable as unusable:
            trouble = (unusable.reason, unusable.message)
        member = GroupMember(
            kind=self.kind,
            name=":".join(self.fq_name),
            match=match,
            action=action,
            trouble=trouble,
            weight=self.weight if self.weight >= 0 else None,
            shadow=self.shadow,
            stats_name=reader.stats_name,
        )
        yield Fact("mapping_group", group_name(match), member)
        yield from crossing_members(ctx, member)

    def _tables(self, host: Authority) -> tuple[str, ...]:
        """Its route tables: those of each Host that selects it, and, with a hostname, that of all other Hosts."""
        scopes = [":".join(selecting.fq_name) for selecting in self.mentioned_by("host", "selected")]
        if host.pattern is not None:
            scopes.append("")
        return tuple(sorted(f"{scope}|{host.pattern or ANY}" for scope in scopes))

    def _rate_limit_domain(self, ctx: Context, module: ModuleSettings) -> str:
        """Empty while no RateLimitService is in effect. It is read only if there is something to count."""
        if not self.rate_limit_labels and not module.default_labels:
            return ""
        service = ctx.fact("http_filter", RATE_LIMIT)
        return service.domain if isinstance(service, RateLimitFilter) else ""

    def _report_unsupported(self, ctx: Context) -> None:
        for field in _UNSUPPORTED:
            if self.field(field):
                ctx.problem("Unsupported", f"{field} has no effect; all else of this Mapping has (remove it)")
        if self.api_version == _OLD_VERSION:
            ctx.problem("OldVersion", f"{_OLD_VERSION} is read as v2; write getambassador.io/v3alpha1")
