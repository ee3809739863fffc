"""Reads the settings of the publisher from a configuration, for ``intentc appgw`` and ``intentc dev``.

Why apart: a command must not import another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .errors import CommandError

if TYPE_CHECKING:
    from intentc.bridges.azure.serving import Settings
    from intentc.loading.configuration import Configuration
    from intentc.plugins import Declared

_SHORTEST_PERIOD, _LONGEST_PERIOD, _PERIOD = 30.0, 300.0, 60.0


@contextmanager
def needing_azure() -> Iterator[None]:
    """Wrap imports that need Azure's libraries, an extra: raises ``CommandError`` without them."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise CommandError(
            f"Azure's libraries are missing ({error.name})", next_step="pip install 'intentc[azure]'"
        ) from None


def settings_of(configuration: Configuration, compilers: Declared) -> Settings:
    """The publisher's settings. Raises ``CommandError`` without a gateway, and ``InvalidInput`` for a period that is no
    number from 30 to 300."""
    from intentc.bridges.azure.document import RECORD, empty_gateway, limits_in, prefix_in, record_name
    from intentc.bridges.azure.serving import RECORDS, Gateway, Settings
    from intentc.service.service import process_name

    own = configuration.intentc
    if RECORD not in compilers.schema:
        raise CommandError(
            f"the compilers in use ({', '.join(own.compilers)}) make nothing for an Application Gateway",
            where="intentc.compilers",
            next_step="name the compiler appgw",
        )
    gateway = str(empty_gateway(own.settings)["id"])
    if "/resourceGroups/unknown/" in gateway:
        raise CommandError(
            "no gateway is named",
            where="intentc.settings",
            next_step="set appgw.applicationGatewayID, or appgw.subscriptionId, appgw.resourceGroup and appgw.name",
        )
    return Settings(
        configuration.etcd.path,
        own.installation,
        process_name(),
        Gateway(gateway, own.settings.get("appgw.allow_foreign_removal") is True, limits_in(own.settings)),
        record_name(own.settings),
        prefix_in(own.settings),
        {kind: compilers.schema.kind(kind).plural for kind in RECORDS},
        ttl=configuration.compilation.lease_seconds,
        heartbeat_seconds=own.watch.heartbeat,
        period_seconds=_period(own.settings),
    )


def _period(settings: Mapping[str, Any]) -> float:
    from intentc.model import InvalidInput

    name = "appgw.reconcilePeriodSeconds"
    given = [settings[one] for one in (name, "appgw.RECONCILE_PERIOD_SECONDS") if settings.get(one) not in (None, "")]
    found = given[0] if given else _PERIOD
    try:
        seconds = float(found)
    except (TypeError, ValueError):
        seconds = 0.0
    if not _SHORTEST_PERIOD <= seconds <= _LONGEST_PERIOD:
        message = f"{found!r} is no number of seconds from {_SHORTEST_PERIOD:g} to {_LONGEST_PERIOD:g}"
        raise InvalidInput(message, source=name, reason="InvalidConfiguration")
    return seconds
