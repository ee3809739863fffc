"""The naive oracle for Ambassador: what becomes of one request, by looking at every manifest (docs/engine.md §10).

Written from the rules (docs/ambassador.md §4.3 to §4.5, and the defects of §5 fixed), without an intermediate
representation, an index or an Envoy element, and importing nothing of intentc. It knows the fields that decide where
requests go: matches, weights, rewrites, redirects, Hosts' names, selectors and certificates, Listeners' models, and
where services are found. What it does not know (filters, time-outs, header changes) other tests look at.

An answer is ``{outcome: probability}``; an outcome is a tuple that says itself what it is: ``("closed",)`` for a
connection that nobody takes, ``("status", 404)``, ``("https",)`` for the redirect of insecure requests, ``("redirect",
host, code, path)``, ``("http", "host:port", TLS?, path, Host header)`` and ``("tcp", "host:port", TLS?)``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from tests.oracle.ambassador_manifests import Json, World, divided, full, labels, name, selector, targets, understood

Answer = dict[tuple[Any, ...], Fraction]

CLOSED: Answer = {("closed",): Fraction(1)}
NOT_FOUND: Answer = {("status", 404): Fraction(1)}
UNAVAILABLE: Answer = {("status", 503): Fraction(1)}
STRICTNESS = ["Route", "Redirect", "Reject"]


class Ambiguous(Exception):
    """Two routes are equal in everything that docs/ambassador.md §4.4 orders them by."""


class Request(NamedTuple):
    """``tls``: whether the connection begins with TLS, asking for ``host``. ``forwarded``: X-Forwarded-Proto."""

    port: int
    host: str
    path: str
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    tls: bool = False
    forwarded: str = ""


def covers(pattern: str, host: str) -> bool:
    """Whether ``pattern`` stands for everything that ``host``, a name or a pattern, stands for."""
    if pattern in ("*", host):
        return True
    if pattern.startswith("*"):
        return host.endswith(pattern[1:]) and len(host) >= len(pattern)
    return pattern.endswith("*") and host.startswith(pattern[:-1]) and len(host) >= len(pattern)


def best(patterns: set[str], host: str) -> str | None:
    """The pattern that Envoy would choose for ``host``."""
    order = {p: (p == "*", p.endswith("*"), p.startswith("*"), -len(p)) for p in patterns if covers(p, host)}
    return min(order, key=lambda pattern: order[pattern]) if order else None


# Where a connection goes


def answer(world: World, request: Request) -> Answer:
    """Raises ``Ambiguous``."""
    listeners = [one for one in world.all("Listener") if one["spec"]["port"] == request.port]
    listener = listeners[0] if listeners else None
    if listener is not None and listener["spec"]["hostBinding"].get("namespace", {}).get("from") == "SELECTOR":
        return CLOSED
    tcp = tcp_groups(world, request.port)
    sides = Sides(world, listener) if listener is not None and listener["spec"]["protocol"] != "TCP" else None
    if not request.tls:
        if "" in tcp:
            return connections(world, tcp[""])
        return http(world, sides, "cleartext", request) if sides and sides.open("cleartext") else CLOSED
    served = sides.open("tls") if sides else set()
    chosen = best(served | (tcp.keys() - {""}), request.host)
    if chosen in tcp:
        return connections(world, tcp[str(chosen)])
    if chosen is not None and sides is not None:
        return http(world, sides, "tls", request)
    return connections(world, tcp[""]) if "" in tcp else CLOSED


def tcp_groups(world: World, port: int) -> dict[str, list[Json]]:
    """Host → the TCPMappings that connections for it are divided among; without those that nobody is let in for."""
    groups: dict[str, list[Json]] = {}
    for mapping in world.all("TCPMapping"):
        if mapping["spec"]["port"] == port and understood(mapping):
            groups.setdefault(mapping["spec"].get("host", ""), []).append(mapping)
    return {host: members for host, members in groups.items() if not host or certificate_for(world, host)}


def certificate_for(world: World, host: str) -> bool:
    asking = [one for one in world.all("Host") if wants_tls(one)]
    found = best({hostname(one) for one in asking}, host)
    return any(has_tls(world, one) for one in asking if hostname(one) == found)


def connections(world: World, members: list[Json]) -> Answer:
    result: Answer = {}
    for member, part in divided(members):
        for (target, tls), share in targets(world, member).items():
            outcome = ("tcp", target, tls) if target else ("closed",)
            result[outcome] = result.get(outcome, Fraction(0)) + part * share
    return result


# Hosts on Listeners


def hostname(host: Json) -> str:
    return str(host["spec"].get("hostname", "*"))


def wants_tls(host: Json) -> bool:
    return bool(host["spec"].get("tlsSecret", {}).get("name"))


def secret_of(host: Json) -> str:
    return f"{host['metadata']['namespace']}:{host['spec']['tlsSecret']['name']}"


def has_tls(world: World, host: Json) -> bool:
    """That its Secret is there, and that clients can ask for its name when TLS begins."""
    pattern = hostname(host)
    apart = pattern == "*" or pattern.startswith("*.") or "*" not in pattern
    secret = world.find("Secret", secret_of(host))
    return apart and secret is not None and {"tls.crt", "tls.key"} <= secret["data"].keys()


class Sides:
    """Which Hosts are governing on a Listener, by side (``tls`` or ``cleartext``) and hostname; no Hosts where a name
    is closed."""

    def __init__(self, world: World, listener: Json) -> None:
        spec = listener["spec"]
        self.model = spec["securityModel"]
        self.trusted = spec.get("l7Depth", 0) > 0
        speaks_tls = spec["protocol"] == "HTTPS"
        hosts = [host for host in world.all("Host") if binds(listener, host)]
        if not world.all("Host"):
            hosts = [fallback_host(world, name(listener)[0])]
        self.hosts: dict[str, dict[str, list[Json]]] = {"tls": {}, "cleartext": {}}
        for pattern in {hostname(host) for host in hosts}:
            together = [host for host in hosts if hostname(host) == pattern]
            asking = [host for host in together if wants_tls(host)]
            if speaks_tls and asking:
                able = [host for host in asking if has_tls(world, host)]
                self.hosts["tls"][pattern] = [host for host in able if secret_of(host) == secret_of(able[0])]
            if not (speaks_tls and self.model == "SECURE"):
                self.hosts["cleartext"][pattern] = together

    def open(self, side: str) -> set[str]:
        return {pattern for pattern, hosts in self.hosts[side].items() if hosts}

    def governing(self, side: str, domain: str) -> list[Json]:
        return self.hosts[side].get(best(set(self.hosts[side]), domain) or "", [])


def fallback_host(world: World, namespace: str) -> Json:
    """Serves everything while there is no Host."""
    spec: Json = {"requestPolicy": {"insecure": {"action": "Route"}}}
    host: Json = {"metadata": {"namespace": namespace, "name": ""}, "spec": spec}
    certified: Json = {**host, "spec": {**spec, "tlsSecret": {"name": "fallback-self-signed-cert"}}}
    return certified if has_tls(world, certified) else host


def binds(listener: Json, host: Json) -> bool:
    binding = listener["spec"]["hostBinding"]
    near = binding.get("namespace", {}).get("from") != "SELF" or name(listener)[0] == name(host)[0]
    return near and selector(binding.get("selector", {})) <= labels(host)


# HTTP


def http(world: World, sides: Sides, side: str, request: Request) -> Answer:
    answering = [mapping for mapping in world.all("Mapping") if not mapping["spec"].get("shadow")]
    attached = [(mapping, table) for mapping in answering for table in tables(world, mapping)]
    domains = sides.open(side) | {
        pattern for _, (scope, pattern) in attached if scope in scopes(sides.governing(side, pattern))
    }
    domain = best(domains, request.host)
    if domain is None:
        return NOT_FOUND
    hosts = sides.governing(side, domain)
    action = max((policy(host) for host in hosts), key=STRICTNESS.index)
    forwarded = request.forwarded if sides.trusted and request.forwarded else "https" if request.tls else "http"
    secure = sides.model == "SECURE" or (sides.model == "XFP" and forwarded == "https")
    if not secure and action != "Route" and not request.path.startswith("/.well-known/acme-challenge/"):
        return {("https",): Fraction(1)} if action == "Redirect" else NOT_FOUND
    meeting: dict[Any, list[Json]] = {}
    for mapping, (scope, pattern) in attached:
        meets = covers(pattern, domain) or crosses(world, scope, pattern, domain, request.host)
        if scope in scopes(hosts) and meets and matches(mapping["spec"], request):
            meeting.setdefault((identity(mapping["spec"]), scope, pattern), []).append(mapping)
    # The same Mappings may meet under several Hosts: they are one group then.
    groups = {(key[0], *map(full, members)): members for key, members in meeting.items()}
    ranked = sorted(groups.values(), key=lambda members: order(members[0]["spec"]), reverse=True)
    if not ranked:
        return NOT_FOUND
    if len(ranked) > 1 and order(ranked[0][0]["spec"]) == order(ranked[1][0]["spec"]):
        raise Ambiguous
    first = ranked[0]
    return requests(world, first, request)


def crosses(world: World, scope: str, pattern: str, domain: str, name: str) -> bool:
    """Whether ``name`` fits a Mapping's wildcard, and that of a Host above ``domain`` which is at the other end."""
    if pattern == "*" or "*" not in pattern or not covers(pattern, name):
        return False
    above = {hostname(host) for host in world.all("Host") if scope in scopes([host])} - {"*"}
    return any("*" in one and one.startswith("*") != pattern.startswith("*") and covers(one, domain) for one in above)


