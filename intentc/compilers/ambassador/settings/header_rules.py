"""Rules for single headers, and for texts that Envoy formats: access log formats, and values of added headers.

One text that Envoy rejects would block the whole listener or route configuration (docs/ambassador.md §5.11). One that
it accepts may reveal what its author must not see: ``%ENVIRONMENT(X)%`` is a variable of the gateway's process. So only
the commands in this list pass. The readers decide what happens to the others: Mappings, the Module, AuthServices,
health checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from .. import plain
from .traffic import HeaderAddition, HeaderName

_COMMANDS = """
ACCESS_LOG_TYPE BYTES_RECEIVED BYTES_SENT CLUSTER_METADATA COMMON_DURATION CONNECTION_ID
CONNECTION_TERMINATION_DETAILS CUSTOM_FLAGS DOWNSTREAM_DIRECT_LOCAL_ADDRESS
DOWNSTREAM_DIRECT_LOCAL_ADDRESS_WITHOUT_PORT DOWNSTREAM_DIRECT_LOCAL_PORT DOWNSTREAM_DIRECT_REMOTE_ADDRESS
DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT DOWNSTREAM_DIRECT_REMOTE_PORT DOWNSTREAM_HANDSHAKE_DURATION
DOWNSTREAM_HEADER_BYTES_RECEIVED DOWNSTREAM_HEADER_BYTES_SENT DOWNSTREAM_LOCAL_ADDRESS
DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT DOWNSTREAM_LOCAL_DNS_SAN DOWNSTREAM_LOCAL_EMAIL_SAN DOWNSTREAM_LOCAL_IP_SAN
DOWNSTREAM_LOCAL_PORT DOWNSTREAM_LOCAL_SUBJECT DOWNSTREAM_LOCAL_URI_SAN DOWNSTREAM_PEER_CERT
DOWNSTREAM_PEER_CERT_V_END DOWNSTREAM_PEER_CERT_V_START DOWNSTREAM_PEER_DNS_SAN DOWNSTREAM_PEER_EMAIL_SAN
DOWNSTREAM_PEER_FINGERPRINT_1 DOWNSTREAM_PEER_FINGERPRINT_256 DOWNSTREAM_PEER_IP_SAN DOWNSTREAM_PEER_ISSUER
DOWNSTREAM_PEER_SERIAL DOWNSTREAM_PEER_SUBJECT DOWNSTREAM_PEER_URI_SAN DOWNSTREAM_REMOTE_ADDRESS
DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT DOWNSTREAM_REMOTE_PORT DOWNSTREAM_TLS_CIPHER DOWNSTREAM_TLS_SESSION_ID
DOWNSTREAM_TLS_VERSION DOWNSTREAM_TRANSPORT_FAILURE_REASON DOWNSTREAM_WIRE_BYTES_RECEIVED DOWNSTREAM_WIRE_BYTES_SENT
DURATION DYNAMIC_METADATA EMIT_TIME FILTER_CHAIN_NAME FILTER_STATE GRPC_STATUS GRPC_STATUS_NUMBER HOSTNAME
LOCAL_REPLY_BODY PROTOCOL REQ REQUESTED_SERVER_NAME REQUEST_DURATION REQUEST_HEADERS_BYTES REQUEST_TX_DURATION RESP
RESPONSE_CODE RESPONSE_CODE_DETAILS RESPONSE_DURATION RESPONSE_FLAGS RESPONSE_FLAGS_LONG RESPONSE_HEADERS_BYTES
RESPONSE_TRAILERS_BYTES RESPONSE_TX_DURATION ROUNDTRIP_DURATION ROUTE_NAME START_TIME STREAM_ID TLS_JA3_FINGERPRINT
TRACE_ID TRAILER UNIQUE_ID UPSTREAM_CLUSTER UPSTREAM_CLUSTER_RAW UPSTREAM_CONNECTION_ID UPSTREAM_HEADER_BYTES_RECEIVED
UPSTREAM_HEADER_BYTES_SENT UPSTREAM_HOST UPSTREAM_HOST_NAME UPSTREAM_HOST_NAME_WITHOUT_PORT UPSTREAM_LOCAL_ADDRESS
UPSTREAM_LOCAL_ADDRESS_WITHOUT_PORT UPSTREAM_LOCAL_PORT UPSTREAM_METADATA UPSTREAM_PEER_CERT UPSTREAM_PEER_ISSUER
UPSTREAM_PEER_SUBJECT UPSTREAM_PROTOCOL UPSTREAM_REMOTE_ADDRESS UPSTREAM_REMOTE_ADDRESS_WITHOUT_PORT
UPSTREAM_REMOTE_PORT UPSTREAM_REQUEST_ATTEMPT_COUNT UPSTREAM_TLS_CIPHER UPSTREAM_TLS_SESSION_ID UPSTREAM_TLS_VERSION
UPSTREAM_TRANSPORT_FAILURE_REASON UPSTREAM_WIRE_BYTES_RECEIVED UPSTREAM_WIRE_BYTES_SENT VIRTUAL_CLUSTER_NAME
"""
_WITH_ARGUMENT = "CLUSTER_METADATA COMMON_DURATION DYNAMIC_METADATA FILTER_STATE REQ RESP TRAILER UPSTREAM_METADATA"
_MAY_HAVE_ARGUMENT = "DOWNSTREAM_PEER_CERT_V_END DOWNSTREAM_PEER_CERT_V_START EMIT_TIME GRPC_STATUS START_TIME"

COMMANDS = frozenset(_COMMANDS.split())
"""Commands of Envoy 1.40 that access log formats may have (a test tries each in a real Envoy)."""
HEADER_COMMANDS = COMMANDS - {"CLUSTER_METADATA", "FILTER_STATE", "HOSTNAME", "UPSTREAM_METADATA"}
"""Commands that header values may have: their values belong to the request, its connections or its response."""
_FORBIDDEN = frozenset({"ENVIRONMENT"}) | (COMMANDS - HEADER_COMMANDS)
"""Commands that Envoy knows, but that are not allowed everywhere."""
WITH_ARGUMENT = frozenset(_WITH_ARGUMENT.split())
"""Commands that need an argument."""
MAY_HAVE_ARGUMENT = frozenset(_MAY_HAVE_ARGUMENT.split())
_HEADER = r"[^?]+(\?[^?]+)?"
_FORMS = {
    "COMMON_DURATION": r"\w+:\w+:(ms|us|ns)",
    "FILTER_STATE": r"[^:]+(:(PLAIN|TYPED|FIELD:\w+))?",
    "GRPC_STATUS": "CAMEL_STRING|SNAKE_STRING|NUMBER",
    "REQ": _HEADER,
    "RESP": _HEADER,
    "TRAILER": _HEADER,
}
"""The form of an argument, for commands where Envoy does not accept any text."""
_COMMAND = re.compile(r"%(?:%|([A-Z][A-Z0-9_]*)(?:\(([^()\r\n\x00]+)\))?(?::[0-9]+)?%)")


def mistake(text: str, allowed: frozenset[str] = COMMANDS) -> str:
    """What is wrong with a format in which the commands ``allowed`` may stand, empty if nothing.

    >>> mistake("%PROTOCOL% %REQ(:AUTHORITY)%")
    ''
    >>> mistake("%PROTOCOLL%")
    "'%PROTOCOLL%' is not a command of Envoy; did you mean %PROTOCOL%?"
    """
    return next(_mistakes(text, allowed), "")


def mistake_in(value: Any) -> str:
    """The first mistake in the formats of a JSON value, at any depth."""
    if isinstance(value, dict):
        return next((found for one in value.values() if (found := mistake_in(one))), "")
    if isinstance(value, list):
        return next((found for one in value if (found := mistake_in(one))), "")
    return mistake(value) if isinstance(value, str) else ""


def _mistakes(text: str, allowed: frozenset[str]) -> Iterator[str]:
    position = 0
    while (position := text.find("%", position)) >= 0:
        found = _COMMAND.match(text, position)
        if found is None:
            yield f"{text[position:][:20]!r} begins no command; write %NAME% or %NAME(argument)%, and %% for %"
            return
        name, argument = found[1] or "", found[2]
        if name in _FORBIDDEN and name not in allowed:
            yield f"{found[0]!r} is not allowed here: it shows what is the gateway's, not the request's"
        elif name and name not in allowed:
            near = get_close_matches(name, allowed, 1)
            yield f"{found[0]!r} is not a command of Envoy" + (f"; did you mean %{near[0]}%?" if near else "")
        elif name in WITH_ARGUMENT and argument is None:
            yield f"{found[0]!r} needs an argument, as in %{name}(…)%"
        elif argument is not None and name not in WITH_ARGUMENT | MAY_HAVE_ARGUMENT:
            yield f"{found[0]!r} takes no argument"
        elif argument is not None and not re.fullmatch(_FORMS.get(name, ".*"), argument):
            yield f"{found[0]!r} has an argument that Envoy does not take"
        position = found.end()


MOST_ADDITIONS = 999
"""Envoy accepts a thousand in one place, and one may be added that no user wrote (``add_linkerd_headers``)."""


def addition(name: str, value: Any) -> HeaderAddition:
    """The header ``name`` with its ``value``, or with ``{value, append}``. Raises ``ValueError`` if Envoy would reject
    it."""
    # v2 has only the value where v3alpha1 has {value, append}.
    said = value if isinstance(value, dict) else {"value": value}
    found: HeaderAddition = plain.converted({**said, "name": name}, HeaderAddition)
    if wrong := _untouchable(name) or _mistaken_value(found.value):
        raise ValueError(wrong)
    return found


def unremovable(name: str) -> str:
    """Why Envoy would reject the removal of the header ``name``; empty if it would not."""
    return "this is not a header name" if plain.mistake_in(name, HeaderName) else _untouchable(name)


def _untouchable(name: str) -> str:
    if name.startswith(":") or name.lower() == "host":
        return "Envoy lets nobody add or remove this header; see host_rewrite and rewrite"
    return ""


def _mistaken_value(value: str) -> str:
    if not value.isprintable():
        return "the value has characters that no header can have"
    return mistake(value, HEADER_COMMANDS)
