"""Converts a Module's open ``config`` object to ``ModuleSettings``, key by key.

A key that can't be used is left out and reported with its path, and the others apply. No value that Envoy would reject
passes (docs/ambassador.md §5.11), except for the folder of a log file and Lua scripts, which only Envoy can judge.
Access lists are not left out, because that would open a hole: an unusable entry there admits nobody.

In groups of settings (``gzip``, ``buffer``, ``keepalive`` …) an unknown key does not disable its group: Emissary's
users write ``enabled`` in groups without such a setting, and keys of other versions. A wrong value is left out alone,
unless nothing else is set in the group and ``enabled`` is not true. A group with a required key (``buffer``,
``load_balancer``, ``retry_policy``) is left out as a whole, whichever value is wrong.
"""

from __future__ import annotations

import ipaddress
import types
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from . import plain
from .plain import converted, texts
from .routing.header_changes import additions, label_action, removable
from .settings.header_rules import mistake_in
from .settings.module_settings import AddressRange, DefaultLabels, MappingDefaults, ModuleSettings
from .settings.traffic import CircuitBreaker, Cors, Keepalive, LoadBalancer, Settings
from .settings.upstream_settings import circuit_breakers, keepalive, load_balancer

ENABLED = "enabled"
"""Enables or disables a group, even one without this field: a group that is present is enabled."""
OFF = object()
"""Replaces a group that ``enabled: false`` disables."""

NO_EFFECT: Mapping[str, str] = {
    "config.diagnostics.allow_non_local": "who can reach the diagnostics follows from the address where they listen",
}
"""Keys of groups that Emissary reads and that have no effect here → where to set this instead."""


class Finding(NamedTuple):
    """A problem of one key: a CamelCase reason, and what is wrong and happens now."""

    reason: str
    message: str


def read_group(value: Any, wanted: Any, where: str, findings: list[Finding]) -> Any:
    """Returns ``value`` without what can't be used, with a finding for each; ``OFF`` if it is disabled.

    Returns it unchanged if ``wanted`` is not a group, or ``value`` not an object. Raises ``ValueError`` if the group
    can't be used at all.
    """
    group = _group(wanted)
    if group is None or not isinstance(value, dict):
        return value
    given = _known(value, group, where, findings)
    switched_on = value.get(ENABLED) is True
    if ENABLED in value and ENABLED not in group.__struct_fields__:
        if not isinstance(value[ENABLED], bool):
            raise ValueError(f"{ENABLED}: true or false is expected")
        if not value[ENABLED]:
            return OFF
    if any(field.required for field in msgspec.structs.fields(group)):
        return given
    fields = get_type_hints(group, include_extras=True)
    wrong: list[Finding] = []
    for key in sorted(given):
        message = plain.mistake_in(given[key], fields[key])
        if message:
            wrong.append(Finding("InvalidSetting", f"{where}.{key}: {message}; it is left out"))
            del given[key]
    if wrong and not given and not switched_on:
        raise ValueError(wrong[0].message.removeprefix(f"{where}.").removesuffix("; it is left out"))
    findings += wrong
    return given


def _known(value: dict[str, Any], group: type[Settings], where: str, findings: list[Finding]) -> dict[str, Any]:
    """The keys that ``group`` knows, including nested groups; a finding for each unknown one."""
    found: dict[str, Any] = {}
    fields = get_type_hints(group, include_extras=True)
    for key, item in value.items():
        path = f"{where}.{key}"
        if key in fields:
            inner = _group(fields[key])
            found[key] = _known(item, inner, path, findings) if inner and isinstance(item, dict) else item
        elif path in NO_EFFECT:
            findings.append(Finding("NoEffect", f"{path} has no effect: {NO_EFFECT[path]}"))
        elif key != ENABLED:
            findings.append(Finding("UnknownSetting", f"{path} is not a setting{_near(key, fields)}; it is left out"))
    return found


def _group(wanted: Any) -> type[Settings] | None:
    """The struct among the alternatives of a type."""
    if get_origin(wanted) is Annotated:
        return _group(get_args(wanted)[0])
    alternatives = get_args(wanted) if isinstance(wanted, types.UnionType) else (wanted,)
    return next((one for one in alternatives if isinstance(one, type) and issubclass(one, Settings)), None)


def _near(name: str, names: Iterable[str]) -> str:
    found = get_close_matches(name, list(names), 1)
    return f"; did you mean {found[0]}?" if found else ""


