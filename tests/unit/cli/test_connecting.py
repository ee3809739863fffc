"""From the configuration to the API server and to etcd."""

from __future__ import annotations

from pathlib import Path

import pytest

from intentc.cli.connecting import api_server, etcd_store
from intentc.loading.configuration import Configuration, load
from intentc.model import InvalidInput
from intentc.writing.endpoint import trust_lack
from tests.support.certificates import Authority
from tests.unit.cli.running import Intentc


def configuration(**environ: str) -> Configuration:
    return load(None, {f"INTENTC_{name}": value for name, value in environ.items()}).configuration


def test_without_keystone_nobody_logs_in() -> None:
    endpoint = api_server(configuration(CLIENT__ENDPOINT="http://api:9091", CLIENT__PASSWORD="canary"))
    assert (endpoint.url, endpoint.credentials) == ("http://api:9091", None)


def test_with_keystone_the_client_section_says_which_user() -> None:
    credentials = api_server(
        configuration(
            KEYSTONE__AUTHURL="http://keystone/v3",
            CLIENT__ID="alice",
            CLIENT__PASSWORD="canary",
            CLIENT__PROJECT_NAME="admin",
        )
    ).credentials
    assert credentials is not None
    assert (credentials.user_id, credentials.password(), credentials.project_name) == ("alice", "canary", "admin")
    assert "canary" not in repr(credentials)


def test_our_certificate_is_shown_if_it_is_enabled() -> None:
    files = {"TRUSTED_CA_PATH": "ca", "CERTIFICATE_PATH": "cert", "KEY_PATH": "key"}
    variables = {f"CLIENT__TLS__{name}": path for name, path in files.items()}
    shown = api_server(configuration(**variables, CLIENT__TLS__ENABLED="true"))
    assert (shown.ca, shown.cert, shown.key) == ("ca", "cert", "key")
    hidden = api_server(configuration(**variables))
    assert (hidden.ca, hidden.cert, hidden.key) == ("", "", "")


def test_certificates_that_are_not_there_or_are_none_are_reported_by_file(intentc: Intentc, tmp_path: Path) -> None:
    authority, path = tmp_path / "ca.pem", tmp_path / "contrail.yml"
    path.write_text(
        f"client: {{endpoint: 'https://127.0.0.1:1', tls: {{enabled: true, trusted_ca_path: {authority}}}}}"
    )
    ended = intentc("get", "project", "--config-file", path)
    assert (ended.code, "No such file or directory" in ended.err, str(authority) in ended.err) == (3, True, True)
    authority.write_text("no certificate")
    ended = intentc("get", "project", "--config-file", path)
    assert (ended.code, f"client.tls.trusted_ca_path: {authority} holds no certificate" in ended.err) == (3, True)


def test_a_certificate_and_another_ones_key_are_rejected_with_both_keys(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    one, other = authority.issue("one"), authority.issue("other")
    variables = {
        "ETCD__TLS__ENABLED": "true",
        "ETCD__TLS__CERTIFICATE_PATH": str(one.certificate),
        "ETCD__TLS__KEY_PATH": str(other.key),
    }
    with pytest.raises(InvalidInput, match=r"^INTENTC_ETCD__TLS__CERTIFICATE_PATH: .*etcd\.tls\.key_path"):
        etcd_store(configuration(**variables))
    etcd_store(configuration(**{**variables, "ETCD__TLS__KEY_PATH": str(one.key)}))


def test_check_looks_at_the_files_of_tls(intentc: Intentc, tmp_path: Path) -> None:
    path = tmp_path / "contrail.yml"
    path.write_text("etcd:\n  tls: {enabled: true, trusted_ca_path: /nope}\n")
    ended = intentc("check", "--config-file", path)
    assert (ended.code, f"{path}:2" in ended.err) == (3, True)
    assert "etcd.tls.trusted_ca_path: /nope can't be read" in ended.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Hostname mismatch, certificate is not valid for 'x'. (_ssl.c:1)", "other names"),
        (
            "[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate",
            "client.tls.trusted_ca",
        ),
        ("[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1)", "speaks no TLS"),
        ("All connection attempts failed", ""),
    ],
)
def test_a_failure_of_trust_is_named_as_such(text: str, said: str) -> None:
    lack = trust_lack(OSError(text))
    assert bool(lack) == bool(said)
    assert said in lack


@pytest.mark.parametrize("key", ["INSECURE", "KEYSTONE__INSECURE"])
def test_insecure_means_any_certificate(key: str) -> None:
    assert api_server(configuration(**{key: "true"})).insecure


def test_a_certificate_without_its_key_is_rejected(tmp_path: Path) -> None:
    one = Authority(tmp_path / "authority").issue("one")
    variables = {"ETCD__TLS__ENABLED": "true", "ETCD__TLS__CERTIFICATE_PATH": str(one.certificate)}
    with pytest.raises(InvalidInput, match=r"etcd\.tls\.certificate_path needs its key"):
        etcd_store(configuration(**variables))


def test_an_empty_address_of_the_api_server_names_the_key() -> None:
    with pytest.raises(InvalidInput, match=r"^client\.endpoint: client\.endpoint is empty"):
        api_server(configuration(CLIENT__ENDPOINT=""))


def test_a_bad_etcd_endpoint_names_the_key() -> None:
    with pytest.raises(InvalidInput, match=r"^etcd\.endpoints: "):
        etcd_store(configuration(ETCD__ENDPOINTS="nowhere"))


def test_an_api_server_that_nobody_could_use_does_not_start(intentc: Intentc, tmp_path: Path) -> None:
    path = tmp_path / "contrail.yml"
    path.write_text("no_auth: false\n")
    ended = intentc("apiserver", "--config-file", path)
    assert (ended.code, ended.out) == (3, "")
    assert "set no_auth: true, or add users there" in ended.err
