"""What a configuration lays open is said once, loudly; what nobody can mean is rejected."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from intentc.loading.configuration import Loaded, load
from intentc.model import InvalidInput

REMOTE = "https://api.example.org:9091"


def read(folder: Path, **sections: object) -> Loaded:
    path = folder / "contrail.yml"
    path.write_bytes(msgspec.json.encode(sections))
    return load(path, {})


def warnings(loaded: Loaded) -> list[str]:
    return [note.text for note in loaded.notes if note.warning]


@pytest.mark.parametrize(
    "sections",
    [
        {"insecure": True, "client": {"endpoint": REMOTE}},
        {"insecure": True, "keystone": {"authurl": f"{REMOTE}/keystone/v3"}},
        {"keystone": {"insecure": True}, "client": {"endpoint": REMOTE}},
        {"insecure": True, "client": {"endpoint": "https://192.0.2.1:9091"}},
    ],
)
def test_unchecked_certificates_are_rejected_for_a_server_elsewhere(
    tmp_path: Path, sections: dict[str, object]
) -> None:
    with pytest.raises(
        InvalidInput, match=r"take it out, and name the authority in client\.tls\.trusted_ca_path"
    ) as error:
        read(tmp_path, **sections)
    assert "contrail.yml:1: " in str(error.value) and "insecure" in str(error.value)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_unchecked_certificates_on_this_machine_are_allowed_and_said_loudly(tmp_path: Path, host: str) -> None:
    """As Contrail's own file has it."""
    loaded = read(tmp_path, insecure=True, client={"endpoint": f"https://{host}:9091"})
    assert warnings(loaded) == ["insecure: the certificates of API server and Keystone are NOT checked"]


def test_passwords_over_plain_http_are_said(tmp_path: Path) -> None:
    loaded = read(
        tmp_path, keystone={"authurl": "http://api.example.org/v3"}, client={"endpoint": "http://localhost:1"}
    )
    (warning,) = warnings(loaded)
    assert warning.startswith("keystone.authurl http://api.example.org/v3 is plain http")


@pytest.mark.parametrize(("endpoint", "said"), [("etcd:2379", 1), ("https://etcd:2379", 0), ("127.0.0.1:2379", 0)])
def test_etcds_password_over_plain_text_is_said(tmp_path: Path, endpoint: str, said: int) -> None:
    assert len(warnings(read(tmp_path, etcd={"username": "u", "endpoints": [endpoint]}))) == said


TOKEN = "0123456789abcdef"


@pytest.mark.parametrize("address", [":8877", "0.0.0.0:8877", "[::]:8877", "10.0.0.1:8877", "host.example:1"])
def test_diagnostics_that_others_can_reach_and_that_ask_nobody_are_rejected(tmp_path: Path, address: str) -> None:
    with pytest.raises(InvalidInput, match=r"without authentication; set intentc\.diagnostics\.token_file") as error:
        read(tmp_path, intentc={"diagnostics": {"address": address}})
    assert "contrail.yml:1: " in str(error.value)


@pytest.mark.parametrize(
    "section",
    [
        {"address": "127.0.0.1:8877"},
        {"address": "[::1]:8877"},
        {"address": "localhost:1"},
        {"address": ":8877", "token": TOKEN, "tls": {"cert": "c", "key": "k"}},
        {"address": ":8877", "tls": {"cert": "c", "key": "k", "client_ca": "a"}},
        {"address": "compiler.example:8877", "tls": {"ca": "a", "client_cert": "c", "client_key": "k"}},
    ],
)
def test_diagnostics_of_this_machine_or_that_ask_who_it_is_are_allowed(
    tmp_path: Path, section: dict[str, object]
) -> None:
    assert [
        text for text in warnings(read(tmp_path, intentc={"diagnostics": section})) if "diagnostics.address" in text
    ] == []