def policy(host: Json) -> str:
    return str(host["spec"].get("requestPolicy", {}).get("insecure", {}).get("action", "Redirect"))


def scopes(hosts: list[Json]) -> set[str]:
    return {full(host) if selector(host["spec"].get("mappingSelector", {})) else "" for host in hosts}


def tables(world: World, mapping: Json) -> set[tuple[str, str]]:
    """(Host with a selector that chooses it, or empty; hostname)"""
    pattern = mapping["spec"].get("hostname", "")
    found = {("", pattern)} if pattern else set()
    for host in world.all("Host"):
        wanted = selector(host["spec"].get("mappingSelector", {}))
        if wanted and wanted <= labels(mapping):
            found.add((full(host), pattern or "*"))
    return found


def identity(spec: Json) -> Any:
    """Mappings that are equal in this, and meet under one Host, are one group."""
    conditions = tuple(sorted(spec.get("headers", {}).items()))
    what = (spec["prefix"], spec.get("prefix_exact", False), spec.get("case_sensitive", True), spec.get("method", ""))
    return (*what, spec.get("segments", False), conditions, spec.get("hostname", "*"), spec.get("precedence", 0))


def matches(spec: Json, request: Request) -> bool:
    prefix, path = spec["prefix"], request.path
    if not spec.get("case_sensitive", True):
        prefix, path = prefix.lower(), path.lower()
    by_path = path == prefix if spec.get("prefix_exact") else path.startswith(prefix)
    if spec.get("segments"):
        by_path = f"{path}/".startswith(f"{prefix}/")
    by_method = spec.get("method", request.method) == request.method
    return by_path and by_method and set(spec.get("headers", {}).items()) <= set(request.headers)


