"""The configuration of real processes of the compiler for Application Gateways and of its publisher."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from intentc.dev.etcd_server import Etcd
from tests.support.azure_gateway import OWN


def configuration_of(etcd: Etcd, *, path: str, server: str, azure: str, journal: Path | None = None) -> dict[str, Any]:
    """As a configuration file has it. ``path``: also the installation's name; ``server``, ``azure``: URLs of the API
    server and of Azure Resource Manager; ``journal``: the directory of its files."""
    return {
        "etcd": {"endpoints": [etcd.endpoint], "path": path},
        "client": {"endpoint": server},
        "no_auth": True,
        "intentc": {
            "installation": path,
            "compilers": ["appgw"],
            "settings": {"appgw.applicationGatewayID": OWN, "appgw.endpoint": azure},
            "diagnostics": {"address": "127.0.0.1:0"},
            **({"journal": {"directory": str(journal)}} if journal is not None else {}),
        },
    }
