"""How to reach a cluster: what a kubeconfig says, and what is wrong with one."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
import yaml

from intentc.loading.kubeconfig import read_kubeconfig, service_account
from intentc.model import InvalidInput


def _written(folder: Path, *, cluster: object = None, user: object = None, **changed: object) -> Path:
    document = {
        "clusters": [{"name": "c", "cluster": cluster or {"server": "https://host:6443/"}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
        **changed,
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(document))
    return path


def test_data_stands_in_the_file_or_beside_it(tmp_path: Path) -> None:
    cluster = {"server": "https://host:6443/", "certificate-authority-data": base64.b64encode(b"PEM").decode()}
    user = {"client-certificate": "me.crt", "client-key": "/keys/me.key", "token": "t"}
    path = _written(tmp_path, cluster=cluster, user=user)
    access = read_kubeconfig(path)
    assert (access.server, access.authority, access.token) == ("https://host:6443", b"PEM", "t")
    assert access.certificate == tmp_path.resolve() / "me.crt"
    assert access.files == (path, tmp_path.resolve() / "me.crt", Path("/keys/me.key"))
    assert "t" not in repr(access).replace("https://host:6443", "").replace("ClusterAccess", "")


def test_a_program_for_credentials(tmp_path: Path) -> None:
    user = {"exec": {"command": "./login", "args": ["--now"], "env": [{"name": "A", "value": "b"}]}}
    access = read_kubeconfig(_written(tmp_path, user=user))
    assert access.exec is not None
    assert access.exec.command == (str(tmp_path.resolve() / "login"), "--now")
    assert access.exec.environment == {"A": "b"}


def test_another_context_may_be_chosen(tmp_path: Path) -> None:
    path = _written(tmp_path, contexts=[{"name": "y", "context": {"cluster": "c"}}])
    assert read_kubeconfig(path, "y").token == ""
    with pytest.raises(InvalidInput, match="contexts has no context 'x'"):
        read_kubeconfig(path)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"current-context": ""}, "current-context is not set"),
        ({"clusters": []}, "clusters has no cluster 'c'"),
        ({"cluster": {"server": "host"}}, "no server such as"),
        ({"user": {"auth-provider": {"name": "gcp"}}}, "auth-provider is not supported"),
        ({"user": {"client-certificate-data": "?"}}, "no base64"),
        ({"user": {"exec": {"args": []}}}, "exec has no command"),
        ({"user": {"exec": {"command": "login", "args": "--now"}}}, "the args of exec are no list"),
        ({"user": {"exec": {"command": "login", "env": [{"value": "b"}]}}}, "is no list of variables"),
    ],
)
def test_what_is_wrong_is_said_with_its_file(tmp_path: Path, changed: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as raised:
        read_kubeconfig(_written(tmp_path, **changed))
    assert "config" in raised.value.source


def test_a_pod_has_a_service_account(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    access = service_account({"KUBERNETES_SERVICE_HOST": "::1", "KUBERNETES_SERVICE_PORT": "443"}, tmp_path)
    assert (access.server, access.token_file) == ("https://[::1]:443", tmp_path / "token")
    with pytest.raises(InvalidInput, match="this is no pod"):
        service_account({}, tmp_path)
