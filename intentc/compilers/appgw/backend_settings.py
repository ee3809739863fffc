"""Backend settings and probes: how the gateway speaks to a backend, and asks it whether it is well (docs/appgw.md §6.3,
§6.4).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

from .annotations import Annotations

HTTPS = 443
_OLD_TIERS = ("Standard", "WAF")
_MOST_FAILURES = 20


class PodProbe(msgspec.Struct, frozen=True):
    """What the containers of a Service say about a port. Empty texts and zeros: not said."""

    host: str = ""
    path: str = ""
    port: int = 0
    interval: int = 0
    timeout: int = 0
    failures: int = 0


class ChosenPath(msgspec.Struct, frozen=True):
    """The path of an Ingress that shapes a probe, as written, and the first host name of its rule without a
    wildcard."""

    host: str = ""
    path: str = ""


def pod_probe(containers: Iterable[Any], number: int) -> PodProbe | None:
    """What the container that listens on ``number`` says by ``httpGet``; None if it says nothing."""
    for container in containers:
        if not any(port.containerPort == number and port.protocol in ("", "TCP") for port in container.ports):
            continue
        for probe in (container.readinessProbe, container.livenessProbe):
            if probe.httpGet:
                return PodProbe(
                    host=probe.httpGet.host,
                    path=probe.httpGet.path,
                    port=_number(probe.httpGet.port, container.ports),
                    interval=probe.periodSeconds,
                    timeout=probe.timeoutSeconds,
                    failures=min(probe.failureThreshold, _MOST_FAILURES),
                )
        return None
    return None


def probe(
    chosen: ChosenPath | None = None,
    annotations: Annotations | None = None,
    pod: PodProbe | None = None,
    *,
    protocol: str,
    tier: str = "",
) -> dict[str, Any]:
    """The properties of a probe; with a ``protocol`` (Http or Https) alone those of the default one. ``tier``: of the
    gateway."""
    chosen, annotations, pod = chosen or ChosenPath(), annotations or Annotations(), pod or PodProbe()
    host = annotations.health_probe_hostname or pod.host or annotations.backend_hostname or chosen.host
    path = annotations.health_probe_path or pod.path or annotations.backend_path_prefix or chosen.path
    port = 0 if tier in _OLD_TIERS else annotations.health_probe_port or pod.port
    codes = annotations.health_probe_status_codes
    return {
        "protocol": protocol,
        "host": host or "localhost",
        "path": path.removesuffix("*") or "/",
        "interval": annotations.health_probe_interval or pod.interval or 30,
        "timeout": annotations.health_probe_timeout or pod.timeout or 30,
        "unhealthyThreshold": annotations.health_probe_unhealthy_threshold or pod.failures or 3,
        "pickHostNameFromBackendHttpSettings": False,
        "minServers": 0,
        "match": {"statusCodes": list(codes)} if codes else {},
        **({"port": port} if port else {}),
    }


def _number(port: Any, ports: Iterable[Any]) -> int:
    """A port of a probe: a number, or the name of a port of the same container; 0 if there is none."""
    if isinstance(port, int) or str(port).isdigit():
        return int(port)
    return next((one.containerPort for one in ports if port and one.name == port), 0)


def protocol_of(annotations: Annotations, number: int) -> str:
    """Http or Https, for a backend on the port ``number``."""
    return annotations.backend_protocol or ("Https" if number == HTTPS else "Http")


def backend_settings(
    annotations: Annotations, namespace: str, service: str, number: int, *, probe: str, roots: Iterable[str]
) -> dict[str, Any]:
    """The properties of a backend's settings. ``probe``, ``roots``: ids of its probe and of the root certificates that
    the annotations name."""
    protocol, roots = protocol_of(annotations, number), tuple(roots)
    host = annotations.backend_hostname
    found: dict[str, Any] = {
        "port": number,
        "protocol": protocol,
        "cookieBasedAffinity": "Enabled" if annotations.cookie_based_affinity else "Disabled",
        "requestTimeout": annotations.request_timeout,
        "pickHostNameFromBackendAddress": protocol == "Https" and bool(roots) and not host,
        "probe": {"id": probe},
    }
    if host:
        found["hostName"] = host
    if annotations.backend_path_prefix:
        found["path"] = annotations.backend_path_prefix
    if annotations.cookie_based_affinity_distinct_name:
        digest = hashlib.md5(f"{namespace}-{service}".encode(), usedforsecurity=False).hexdigest()
        found["affinityCookieName"] = f"appgw-affinity-{digest}"
    if annotations.connection_draining:
        seconds = annotations.connection_draining_timeout
        found["connectionDraining"] = {"enabled": True, "drainTimeoutInSec": seconds}
    if roots:
        found["trustedRootCertificates"] = [{"id": root} for root in roots]
    return found


def default_settings(probe: str) -> dict[str, Any]:
    """The properties of the settings of the default pool."""
    return backend_settings(Annotations(), "", "", 80, probe=probe, roots=())
