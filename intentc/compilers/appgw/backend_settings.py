"""Backend settings: how the gateway speaks to a backend (docs/appgw.md §6.3).

Pure functions of values.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from .annotations import Annotations
from .probes import HTTPS


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
