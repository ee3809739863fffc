"""Publishes the gateway's addresses in the status of its Ingresses (docs/ambassador.md §6.10).

A setting names the Service by which the gateway is reached. A cluster gives it addresses in its status; the intent of
that Service yields them as a fact, so that Ingresses need not be related to it.

It reads through ``ctx``, and yields facts and claims on statuses.
"""

from __future__ import annotations

from collections.abc import Iterator

from intentc import Claim, Context, Fact, View, status

SETTING = "ambassador.ingress_status_service"
"""The setting with the Service, as namespace:name. Without it, the addresses in Ingresses are others' affair."""
_FACT = "published_addresses"
_ALL = "all"


def addresses_of(service: View, ctx: Context) -> Iterator[Fact]:
    """The addresses of a Service, if it is the one that the setting names."""
    if _service(ctx) == ":".join(service.fq_name):
        found = tuple((one.ip, one.hostname) for one in service.status.loadBalancer.ingress)
        if found:
            yield Fact(_FACT, _ALL, found)


def published(ingress: View, ctx: Context) -> Iterator[Claim]:
    """The status of an Ingress of ours."""
    service = _service(ctx)
    if not service:
        return
    found = ctx.fact(_FACT, _ALL) or ()
    if found:
        addresses = [{"ip": ip, "hostname": hostname} for ip, hostname in found]
        yield status.field(ingress, "loadBalancer.ingress", addresses)


def _service(ctx: Context) -> str:
    try:
        return str(ctx.setting(SETTING))
    except KeyError:
        return ""