WITHOUT_EFFECT: Mapping[str, str] = {
    "admin_port": "Envoy's administration is configured where Envoy is started",
    "auth_enabled": "an AuthService is in force while there is one",
    "debug_mode": "the service has its own log level",
    "diag_port": "the diagnostics have their own address",
    "envoy_validation_timeout": "elements are checked one by one; there is no validation to wait for",
    "prune_unreachable_routes": "each Mapping has one route, whether a Host serves it or not",
    "regex_type": "all regular expressions are RE2's",
    "runtime_flags": "Envoy's runtime is configured where Envoy is started",
    "service_port": "create a Listener with this port",
    "statsd": "Envoy's statistics are configured where Envoy is started",
    "use_proxy_proto": "create a Listener with the protocol HTTPPROXY or HTTPSPROXY",
    "x_forwarded_proto_redirect": "set requestPolicy.insecure.action of a Host, and securityModel XFP of its Listener",
}
"""Keys that Emissary reads and that have no effect here → where to set this instead."""
UNSUPPORTED: Mapping[str, str] = {
    "error_response_overrides": "the answers are those of Envoy",
    "header_case_overrides": "Envoy 1.40 can't set the case of single headers; proper_case sets it for all",
}


def read_settings(config: Mapping[str, Any]) -> tuple[ModuleSettings, list[Finding]]:
    """The settings in ``config`` (plain JSON), and findings for what can't be used."""
    found: dict[str, Any] = {}
    findings: list[Finding] = []
    for key in sorted(config):
        value = config[key]
        if value is None:
            continue
        try:
            if key in READERS:
                found[key] = READERS[key](value, findings)
            elif key in _TYPES:
                given = read_group(value, _TYPES[key], f"config.{key}", findings)
                if given is not OFF:
                    found[key] = converted(given, _TYPES[key])
            else:
                findings.append(_not_read(key))
        except ValueError as error:
            findings.append(Finding("InvalidSetting", f"config.{key}: {error}; it is left out"))
    return _agreed(ModuleSettings(**found), findings), findings


def _not_read(key: str) -> Finding:
    if key in WITHOUT_EFFECT:
        return Finding("NoEffect", f"config.{key} has no effect: {WITHOUT_EFFECT[key]}")
    if key in UNSUPPORTED:
        return Finding("Unsupported", f"config.{key} is not supported and left out: {UNSUPPORTED[key]}")
    return Finding("UnknownSetting", f"config.{key} is not a setting{_near(key, _TYPES)}; it is left out")


def _agreed(settings: ModuleSettings, findings: list[Finding]) -> ModuleSettings:
    """Adjusts settings that only make sense together."""
    if settings.ip_allow is not None and settings.ip_deny is not None:
        message = "config.ip_allow and config.ip_deny exclude each other; both are in force"
        findings.append(Finding("ContradictingSettings", message))
    if not settings.enable_ipv4 and not settings.enable_ipv6:
        message = "config.enable_ipv4 and config.enable_ipv6 are both false, and no upstream could be found"
        findings.append(Finding("ContradictingSettings", f"{message}; enable_ipv4 is left out"))
        settings = msgspec.structs.replace(settings, enable_ipv4=True)
    if settings.diagnostics.enabled and not settings.diagnostics.service:
        message = "config.diagnostics: they have an address of their own; name a service to publish them"
        findings.append(Finding("NoEffect", message))
    return _with_log_format(settings, findings)


def _with_log_format(settings: ModuleSettings, findings: list[Finding]) -> ModuleSettings:
    """The log format in the form that the log type needs; before this, ``envoy_log_format`` holds JSON."""
    if not settings.envoy_log_format:
        return settings
    given = msgspec.json.decode(settings.envoy_log_format)
    textual = settings.envoy_log_type == "text"
    wanted = "a text" if textual else "an object of names and formats"
    wrong = "" if isinstance(given, str if textual else dict) else f"{settings.envoy_log_type} wants {wanted}"
    wrong = wrong or mistake_in(given)
    if wrong:
        findings.append(Finding("InvalidSetting", f"config.envoy_log_format: {wrong}; it is left out"))
        return msgspec.structs.replace(settings, envoy_log_format="")
    return msgspec.structs.replace(settings, envoy_log_format=given) if textual else settings


def _cors(value: Any, findings: list[Finding]) -> Cors | None:
    given = dict(converted(value, dict[str, Any]))
    for name in ("origins", "methods", "headers", "exposed_headers"):
        if name in given:
            given[name] = texts(given[name])
    return converted(_policy(given, Cors, "cors", findings), Cors | None)  # type: ignore[no-any-return]


def _default_labels(value: Any, findings: list[Finding]) -> tuple[DefaultLabels, ...]:
    found = []
    for domain, given in sorted(converted(value, dict[str, Any]).items()):
        where = f"config.default_labels.{domain}"
        try:
            labels = converted(converted(given, dict[str, Any]).get("defaults", []), list[Any])
            found.append(DefaultLabels(domain, tuple(label_action(label, "defaults") for label in labels)))
        except ValueError as error:
            findings.append(Finding("InvalidSetting", f"{where}: {error}; it is left out"))
    return tuple(found)


