"""The settings of the Module ``ambassador`` for the whole gateway, as one typed value with all its defaults.

Every key of the Module that has an effect is a field here (docs/ambassador.md §4.3 "Module").
``module_reading.py`` makes the value from user input, ``ambassador/module.py`` yields it as facts. Code for
routes and clusters calls ``module_settings(ctx)``, code for listeners ``gateway(ctx)``.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from intentc import Context

from .traffic import (
    CircuitBreaker,
    Cors,
    Count,
    HeaderAddition,
    HeaderName,
    Keepalive,
    LabelAction,
    LoadBalancer,
    Milliseconds,
    RetryPolicy,
    Settings,
    Text,
)

MODULE_NAME = "ambassador"
"""The name of the Module that takes effect, and of the fact with all its settings."""
TRAFFIC = "traffic"
"""The name of the fact with the settings for single routes and clusters."""

Path = Annotated[str, msgspec.Meta(pattern=r"^/[^\r\n\x00]*\Z")]
Name = Annotated[str, msgspec.Meta(min_length=1)]
_MOST_HEADERS_KB = 8192


class Probe(Settings, frozen=True):
    """A path of the gateway's own, on every HTTP listener. Without a ``service`` the gateway answers it itself."""

    enabled: bool = True
    prefix: Path | Literal[""] = ""
    rewrite: Path | Literal[""] = ""
    service: str = ""


class Gzip(Settings, frozen=True):
    """Which responses are compressed, and how; None: Envoy's default."""

    memory_level: Annotated[int, msgspec.Meta(ge=1, le=9)] | None = None
    min_content_length: Annotated[int, msgspec.Meta(ge=30, le=2**32 - 1)] | None = None
    compression_level: (
        Literal[
            "DEFAULT",
            "BEST",
            "SPEED",
            "DEFAULT_COMPRESSION",
            "BEST_SPEED",
            "BEST_COMPRESSION",
            "COMPRESSION_LEVEL_1",
            "COMPRESSION_LEVEL_2",
            "COMPRESSION_LEVEL_3",
            "COMPRESSION_LEVEL_4",
            "COMPRESSION_LEVEL_5",
            "COMPRESSION_LEVEL_6",
            "COMPRESSION_LEVEL_7",
            "COMPRESSION_LEVEL_8",
            "COMPRESSION_LEVEL_9",
        ]
        | None
    ) = None
    compression_strategy: (
        Literal["DEFAULT", "FILTERED", "HUFFMAN", "RLE", "DEFAULT_STRATEGY", "HUFFMAN_ONLY", "FIXED"] | None
    ) = None
    window_bits: Annotated[int, msgspec.Meta(ge=9, le=15)] | None = None
    content_type: tuple[str, ...] = ()
    disable_on_etag_header: bool = False
    remove_accept_encoding_header: bool = False


class Buffer(Settings, frozen=True):
    """Buffers whole requests, up to ``max_request_bytes``; larger ones are answered 413."""

    max_request_bytes: Annotated[int, msgspec.Meta(ge=1, le=2**32 - 1)]


class GrpcService(Settings, frozen=True):
    name: Name
    method_names: Annotated[tuple[Name, ...], msgspec.Meta(min_length=1)]


class GrpcStats(Settings, frozen=True):
    """Statistics of gRPC calls: of the methods in ``services``, or with ``all_methods`` of each."""

    all_methods: bool = False
    services: tuple[GrpcService, ...] = ()
    upstream_stats: bool = False


class AddressRange(Settings, frozen=True):
    """Addresses of clients: ``peer`` the connection's own, ``remote`` as X-Forwarded-For has it."""

    source: Literal["peer", "remote"]
    address: str
    prefix_length: int


class CertificateDetails(Settings, frozen=True):
    """What X-Forwarded-Client-Cert contains of a client's certificate, in addition to its hash."""

    subject: bool = False
    cert: bool = False
    chain: bool = False
    dns: bool = False
    uri: bool = False


class MappingDefaults(Settings, frozen=True):
    """Defaults for what Mappings don't set: ``defaults.httpmapping``, then ``defaults`` (docs/ambassador.md §4.2)."""

    add_request_headers: tuple[HeaderAddition, ...] = ()
    add_response_headers: tuple[HeaderAddition, ...] = ()
    remove_request_headers: tuple[HeaderName, ...] = ()
    remove_response_headers: tuple[HeaderName, ...] = ()
    stats_name: str = ""


