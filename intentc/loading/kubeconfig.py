"""Reads how to reach a Kubernetes cluster: from a kubeconfig file, or as the service account of a pod.

The bridge reaches a cluster as ``kubectl`` does, and says what is wrong with a file by its line (docs/adr/0020, 0035).
Certificates and tokens in files of their own are read by ``bridges/kubernetes``.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from intentc.model import InvalidInput

from .yaml import Limits, Located, load_yaml

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_LIMITS = Limits(size=4_000_000)


class Exec(msgspec.Struct, frozen=True):
    """A program that prints credentials. ``interactive``: whether it needs a terminal (``interactiveMode: Always``)."""

    command: tuple[str, ...]
    environment: dict[str, str]
    api_version: str
    interactive: bool = False


class ClusterAccess(msgspec.Struct, frozen=True):
    """One cluster and our credentials for it.

    ``authority``, ``certificate`` and ``key``: PEM, either as bytes or in the file of that name, empty for none.
    ``token_file`` is read again when it changes. ``files``: the kubeconfig and the PEM files, to notice changes.
    """

    server: str
    authority: bytes | Path = b""
    certificate: bytes | Path = b""
    key: bytes | Path = b""
    server_name: str = ""
    insecure: bool = False
    proxy: str = ""
    token: str = ""
    token_file: Path | None = None
    username: str = ""
    password: str = ""
    exec: Exec | None = None
    files: tuple[Path, ...] = ()

    def __repr__(self) -> str:
        return f"<ClusterAccess {self.server}>"


def service_account(environment: Mapping[str, str] | None = None, folder: Path = SERVICE_ACCOUNT) -> ClusterAccess:
    """The access that a pod has. ``environment``: None for the process's. Raises ``InvalidInput`` outside of a pod."""
    environment = os.environ if environment is None else environment
    host, port = environment.get("KUBERNETES_SERVICE_HOST", ""), environment.get("KUBERNETES_SERVICE_PORT", "443")
    token, authority = folder / "token", folder / "ca.crt"
    if not host or not token.exists():
        raise InvalidInput(
            "there is no service account here, because this is no pod; set intentc.kubernetes.kubeconfig to a file",
            source="intentc.kubernetes.kubeconfig",
        )
    shown = f"[{host}]" if ":" in host else host
    return ClusterAccess(f"https://{shown}:{port}", authority, token_file=token, files=(authority,))


def read_kubeconfig(path: Path, context: str = "") -> ClusterAccess:
    """The access that ``context`` (empty: the current one) of a kubeconfig file describes.

    Raises ``InvalidInput`` with file and line.
    """
    located = load_yaml(path, limits=_LIMITS)
    document = located.value
    if not isinstance(document, dict):
        raise located.error("this is no kubeconfig: it has no clusters, users and contexts")
    name = context or document.get("current-context") or ""
    if not name:
        raise located.error("current-context is not set; set it, or intentc.kubernetes.context")
    chosen = _named(located, "contexts", "context", str(name))
    cluster = _named(located, "clusters", "cluster", str(chosen.get("cluster") or ""))
    user = _named(located, "users", "user", str(chosen["user"])) if chosen.get("user") else {}
    server = cluster.get("server")
    if not isinstance(server, str) or not server.startswith(("https://", "http://")):
        raise located.error("the cluster has no server such as https://host:6443", ("clusters",))
    if user.get("auth-provider"):
        raise located.error("auth-provider is not supported; use a token, a certificate or exec", ("users",))
    folder = path.resolve().parent
    token_file = user.get("tokenFile")
    access = ClusterAccess(
        server=server.rstrip("/"),
        authority=_pem(located, cluster, "certificate-authority", folder),
        certificate=_pem(located, user, "client-certificate", folder),
        key=_pem(located, user, "client-key", folder),
        server_name=str(cluster.get("tls-server-name") or ""),
        insecure=bool(cluster.get("insecure-skip-tls-verify")),
        proxy=str(cluster.get("proxy-url") or ""),
        token="" if token_file else str(user.get("token") or ""),
        token_file=folder / str(token_file) if token_file else None,
        username=str(user.get("username") or ""),
        password=str(user.get("password") or ""),
        exec=_exec(located, user["exec"], folder) if user.get("exec") else None,
    )
    files = (access.authority, access.certificate, access.key)
    return msgspec.structs.replace(access, files=(path, *(file for file in files if isinstance(file, Path))))


def _named(located: Located, listed: str, field: str, name: str) -> dict[str, Any]:
    entries = located.value.get(listed)
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and entry.get("name") == name:
            found = entry.get(field)
            return found if isinstance(found, dict) else {}
    raise located.error(f"{listed} has no {field} {name!r}", (listed,))


def _pem(located: Located, holder: dict[str, Any], field: str, folder: Path) -> bytes | Path:
    data = holder.get(f"{field}-data")
    if data:
        try:
            return base64.b64decode(str(data), validate=True)
        except (binascii.Error, ValueError):
            raise located.error(f"{field}-data is no base64") from None
    return folder / str(holder[field]) if holder.get(field) else b""


def _exec(located: Located, declared: Any, folder: Path) -> Exec:
    if not isinstance(declared, dict) or not declared.get("command"):
        raise located.error("exec has no command", ("users",))
    command = str(declared["command"])
    if "/" in command and not command.startswith("/"):
        # As kubectl does: a path is relative to the kubeconfig, a bare name is found on PATH.
        command = str(folder / command)
    arguments, pairs = declared.get("args") or [], declared.get("env") or []
    if not isinstance(arguments, list):
        raise located.error("the args of exec are no list; write [--name, value]", ("users",))
    if not isinstance(pairs, list) or not all(isinstance(pair, dict) and pair.get("name") for pair in pairs):
        raise located.error("the env of exec is no list of variables; write [{name: NAME, value: VALUE}]", ("users",))
    return Exec(
        command=(command, *map(str, arguments)),
        environment={str(pair["name"]): "" if pair.get("value") is None else str(pair["value"]) for pair in pairs},
        api_version=str(declared.get("apiVersion") or "client.authentication.k8s.io/v1"),
        interactive=declared.get("interactiveMode") == "Always",
    )