def test_a_token_over_plain_http_is_said(tmp_path: Path) -> None:
    found = warnings(read(tmp_path, intentc={"diagnostics": {"address": ":8877", "token": TOKEN}}))
    assert any("intentc.diagnostics.address :8877 is plain http" in text for text in found)
    assert not any(TOKEN in text for text in found)


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ({"token": "short"}, "intentc.diagnostics.token has fewer than 16 characters"),
        ({"tls": {"cert": "c"}}, "intentc.diagnostics.tls.cert has no effect without intentc.diagnostics.tls.key"),
        ({"tls": {"key": "k"}}, "intentc.diagnostics.tls.key has no effect without intentc.diagnostics.tls.cert"),
        ({"tls": {"client_key": "k"}}, "intentc.diagnostics.tls.client_key has no effect without"),
        ({"tls": {"client_ca": "a"}}, "intentc.diagnostics.tls.client_ca has no effect without a certificate"),
        ({"tls": {"certificate": "c"}}, "unknown key intentc.diagnostics.tls.certificate"),
    ],
)
def test_access_to_the_diagnostics_that_can_not_work_is_rejected(
    tmp_path: Path, section: dict[str, object], words: str
) -> None:
    with pytest.raises(InvalidInput) as error:
        read(tmp_path, intentc={"diagnostics": section})
    assert words in str(error.value)
    assert "short" not in str(error.value)


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ({"metrics_token": "guessed"}, "intentc.api.metrics_token has fewer than 16 characters"),
        ({"secret_keys": f"# new\n\n{TOKEN}\nguessed"}, "intentc.api.secret_keys: key 2 has fewer than 16 characters"),
        ({"pool_share": 0}, "intentc.api.pool_share"),
    ],
)
def test_settings_of_the_api_server_that_protect_nothing_are_rejected(
    tmp_path: Path, section: dict[str, object], words: str
) -> None:
    with pytest.raises(InvalidInput) as error:
        read(tmp_path, intentc={"api": section})
    assert words in str(error.value)
    assert "guessed" not in str(error.value).replace("could be guessed", "")


@pytest.mark.parametrize("name", ["key", "client_key"])
def test_a_private_key_of_the_diagnostics_that_others_can_read_is_said(tmp_path: Path, name: str) -> None:
    key = tmp_path / "key.pem"
    key.write_text("key")
    key.chmod(0o644)
    pair = {name.replace("key", "cert"): "c", name: str(key)}
    (warning,) = warnings(read(tmp_path, intentc={"diagnostics": {"tls": pair}}))
    assert warning.startswith(f"intentc.diagnostics.tls.{name}: ")


@pytest.mark.parametrize(("mode", "said"), [(0o600, 0), (0o400, 0), (0o640, 1), (0o604, 1)])
def test_a_secrets_file_that_others_can_read_is_said(tmp_path: Path, mode: int, said: int) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hidden")
    secret.chmod(mode)
    found = warnings(read(tmp_path, etcd={"password_file": str(secret)}))
    assert len(found) == said
    assert all(f"etcd.password_file: {secret} can be read by others" in warning for warning in found)


@pytest.mark.parametrize("section", ["etcd", "client", "server"])
def test_a_private_key_that_others_can_read_is_said(tmp_path: Path, section: str) -> None:
    key = tmp_path / "key.pem"
    key.write_text("key")
    key.chmod(0o644)
    name = "key_file" if section == "server" else "key_path"
    (warning,) = warnings(read(tmp_path, **{section: {"tls": {"enabled": True, name: str(key)}}}))
    assert warning.startswith(f"{section}.tls.{name}: ")
    assert warning.endswith("(mode 644); chmod 600 it")


def test_files_of_tls_that_is_off_are_left_alone(tmp_path: Path) -> None:
    assert warnings(read(tmp_path, etcd={"tls": {"key_path": "/nowhere/key.pem"}})) == []


def test_a_configuration_of_megabytes_is_rejected_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "contrail.yml"
    path.write_bytes(b"#" * (4 * 1024 * 1024 + 1))
    with pytest.raises(InvalidInput, match="larger than 4194304 bytes"):
        load(path, {})


