"""The annotations of an Ingress by which it sets the gateway: read, checked, and kept as typed values
(docs/appgw.md §7).

A value that can't be read has no effect, and is reported; the others count.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

import msgspec

PREFIX = "appgw.ingress.kubernetes.io/"
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")
_DAY = 86_400


class Annotations(msgspec.Struct, frozen=True):
    """What an Ingress sets, each with the function that reads it. Empty texts, lists and zeros: not set."""

    backend_path_prefix: Annotated[str, _text] = ""
    backend_hostname: Annotated[str, _host] = ""
    backend_protocol: Annotated[str, _protocol] = ""
    """Http, Https, or empty."""
    health_probe_hostname: Annotated[str, _text] = ""
    health_probe_path: Annotated[str, _text] = ""
    health_probe_port: Annotated[int, _number(1, 65_535)] = 0
    health_probe_status_codes: Annotated[tuple[str, ...], _codes] = ()
    health_probe_interval: Annotated[int, _number(1, _DAY)] = 0
    health_probe_timeout: Annotated[int, _number(1, _DAY)] = 0
    health_probe_unhealthy_threshold: Annotated[int, _number(1, 20)] = 0
    cookie_based_affinity: Annotated[bool, _bool] = False
    cookie_based_affinity_distinct_name: Annotated[bool, _bool] = False
    request_timeout: Annotated[int, _number(1, _DAY)] = 30
    connection_draining: Annotated[bool, _bool] = False
    connection_draining_timeout: Annotated[int, _number(1, 3600)] = 30
    ssl_redirect: Annotated[bool, _bool] = False
    appgw_ssl_certificate: Annotated[str, _text] = ""
    appgw_ssl_profile: Annotated[str, _text] = ""
    appgw_trusted_root_certificate: Annotated[tuple[str, ...], _list] = ()
    use_private_ip: Annotated[bool, _bool] = False
    override_frontend_port: Annotated[int, _number(1, 64_999)] = 0
    hostname_extension: Annotated[tuple[str, ...], _list] = ()
    waf_policy_for_path: Annotated[str, _policy] = ""
    rewrite_rule_set: Annotated[str, _text] = ""
    rewrite_rule_set_custom_resource: Annotated[str, _text] = ""
    rule_priority: Annotated[int, _number(1, 20_000)] = 0

    @property
    def sets_probe(self) -> bool:
        """Whether any annotation is about the probe alone."""
        return any(getattr(self, field) for field in self.__struct_fields__ if field.startswith("health_probe_"))


class Mistake(NamedTuple):
    """An annotation without effect. ``reason``: InvalidAnnotation or UnknownAnnotation; ``message``: for people."""

    reason: str
    message: str


def read_annotations(given: Mapping[str, str]) -> tuple[Annotations, list[Mistake]]:
    """The settings in the annotations of an Ingress, and what is wrong with them. Annotations without our prefix are
    others' affair.

    >>> read_annotations({"appgw.ingress.kubernetes.io/request-timeout": "5"})[0].request_timeout
    5
    """
    found: dict[str, Any] = {}
    mistakes: list[Mistake] = []
    for key, text in sorted(given.items()):
        if not key.startswith(PREFIX):
            continue
        name = key.removeprefix(PREFIX)
        reader = _READERS.get(name)
        if reader is None:
            near = difflib.get_close_matches(name, _READERS, 1)
            hint = f"; did you mean {PREFIX}{near[0]}?" if near else "; remove it"
            mistakes.append(Mistake("UnknownAnnotation", f"{key} is not an annotation of Application Gateway{hint}"))
            continue
        try:
            found[name.replace("-", "_")] = reader(text)
        except ValueError as error:
            mistakes.append(Mistake("InvalidAnnotation", f"{key}: {text!r} is not {error}; it has no effect"))
    if found.get("cookie_based_affinity_distinct_name") and not found.get("cookie_based_affinity"):
        message = f"{PREFIX}cookie-based-affinity-distinct-name has an effect only with cookie-based-affinity: true"
        mistakes.append(Mistake("InvalidAnnotation", message))
        found.pop("cookie_based_affinity_distinct_name")
    return Annotations(**found), mistakes


def _text(text: str) -> str:
    return text.strip()


def _bool(text: str) -> bool:
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError("true or false")


def _number(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"[+-]?[0-9]{1,18}", text, re.ASCII) or not low <= int(text) <= high:
            raise ValueError(f"a number from {low} to {high}")
        return int(text)

    return read


def _protocol(text: str) -> str:
    if text.lower() not in ("http", "https"):
        raise ValueError("http or https")
    return text.lower().capitalize()


def _codes(text: str) -> tuple[str, ...]:
    codes = tuple(code.strip() for code in text.split(","))
    for code in codes:
        low, _, high = code.partition("-")
        ends = (low, high) if "-" in code else (low, low)
        if not all(re.fullmatch(r"[1-5][0-9][0-9]", end, re.ASCII) for end in ends) or ends[0] > ends[1]:
            raise ValueError("a list of status codes, such as 200-399,401")
    return codes


def _list(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item.strip() for item in text.split(",") if item.strip()))


def _host(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?", text.strip(), re.ASCII):
        raise ValueError("a host name")
    return text.strip()


def _policy(text: str) -> str:
    if not re.match(r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/[^/]+/.+/.+", text.strip(), re.IGNORECASE):
        raise ValueError("the id of an Azure resource (/subscriptions/…)")
    return text.strip()


_READERS: Mapping[str, Callable[[str], Any]] = {
    field.replace("_", "-"): get_args(hint)[1]
    for field, hint in get_type_hints(Annotations, include_extras=True).items()
}
"""The name of an annotation after the prefix → how its text is read."""
