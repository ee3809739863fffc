"""How the open object of a Module becomes settings: key by key, and nothing that Envoy would reject
(docs/ambassador.md §5.11)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.compilers.ambassador.module_reading import Finding, read_settings
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


def test_no_address_family_at_all_is_reported_and_one_stays() -> None:
    found, (finding,) = read_settings({"enable_ipv4": False})
    assert found.enable_ipv4
    assert finding.reason == "ContradictingSettings"


def test_a_default_that_mappings_do_not_take_is_reported() -> None:
    assert only_finding(defaults={"httpmapping": {"timeout_ms": 3}}).reason == "NoEffect"


def test_default_labels_are_actions_by_domain() -> None:
    (found,) = settings(default_labels={"ambassador": {"defaults": [{"generic_key": {"value": "x"}}]}}).default_labels
    assert (found.domain, found.actions) == ("ambassador", (LabelAction("generic_key", value="x"),))