def test_an_installation_may_not_have_the_name_of_the_api_servers_index(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"intentc\.installation"):
        read(tmp_path, intentc={"installation": "apiserver"})


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"no_auth": True, "server": {"address": ":9091"}}, 1),
        ({"aaa_mode": "no-auth", "server": {"address": "10.0.0.1:9091"}}, 1),
        ({"no_auth": True, "server": {"address": "127.0.0.1:9091"}}, 0),
        ({"no_auth": True}, 0),
        ({"server": {"address": ":9091"}}, 0),
        ({"aaa_mode": "rbac", "server": {"address": ":9091"}}, 0),
        ({"no_auth": True, "server": {"address": ":1", "tls": {"enabled": True, "client_ca_file": "/ca.pem"}}}, 0),
        ({"no_auth": True, "server": {"address": ":1", "tls": {"client_ca_file": "/ca.pem"}}}, 1),
    ],
)
def test_no_auth_beyond_loopback_is_said(tmp_path: Path, sections: dict[str, object], said: int) -> None:
    found = [
        text for text in warnings(read(tmp_path, **sections)) if "anybody who reaches it may change everything" in text
    ]
    assert len(found) == said


@pytest.mark.parametrize("mode", ["cloud-admin", "rbac"])
def test_no_auth_and_another_mode_contradict_each_other(tmp_path: Path, mode: str) -> None:
    with pytest.raises(InvalidInput, match=f"no_auth: true and aaa_mode: {mode} contradict each other"):
        read(tmp_path, no_auth=True, aaa_mode=mode)


def test_the_mode_is_one_of_contrails(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="aaa_mode"):
        read(tmp_path, aaa_mode="none")


def test_the_mode_can_come_from_the_environment(tmp_path: Path) -> None:
    variables = {"INTENTC_AAA_MODE": "rbac", "INTENTC_CLOUD_ADMIN_ROLE": "boss", "INTENTC_GLOBAL_READ_ONLY_ROLE": "eye"}
    found = load(None, variables).configuration
    assert (found.aaa_mode, found.cloud_admin_role, found.global_read_only_role) == ("rbac", "boss", "eye")


@pytest.mark.parametrize("host", ["LOCALHOST", "localhost.", "[::1]"])
def test_every_spelling_of_this_machine_is_loopback(tmp_path: Path, host: str) -> None:
    assert warnings(read(tmp_path, no_auth=True, server={"address": f"{host}:1"})) == []


def test_hosts_are_kept_in_one_form(tmp_path: Path) -> None:
    hosts = ["API.Example.org.", "192.0.2.1", "2001:DB8::0:1", "[::1]", "under_score"]
    own = read(tmp_path, server={"hosts": hosts}, intentc={"diagnostics": {"hosts": "a, b"}}).configuration
    assert own.server.hosts == ("api.example.org", "192.0.2.1", "[2001:db8::1]", "[::1]", "under_score")
    assert own.intentc.diagnostics.hosts == ("a", "b")


@pytest.mark.parametrize("host", ["*", "*.example.org", "", ".", "a:9091", "http://a", "a/b", "a b", "[::1]:80", "[x]"])
@pytest.mark.parametrize("key", ["server", "intentc.diagnostics"])
def test_what_is_no_host_is_rejected_and_so_is_any(tmp_path: Path, host: str, key: str) -> None:
    hosts: dict[str, object] = {"hosts": ["good.example", host]}
    with pytest.raises(InvalidInput, match=rf"contrail\.yml:1: {key}\.hosts.*(pattern|no host)"):
        read(tmp_path, **({"server": hosts} if key == "server" else {"intentc": {"diagnostics": hosts}}))


def test_hosts_beyond_loopback_are_said_to_keep_nobody_off(tmp_path: Path) -> None:
    loaded = read(tmp_path, server={"address": "0.0.0.0:9091", "hosts": ["api.example.org"]})
    assert any(note.text.startswith("server.hosts has no effect") for note in loaded.notes)