def order(spec: Json) -> tuple[Any, ...]:
    """The greatest comes first."""
    headers = sorted(spec.get("headers", {}).items())
    headers.append((":authority", spec.get("hostname", "*")))
    if method := spec.get("method", ""):
        headers.append((":method", method))
    keys = [f"{key}-{value}" for key, value in headers]
    lengths = sum(len(key) + len(value) for key, value in headers)
    # An exact path before the prefix of the same text, which would hide it.
    rank = f"{2 if spec.get('prefix_exact') else 1}{int(spec.get('case_sensitive', True))}"
    return spec.get("precedence", 0), len(spec["prefix"]), lengths, spec["prefix"], method or "GET", [*keys, rank]


def requests(world: World, members: list[Json], request: Request) -> Answer:
    """What becomes of a request that this group matches. Who differs from the first in what there is one of takes no
    part; the first decides whether all are redirected."""
    able = [member for member in members if understood(member)]
    if not able:
        return UNAVAILABLE
    first = able[0]["spec"]
    if first.get("host_redirect"):
        path = first.get("path_redirect", "")
        return {("redirect", first["service"], first.get("redirect_response_code", 301), path): Fraction(1)}
    alike = [
        member
        for member in able
        if not member["spec"].get("host_redirect")
        and member["spec"].get("bypass_auth", False) == first.get("bypass_auth", False)
    ]
    result: Answer = {}
    for member, part in divided(alike):
        spec = member["spec"]
        rewrite = spec.get("rewrite", "/")
        path = rewrite + request.path[len(spec["prefix"]) :] if rewrite else request.path
        if spec.get("segments"):
            path = request.path[len(spec["prefix"]) :] or "/"
        for (target, tls), share in targets(world, member).items():
            header = spec.get("host_rewrite", request.host)
            outcome = ("http", target, tls, path, header) if target else ("status", 503)
            result[outcome] = result.get(outcome, Fraction(0)) + part * share
    return result