def _defaults(value: Any, findings: list[Finding]) -> MappingDefaults:
    """Reads ``defaults``: values under ``httpmapping`` override those next to it; other classes have no defaults."""
    general = dict(converted(value, dict[str, Any]))
    given = {**general, **converted(general.pop("httpmapping", None) or {}, dict[str, Any])}

    def report(reason: str, message: str) -> None:
        findings.append(Finding(reason, message))

    found: dict[str, Any] = {}
    for key in sorted(given):
        where = f"config.defaults: {key}"
        if key in ("add_request_headers", "add_response_headers"):
            found[key] = tuple(additions(converted(given[key], dict[str, Any]), where, report))
        elif key in ("remove_request_headers", "remove_response_headers"):
            found[key] = tuple(name for name in texts(given[key]) if removable(name, where, report))
        elif key == "stats_name":
            found[key] = converted(given[key], str)
        elif key != "httpmapping":
            near = _near(key, MappingDefaults.__struct_fields__)
            findings.append(Finding("NoEffect", f"{where} is not a default that Mappings take{near}; it is left out"))
    return MappingDefaults(**found)


def _allowed(value: Any, findings: list[Finding]) -> tuple[AddressRange, ...]:
    """An unusable entry allows nobody, and so does a list of only unusable entries."""
    ranges, wrong = _ranges(value)
    findings += [
        Finding("InvalidSetting", f"config.ip_allow{each}; it allows nobody until it is fixed") for each in wrong
    ]
    return ranges


def _denied(value: Any, findings: list[Finding]) -> tuple[AddressRange, ...]:
    """An unusable entry denies everybody: whoever it means must stay out."""
    ranges, wrong = _ranges(value)
    if not wrong:
        return ranges
    findings += [
        Finding("InvalidSetting", f"config.ip_deny{each}; it denies everybody until it is fixed") for each in wrong
    ]
    return EVERYBODY


EVERYBODY = tuple(
    AddressRange("peer", str(network.network_address), 0)
    for network in (ipaddress.IPv4Network((0, 0)), ipaddress.IPv6Network((0, 0)))
)


def _ranges(value: Any) -> tuple[tuple[AddressRange, ...], list[str]]:
    """The ranges of an access list, and for each unusable entry its place and what is wrong."""
    if not isinstance(value, list):
        return (), [": a list of {peer: address} and {remote: address} is expected"]
    ranges, wrong = [], []
    for position, entry in enumerate(value):
        try:
            ranges.append(_range(entry))
        except ValueError as error:
            wrong.append(f"[{position}]: {error}")
    return tuple(ranges), wrong


def _range(entry: Any) -> AddressRange:
    if not isinstance(entry, dict) or len(entry) != 1 or next(iter(entry)) not in ("peer", "remote"):
        raise ValueError("one of {peer: address} and {remote: address} is expected")
    [(source, text)] = entry.items()
    if "%" in converted(text, str):
        raise ValueError(f"{text!r} names a network interface, and a client's address has none")
    network = ipaddress.ip_network(text, strict=False)
    return AddressRange(source, str(network.network_address), network.prefixlen)


def _hash_checked(value: Any, findings: list[Finding]) -> Any:
    return load_balancer(_policy(converted(value, dict[str, Any]), LoadBalancer, "load_balancer", findings))


def _breakers(value: Any, findings: list[Finding]) -> Any:
    given = enumerate(converted(value, list[dict[str, Any]]))
    return circuit_breakers(
        _known(one, CircuitBreaker, f"config.circuit_breakers[{position}]", findings) for position, one in given
    )


def _keepalive(value: Any, findings: list[Finding]) -> Any:
    given = dict(converted(value, dict[str, Any]))
    if "time" in given:
        # The name in older versions.
        given.setdefault("idle_time", given.pop("time"))
    return keepalive(_policy(given, Keepalive, "keepalive", findings))


def _policy(given: dict[str, Any], group: type[Settings], key: str, findings: list[Finding]) -> Any:
    """The group ``key`` as ``read_group`` returns it, None if it is disabled."""
    found = read_group(given, group, f"config.{key}", findings)
    return None if found is OFF else found


def _log_format(value: Any, _: list[Finding]) -> str:
    if isinstance(value, str) and not value:
        return ""
    return msgspec.json.encode(value, order="sorted").decode()


READERS: Mapping[str, Callable[[Any, list[Finding]], Any]] = {
    "circuit_breakers": _breakers,
    "cors": _cors,
    "default_labels": _default_labels,
    "defaults": _defaults,
    "envoy_log_format": _log_format,
    "ip_allow": _allowed,
    "ip_deny": _denied,
    "keepalive": _keepalive,
    "load_balancer": _hash_checked,
}
"""Keys that accept more than their type allows."""

_TYPES: Mapping[str, Any] = get_type_hints(ModuleSettings, include_extras=True)