class DefaultLabels(Settings, frozen=True):
    """The rate limit labels of all requests in one domain."""

    domain: str
    actions: tuple[LabelAction, ...]


class ModuleSettings(Settings, frozen=True):
    """All keys of the Module; None and zero: Envoy's own default, unless stated otherwise."""

    # Routes:
    add_linkerd_headers: bool = False
    cluster_request_timeout_ms: Milliseconds = 3000
    cors: Cors | None = None
    default_label_domain: Name = "ambassador"
    default_labels: tuple[DefaultLabels, ...] = ()
    defaults: MappingDefaults = MappingDefaults()
    regex_max_size: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)] = 200
    retry_policy: RetryPolicy | None = None

    # Clusters:
    circuit_breakers: tuple[CircuitBreaker, ...] = ()
    cluster_idle_timeout_ms: Milliseconds = 0
    cluster_max_connection_lifetime_ms: Milliseconds = 0
    enable_ipv4: bool = True
    enable_ipv6: bool = False
    keepalive: Keepalive | None = None
    load_balancer: LoadBalancer | None = None
    proper_case: bool = False
    resolver: str = ""
    use_ambassador_namespace_for_service_resolution: bool = False

    # From here on for listeners only (``ONLY_OF_LISTENERS``). Probes:
    diagnostics: Probe = Probe(enabled=False)
    liveness_probe: Probe = Probe()
    readiness_probe: Probe = Probe()

    # Filters:
    buffer: Buffer | None = None
    enable_grpc_http11_bridge: bool = False
    enable_grpc_web: bool = False
    grpc_stats: GrpcStats | None = None
    gzip: Gzip | None = None
    ip_allow: tuple[AddressRange, ...] | None = None
    ip_deny: tuple[AddressRange, ...] | None = None
    lua_scripts: str = ""
    suppress_envoy_headers: bool = False

    # Connections:
    allow_chunked_length: bool = False
    buffer_limit_bytes: Annotated[int, msgspec.Meta(ge=1, le=2**32 - 1)] | None = None
    enable_http10: bool = False
    forward_client_cert_details: Literal[
        "SANITIZE", "FORWARD_ONLY", "APPEND_FORWARD", "SANITIZE_SET", "ALWAYS_FORWARD_ONLY"
    ] = "SANITIZE"
    headers_with_underscores_action: Literal["ALLOW", "REJECT_REQUEST", "DROP_HEADER"] = "ALLOW"
    listener_idle_timeout_ms: Milliseconds = 0
    max_request_headers_kb: Annotated[int, msgspec.Meta(ge=1, le=_MOST_HEADERS_KB)] | None = None
    merge_slashes: bool = False
    preserve_external_request_id: bool = False
    reject_requests_with_escaped_slashes: bool = False
    server_name: Text = "envoy"
    set_current_client_cert_details: CertificateDetails = CertificateDetails()
    strip_matching_host_port: bool = False
    use_remote_address: bool = True
    xff_num_trusted_hops: Count = 0

    # Access log: ``envoy_log_format``: text, or for the two JSON types the JSON text of an object.
    envoy_log_format: str = ""
    envoy_log_path: Annotated[str, msgspec.Meta(pattern=r"^/[^\r\n\x00]+\Z")] = "/dev/fd/1"
    envoy_log_type: Literal["text", "json", "typed_json"] = "text"


_FIELDS = ModuleSettings.__struct_fields__
ONLY_OF_LISTENERS = _FIELDS[_FIELDS.index("diagnostics") :]


def of_traffic(settings: ModuleSettings) -> ModuleSettings:
    """``settings`` with defaults for everything that concerns only listeners: a change of the access log must not run
    ten thousand routes."""
    default = ModuleSettings()
    return msgspec.structs.replace(settings, **{name: getattr(default, name) for name in ONLY_OF_LISTENERS})


def module_settings(ctx: Context) -> ModuleSettings:
    """The settings for routes and clusters. Those for listeners have their defaults here; ``gateway(ctx).settings`` has
    them."""
    found: ModuleSettings | None = ctx.fact("module_settings", TRAFFIC)
    return found or ModuleSettings()


def all_settings(ctx: Context) -> ModuleSettings:
    """All settings; the defaults while there is no Module.

    A Module that can't be read may say who is admitted: intents that read all settings are held with it.
    """
    found: ModuleSettings | None = ctx.fact("module_settings", MODULE_NAME)
    if found is None:
        for module in ctx.all("module"):
            _ = module.fq_name
    return found or ModuleSettings()
