"""The addresses behind a port of a Service become a pool, while a backend uses them.

A change of an endpoint changes the pool and nothing else, unless it is the first or the last one.

It reads through ``ctx``, and yields claims and facts.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent

from .names import POOLS
from .objects import of_ingress, sub_resource
from .pools import Behind, PoolState, behind, pool
from .precedence import Owner
from .settings import settings
from .this_gateway import given_name, this_gateway, wanted_name

_SERVICE = "kubernetes.io/service-name"


class PoolUseIntent(Intent):
    kind = "appgw_pool_use"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        config = settings(ctx)
        namespace, service_name, port, number = self.uuid.split("|")
        owners: list[Owner] = sorted(value for _, value in ctx.contributions(self.kind, self.uuid))
        service = ctx.find("service", (namespace, service_name))
        shown = f"{namespace}:{service_name}"
        addresses: list[dict[str, str]] = []
        if service is None:
            message = f"there is no Service {shown}; create it. Until then requests get 502"
            state = PoolState(reason="EndpointsEmpty", message=message)
        elif service.type == "ExternalName":
            addresses, state = _external(shown, service.externalName, is_on=config.external_name)
        else:
            found = behind_service(ctx, namespace, service_name)
            addresses, state = pool(shown, found, int(number), not_ready=config.not_ready)
        if not addresses:
            yield Fact("appgw_pool_state", self.uuid, state)
            return
        source = (namespace, service_name, port, number)
        name = config.names.pool(namespace, service_name, port, int(number))
        yield wanted_name(POOLS, name, source, owners[0])
        name = given_name(ctx, POOLS, name, source, owners[0])
        yield Fact("appgw_pool_state", self.uuid, PoolState(name=name))
        origins = [of_ingress(owner) for owner in owners[:20]]
        content = {"backendAddresses": addresses}
        yield sub_resource(self, "appgw_pool", this_gateway(ctx, config).id, POOLS, name, content, origins)


def behind_service(ctx: Context, namespace: str, service: str) -> Behind:
    """What is behind a Service now."""
    found = [
        one for one in ctx.select("endpoint_slice", "label", f"{_SERVICE}={service}") if one.fq_name[0] == namespace
    ]
    endpoints = None if found else ctx.find("endpoints", (namespace, service))
    return behind(found, endpoints)


def _external(service: str, name: str, *, is_on: bool) -> tuple[list[dict[str, str]], PoolState]:
    if is_on and name:
        return [{"fqdn": name}], PoolState()
    message = f"Service {service} is of type ExternalName; set appgw.external_name to on. Until then requests get 502"
    return [], PoolState(reason="ExternalNameUnsupported", message=message)
