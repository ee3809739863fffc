"""Checks a configuration as far as that is possible before anything starts: the one check of ``intentc check``, of a
start of ``intentc run``, and of a reload.

Why it exists: a reload that accepts what a start rejects leaves a service that can't be started again. Nothing is
connected; TLS files, schemas, reaction maps and the compilers' packages are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from intentc.loading.configuration import Configuration
from intentc.model import InvalidInput

from .connecting import api_server, diagnostics_access, etcd_store

if TYPE_CHECKING:
    from intentc.logic.dependencies.check import Finding
    from intentc.plugins import Loaded as Compilers


def check_connections(configuration: Configuration) -> None:
    """Raise ``InvalidInput`` for endpoints and TLS files that can't be used."""
    for build in (etcd_store, api_server, diagnostics_access):
        build(configuration)


def of_process(configuration: Configuration) -> tuple[Compilers, list[Finding]]:
    """The compilers that one process runs with a configuration, and the findings about their reaction map. Raises
    ``InvalidInput`` for what can't be loaded."""
    from intentc.logic.dependencies.check import findings
    from intentc.plugins import installed

    compilers = installed(configuration)
    return compilers, findings(compilers.reactions, compilers.schema)


def startable(configuration: Configuration) -> Compilers:
    """The compilers that ``intentc run`` starts with a configuration. Raises ``InvalidInput`` if it can't start."""
    if not configuration.compilation.enabled:
        raise InvalidInput(
            "compilation.enabled is false; set it to true, or run no compiler here",
            source="compilation.enabled",
            reason="InvalidConfiguration",
        )
    check_connections(configuration)
    compilers, found = of_process(configuration)
    for finding in found:
        if finding.severity == "error":
            raise InvalidInput(finding.message, source=finding.source, reason=finding.reason)
    return compilers
