"""Parts that several listeners or backends share: ports, certificates, rewrite sets, and the default ones.

Each is an intent of its own while something uses it. A rewrite set is an AzureApplicationGatewayRewrite (docs/appgw.md
§6.9).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from intentc import Claim, Context, Fact, Intent, Source

from .backend_settings import default_settings, probe
from .listener_certificates import digest, wrong_with
from .sub_resource_names import CERTIFICATES, POOLS, PORTS, PROBES, REWRITES, SETTINGS, Owner, limited, sub_id
from .sub_resources import given_name, of_ingress, port_name, sub_resource, this_gateway, wanted_name


def rewrite_set(rules: tuple[Any, ...]) -> dict[str, Any]:
    """The properties of a rewrite set; ``rules``: ``spec.rewriteRules``."""
    return {"rewriteRules": [_rule(rule) for rule in rules]}


def _rule(rule: Any) -> dict[str, Any]:
    conditions = [
        {"variable": one.variable, "pattern": one.pattern, "ignoreCase": one.ignoreCase, "negate": one.negate}
        for one in rule.conditions
    ]
    actions: dict[str, Any] = {
        "requestHeaderConfigurations": _headers(rule.actions.requestHeaderConfigurations),
        "responseHeaderConfigurations": _headers(rule.actions.responseHeaderConfigurations),
    }
    url = rule.actions.urlConfiguration
    if url:
        found: dict[str, Any] = {"reroute": url.reroute}
        if url.modifiedPath:
            found["modifiedPath"] = url.modifiedPath
        if url.modifiedQueryString:
            found["modifiedQueryString"] = url.modifiedQueryString
        actions["urlConfiguration"] = found
    return {"name": rule.name, "ruleSequence": rule.ruleSequence, "conditions": conditions, "actionSet": actions}


def _headers(headers: tuple[Any, ...]) -> list[dict[str, str]]:
    """A header without a value is deleted."""
    return [
        {"headerName": one.headerName, "headerValue": "" if one.actionType.lower() == "delete" else one.headerValue}
        for one in headers
    ]


class PortUseIntent(Intent):
    """A port that a listener uses; named as the gateway already names it."""

    kind = "appgw_port_use"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        here, number = this_gateway(ctx), int(self.uuid)
        name = port_name(ctx, here.config.names, number)
        yield sub_resource(self, "appgw_port", here.id, PORTS, name, {"port": number}, ())


class CertificateUseIntent(Intent):
    """A Secret whose certificate a listener uses. The object says which content, and does not hold it."""

    kind = "appgw_certificate_use"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        here = this_gateway(ctx)
        (namespace, secret), owner = _used(self, ctx)
        full = here.config.names.certificate(namespace, secret)
        yield wanted_name(CERTIFICATES, full, (namespace, secret), owner)
        found = ctx.find("secret", (namespace, secret))
        if found is None or wrong_with(namespace, secret, found) is not None:
            return
        name = given_name(ctx, CERTIFICATES, full, (namespace, secret), owner)
        yield sub_resource(
            self,
            "appgw_certificate",
            here.id,
            CERTIFICATES,
            name,
            {},
            [Source("secret", f"{namespace}:{secret}"), of_ingress(owner, "tls")],
            secret=f"{namespace}:{secret}",
            digest=digest(found),
        )


class RewriteUseIntent(Intent):
    """An AzureApplicationGatewayRewrite that an Ingress names."""

    kind = "appgw_rewrite_use"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        here = this_gateway(ctx)
        (namespace, name), owner = _used(self, ctx)
        full = here.config.names.rewrite_set(namespace, name)
        yield wanted_name(REWRITES, full, (namespace, name), owner)
        found = ctx.find("azure_application_gateway_rewrite", (namespace, name))
        if found is None:
            return
        own = given_name(ctx, REWRITES, full, (namespace, name), owner)
        origins = [Source(found.kind, f"{namespace}:{name}"), of_ingress(owner)]
        content = rewrite_set(found.rewriteRules)
        yield sub_resource(self, "appgw_rewrite_set", here.id, REWRITES, own, content, origins)


class DefaultUseIntent(Intent):
    """The default pool, settings or probe, while something refers to it."""

    kind = "appgw_default_use"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        here = this_gateway(ctx)
        gateway, names = here.id, here.config.names
        content: dict[str, Any]
        if self.uuid == "pool":
            name, content = limited(names.default_pool()), {"backendAddresses": []}
            yield sub_resource(self, "appgw_pool", gateway, POOLS, name, content, ())
        elif self.uuid == "settings":
            content = default_settings(sub_id(gateway, PROBES, limited(names.default_probe("Http"))))
            name = limited(names.default_settings())
            yield sub_resource(self, "appgw_backend_settings", gateway, SETTINGS, name, content, ())
            yield Fact("appgw_default_use", "probe-Http", "")
        else:
            protocol = self.uuid.removeprefix("probe-")
            name, content = limited(names.default_probe(protocol)), probe(protocol=protocol)
            yield sub_resource(self, "appgw_probe", gateway, PROBES, name, content, ())


def _used(intent: Intent, ctx: Context) -> tuple[tuple[str, str], Owner]:
    """Namespace and name of what is used, and the first Ingress that uses it."""
    namespace, _, name = intent.uuid.partition("|")
    return (namespace, name), min(value for _, value in ctx.contributions(intent.kind, intent.uuid))
