"""How the open object of a Module becomes settings: key by key, and nothing that Envoy would reject
(docs/ambassador.md §5.11)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.compilers.ambassador.module_reading import UNSUPPORTED, WITHOUT_EFFECT, Finding, read_settings
from intentc.compilers.ambassador.settings.module_settings import (
    AddressRange,
    Buffer,
    CertificateDetails,
    GrpcStats,
    Gzip,
    ModuleSettings,
    Probe,
)
from intentc.compilers.ambassador.settings.traffic import (
    CircuitBreaker,
    Cookie,
    Cors,
    HeaderAddition,
    Keepalive,
    LabelAction,
    LoadBalancer,
    RetryPolicy,
)


def settings(**config: Any) -> ModuleSettings:
    found, findings = read_settings(config)
    assert findings == []
    return found


def only_finding(**config: Any) -> Finding:
    _, (finding,) = read_settings(config)
    return finding


def test_a_module_that_says_nothing_leaves_every_default() -> None:
    assert settings() == ModuleSettings()


def test_null_means_not_set() -> None:
    assert settings(server_name=None) == ModuleSettings()


WRONG = [
    ("forward_client_cert_details", "X"),
    ("headers_with_underscores_action", "DROP"),
    ("enable_ipv4", "yes"),
    ("cluster_request_timeout_ms", -1),
    ("max_request_headers_kb", 9000),
    ("server_name", "a\nb"),
    ("regex_max_size", 0),
    ("buffer", {}),
    ("buffer", {"max_request_bytes": 0}),
    ("gzip", {"window_bits": 16}),
    ("gzip", {"compression_level": "MOST"}),
    ("grpc_stats", {"services": [{"name": "a"}]}),
    ("grpc_stats", {"services": [{"name": "", "method_names": ["b"]}]}),
    ("grpc_stats", {"services": [{"name": "a", "method_names": [""]}]}),
    ("server_name", "a\n"),
    ("load_balancer", {"policy": "ring_hash", "header": "x\n"}),
    ("liveness_probe", {"prefix": "/a\n"}),
    ("retry_policy", {"retry_on": "5xx", "per_try_timeout": "1s\n"}),
    ("retry_policy", {"retry_on": "5xx", "per_try_timeout": "9223372036s"}),
    ("cors", {"max_age": "10\n"}),
    ("envoy_log_path", "log"),
    ("envoy_log_path", "/tmp/log\n"),
    ("circuit_breakers", [{"priority": "low"}]),
    ("circuit_breakers", [{}, {}]),
    ("load_balancer", {"policy": "ring_hash"}),
    ("keepalive", {"probes": "three"}),
    ("keepalive", {"probes": 128}),
    ("keepalive", {"idle_time": 32768}),
    ("retry_policy", {"retry_on": "sometimes"}),
    ("retry_policy", {"num_retries": 3}),
    ("cors", {"origins": [1]}),
    ("cors", "everybody"),
    ("liveness_probe", {"prefix": "no-slash"}),
    ("set_current_client_cert_details", {"subject": "yes"}),
    ("envoy_log_type", "xml"),
    ("envoy_log_path", ""),
    ("envoy_log_format", "%PROTOCOLL%"),
    ("envoy_log_format", {"a": "b"}),
    ("default_labels", {"ambassador": {"defaults": [{"no_label": 1}]}}),
    ("lua_scripts", ["function"]),
]


@pytest.mark.parametrize(("key", "value"), WRONG, ids=lambda part: str(part))
def test_a_wrong_value_is_left_out_and_reported_with_its_key(key: str, value: Any) -> None:
    found, (finding,) = read_settings({key: value, "xff_num_trusted_hops": 2})
    assert found == ModuleSettings(xff_num_trusted_hops=2)
    assert finding.reason == "InvalidSetting"
    assert finding.message.startswith(f"config.{key}")
    assert finding.message.endswith("; it is left out")


def test_each_wrong_value_is_reported_by_itself() -> None:
    _, findings = read_settings({"enable_ipv4": 1, "server_name": 2, "forward_client_cert_details": "X"})
    assert [finding.message.split(":")[0] for finding in findings] == [
        "config.enable_ipv4",
        "config.forward_client_cert_details",
        "config.server_name",
    ]


def test_a_misspelt_key_is_reported_with_the_nearest() -> None:
    assert only_finding(servr_name="x") == Finding(
        "UnknownSetting", "config.servr_name is not a setting; did you mean server_name?; it is left out"
    )


def test_a_misspelt_field_is_reported_with_the_nearest() -> None:
    assert "did you mean compression_level?" in only_finding(gzip={"compression_levl": "BEST"}).message


def test_enabled_switches_a_group_on_or_off_where_emissarys_users_write_it() -> None:
    assert settings(gzip={"enabled": True}).gzip == Gzip()
    assert settings(buffer={"enabled": True, "max_request_bytes": 5}).buffer == Buffer(5)
    assert settings(grpc_stats={"enabled": True, "all_methods": True}).grpc_stats == GrpcStats(all_methods=True)
    switched_off = {"gzip": {"enabled": False}, "grpc_stats": {"enabled": False}, "cors": {"enabled": False}}
    assert settings(**switched_off) == ModuleSettings()


@pytest.mark.parametrize(
    ("key", "given", "counts"),
    [
        ("gzip", {"enabled": True, "window_bits": 99, "memory_level": 3}, Gzip(memory_level=3)),
        ("gzip", {"memory_level": 3, "levels": 4}, Gzip(memory_level=3)),
        ("gzip", {"levels": 4}, Gzip()),
        ("buffer", {"max_request_bytes": 5, "size": 1}, Buffer(5)),
        ("grpc_stats", {"all_methods": True, "method": "x"}, GrpcStats(all_methods=True)),
        ("liveness_probe", {"prefix": "/alive", "path": "x"}, Probe(prefix="/alive")),
        ("diagnostics", {"enabled": False, "allow_non_local": True}, Probe(enabled=False)),
        ("set_current_client_cert_details", {"subject": True, "sub": 1}, CertificateDetails(subject=True)),
        ("keepalive", {"time": 5, "count": 3}, Keepalive(idle_time=5)),
        ("cors", {"origins": "https://a.example", "origin": "x"}, Cors(origins=("https://a.example",))),
        ("retry_policy", {"retry_on": "5xx", "retries": 3}, RetryPolicy("5xx")),
        ("circuit_breakers", [{"max_requests": 1, "max": 2}], (CircuitBreaker(max_requests=1),)),
        ("load_balancer", {"policy": "ring_hash", "cookie": {"name": "c", "age": 1}},
         LoadBalancer("ring_hash", Cookie("c"))),
    ],
)  # fmt: skip
def test_one_odd_key_does_not_lose_its_group(key: str, given: Any, counts: Any) -> None:
    found, (finding,) = read_settings({key: given})
    assert getattr(found, key) == counts
    assert finding.message.startswith(f"config.{key}")
    assert finding.reason in ("UnknownSetting", "InvalidSetting", "NoEffect")


@pytest.mark.parametrize("key", sorted(WITHOUT_EFFECT))
def test_what_is_decided_elsewhere_is_reported_where(key: str) -> None:
    assert only_finding(**{key: 1}) == Finding("NoEffect", f"config.{key} has no effect: {WITHOUT_EFFECT[key]}")


@pytest.mark.parametrize("key", sorted(UNSUPPORTED))
def test_what_envoy_does_not_have_is_reported_and_left_out(key: str) -> None:
    assert only_finding(**{key: ["X"]}).reason == "Unsupported"


def test_access_lists_are_ranges() -> None:
    found = settings(ip_allow=[{"peer": "127.0.0.1"}, {"remote": "10.1.2.3/8"}, {"remote": "::1"}])
    assert found.ip_allow == (
        AddressRange("peer", "127.0.0.1", 32),
        AddressRange("remote", "10.0.0.0", 8),
        AddressRange("remote", "::1", 128),
    )


@pytest.mark.parametrize(
    "wrong", ["everybody", [{"peer": "nowhere"}], [{"who": "::1"}], [{"peer": "::", "remote": "::"}]]
)
def test_a_list_of_those_allowed_that_can_not_be_read_allows_nobody(wrong: Any) -> None:
    found, (finding,) = read_settings({"ip_allow": wrong})
    assert found.ip_allow == ()
    assert "allows nobody until it is fixed" in finding.message


@pytest.mark.parametrize("wrong", ["everybody", [{"peer": "10.0.0.1"}, {"peer": "nowhere"}], [{"peer": "::1%eth0"}]])
def test_a_list_of_those_denied_that_can_not_be_read_denies_everybody(wrong: Any) -> None:
    found, (finding,) = read_settings({"ip_deny": wrong})
    assert found.ip_deny == (AddressRange("peer", "0.0.0.0", 0), AddressRange("peer", "::", 0))
    assert "denies everybody until it is fixed" in finding.message


def test_both_access_lists_are_reported_and_both_in_force() -> None:
    found, (finding,) = read_settings({"ip_allow": [{"peer": "::1"}], "ip_deny": [{"peer": "::2"}]})
    assert finding.reason == "ContradictingSettings"
    assert (found.ip_allow, found.ip_deny) == ((AddressRange("peer", "::1", 128),), (AddressRange("peer", "::2", 128),))


def test_another_mistake_leaves_the_access_list_in_force() -> None:
    """Defect 12: a Module with any earlier error and ip_allow took the whole configuration down."""
    found, (finding,) = read_settings({"forward_client_cert_details": "X", "ip_allow": [{"peer": "::1"}]})
    assert found.ip_allow == (AddressRange("peer", "::1", 128),)
    assert "forward_client_cert_details" in finding.message


def test_no_address_family_at_all_is_reported_and_one_stays() -> None:
    found, (finding,) = read_settings({"enable_ipv4": False})
    assert found.enable_ipv4
    assert finding.reason == "ContradictingSettings"


def test_a_log_format_has_the_form_of_the_log_type() -> None:
    assert settings(envoy_log_format="%PROTOCOL%").envoy_log_format == "%PROTOCOL%"
    found = settings(envoy_log_type="json", envoy_log_format={"p": "%PROTOCOL%"})
    assert found.envoy_log_format == '{"p":"%PROTOCOL%"}'
    assert "json wants an object" in only_finding(envoy_log_type="json", envoy_log_format="%PROTOCOL%").message


def test_a_time_is_the_older_name_of_idle_time() -> None:
    found = settings(keepalive={"time": 100, "interval": 10, "probes": 5}).keepalive
    assert found is not None
    assert (found.idle_time, found.interval, found.probes) == (100, 10, 5)


def test_origins_may_be_one_text_with_commas() -> None:
    found = settings(cors={"origins": "http://a,http://b", "credentials": True}).cors
    assert found is not None
    assert found.origins == ("http://a", "http://b")


def test_defaults_of_mappings_go_before_those_of_all() -> None:
    found = settings(
        defaults={
            "stats_name": "all",
            "remove_request_headers": ["x-a"],
            "httpmapping": {"stats_name": "mappings", "add_request_headers": {"x-b": {"value": "c", "append": False}}},
        }
    ).defaults
    assert found.stats_name == "mappings"
    assert found.remove_request_headers == ("x-a",)
    assert found.add_request_headers == (HeaderAddition("x-b", "c", append=False),)


def test_a_default_that_mappings_do_not_take_is_reported() -> None:
    assert only_finding(defaults={"httpmapping": {"timeout_ms": 3}}).reason == "NoEffect"


def test_default_labels_are_actions_by_domain() -> None:
    (found,) = settings(default_labels={"ambassador": {"defaults": [{"generic_key": {"value": "x"}}]}}).default_labels
    assert (found.domain, found.actions) == ("ambassador", (LabelAction("generic_key", value="x"),))


def test_diagnostics_need_a_service_to_be_published() -> None:
    assert only_finding(diagnostics={"enabled": True}).reason == "NoEffect"
    assert settings(diagnostics={"service": "diag:8877"}).diagnostics.service == "diag:8877"
