"""How the gateway treats traffic, as typed values: settings of the Module, of a Mapping or of a service.

Fields have the units that users write (docs/ambassador.md §4.3), and mostly their names, too; ``LabelAction`` and
``HeaderAddition`` have their own. None and empty mean "not set"; zero is a value, such as no retry. What only the
Module sets is in ``module_settings.py``, health checks are in ``upstream_settings.py``.

Durations (``3s``, ``0.25s``, ``1m30s``) are whole milliseconds, so that two spellings of one duration are one value.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

import msgspec

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
_MOST = 9_223_372_035_000
"""The longest duration that Envoy accepts: it counts nanoseconds in 63 bits, about 292 years (tried out)."""


def milliseconds(text: str) -> int | None:
    """The length of time that ``text`` names, in milliseconds; None if it names none, or one that Envoy can't take.

    >>> milliseconds("0.25s"), milliseconds("1h30m"), milliseconds("soon")
    (250, 5400000, None)
    """
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        return None
    found = sum(float(number) * _MILLISECONDS[unit] for number, unit in parts)
    return round(found) if found <= _MOST else None


def duration(length: int) -> str:
    """A length of time in milliseconds as Envoy's JSON has it; the longest that it takes for any that is longer.

    >>> duration(1500)
    '1.500s'
    """
    length = min(length, _MOST)
    return f"{length // 1000}.{length % 1000:03d}s"


Milliseconds = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)]
# Patterns end with \Z: $ would accept a line break at the end.
Text = Annotated[str, msgspec.Meta(pattern=r"^[^\r\n\x00]+\Z")]
"""What the value of a header may contain."""
HeaderName = Annotated[str, msgspec.Meta(pattern=r"^:?[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")]
Duration = Annotated[str, msgspec.Meta(pattern=r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))*\Z")]
"""A length of time such as ``250ms``, or empty; ``durations.milliseconds`` reads it."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The base of values that users write: unknown fields are rejected, not ignored."""


def _check_length(field: str, text: str) -> None:
    if text and milliseconds(text) is None:
        raise ValueError(f"{field} {text[:20]!r} is longer than Envoy can wait")


class Cors(Settings, frozen=True):
    """Which other origins may read responses. ``max_age``: seconds, as text."""

    origins: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    exposed_headers: tuple[str, ...] = ()
    credentials: bool = False
    max_age: Annotated[str, msgspec.Meta(pattern=r"^[0-9]*\Z")] = ""


class RetryPolicy(Settings, frozen=True):
    """When a request is retried. ``per_try_timeout``: a duration such as ``250ms`` or ``1s``."""

    retry_on: Literal[
        "5xx", "gateway-error", "connect-failure", "retriable-4xx", "refused-stream", "retriable-status-codes"
    ]
    num_retries: Count | None = None
    per_try_timeout: Duration = ""

    def __post_init__(self) -> None:
        _check_length("per_try_timeout", self.per_try_timeout)


class CircuitBreaker(Settings, frozen=True):
    """How much may be open to one upstream at once, by priority; None: Envoy's default limit."""

    priority: Literal["default", "high"] = "default"
    max_connections: Count | None = None
    max_pending_requests: Count | None = None
    max_requests: Count | None = None
    max_retries: Count | None = None


class Cookie(Settings, frozen=True):
    """The cookie that sticks a client to an endpoint. ``ttl``: a duration such as ``60s``, empty for the session."""

    name: Text
    path: Annotated[str, msgspec.Meta(pattern=r"^[^;\r\n\x00]*\Z")] = ""
    ttl: Duration = ""

    def __post_init__(self) -> None:
        _check_length("ttl", self.ttl)


class LoadBalancer(Settings, frozen=True):
    """How an endpoint is chosen; ``ring_hash`` and ``maglev`` need exactly one of cookie, header and source_ip."""

    policy: Literal["round_robin", "least_request", "ring_hash", "maglev"]
    cookie: Cookie | None = None
    header: HeaderName | Literal[""] = ""
    source_ip: bool = False


class Keepalive(Settings, frozen=True):
    """TCP keepalive towards upstreams: seconds until the first probe and between probes, and how many. The bounds are
    Linux's: beyond them Linux refuses to open a connection."""

    idle_time: Annotated[int, msgspec.Meta(ge=0, le=32767)] | None = None
    interval: Annotated[int, msgspec.Meta(ge=0, le=32767)] | None = None
    probes: Annotated[int, msgspec.Meta(ge=0, le=127)] | None = None


class HeaderAddition(Settings, frozen=True):
    """A header to add; without ``append`` it replaces an existing one."""

    name: HeaderName
    value: str
    append: bool = True


class LabelAction(Settings, frozen=True):
    """What rate limits count a request by (Envoy's descriptor entry). Fields of other kinds are empty."""

    kind: Literal["source_cluster", "destination_cluster", "request_headers", "remote_address", "generic_key"]
    key: str = ""
    value: str = ""
    header_name: HeaderName | Literal[""] = ""
