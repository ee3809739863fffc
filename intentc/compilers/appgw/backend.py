"""A backend of an Ingress becomes backend settings, a probe of its own if there is reason for one, and uses a pool."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from intentc import Claim, Context, Fact, Intent, View

from .backend_settings import PodProbe, backend_settings, pod_probe, probe, protocol_of
from .backend_uses import BackendUse
from .pool import EndpointPort, behind_service, candidates, is_tcp, resolved, without_service
from .sub_resource_names import PROBES, ROOTS, SETTINGS, limited, sub_id
from .sub_resources import given_name, of_ingress, sub_resource, this_gateway, wanted_name


class BackendState(msgspec.Struct, frozen=True):
    """The names of a backend's settings and of its pool; that of the pool is empty if the default one takes its
    place."""

    settings: str
    pool: str


class BackendIntent(Intent):
    kind = "appgw_backend"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        use: BackendUse
        ((_, use),) = ctx.contributions(self.kind, self.uuid)
        here = this_gateway(ctx)
        gateway, config, names = here.id, here.config, here.config.names
        namespace, ingress, service_name, port = use.owner.namespace, use.owner.name, use.service, use.port
        service = ctx.find("service", (namespace, service_name))
        pods = _pods(ctx, namespace, service)
        number = self._number(ctx, use, service, pods, external=config.external_name)
        protocol = protocol_of(use.annotations, number)
        pool_key = f"{namespace}|{service_name}|{port}|{number}"
        yield Fact("appgw_pool_use", pool_key, use.owner)

        source = (namespace, service_name, port, ingress)
        said = _said(pods, number)
        origins = [of_ingress(use.owner, use.field)]
        if service is not None and (use.chosen is not None or use.annotations.sets_probe or said is not None):
            name = names.probe(*source)
            yield wanted_name(PROBES, name, source, use.owner)
            probe_name = given_name(ctx, PROBES, name, source, use.owner)
            content = probe(use.chosen, use.annotations, said, protocol=protocol, tier=here.tier)
            yield sub_resource(
                self, "appgw_probe", gateway, PROBES, probe_name, content, origins, owners=[use.owner.shown]
            )
        else:
            probe_name = limited(names.default_probe(protocol))
            yield Fact("appgw_default_use", f"probe-{protocol}", use.owner.shown)

        full = (namespace, service_name, port, str(number), ingress)
        name = names.settings(namespace, service_name, port, number, ingress)
        yield wanted_name(SETTINGS, name, full, use.owner)
        settings_name = given_name(ctx, SETTINGS, name, full, use.owner)
        content = backend_settings(
            use.annotations,
            namespace,
            service_name,
            number,
            probe=sub_id(gateway, PROBES, probe_name),
            roots=[sub_id(gateway, ROOTS, root) for root in use.annotations.appgw_trusted_root_certificate],
        )
        state = next((value for _, value in ctx.contributions("appgw_pool_state", pool_key)), None)
        yield sub_resource(
            self,
            "appgw_backend_settings",
            gateway,
            SETTINGS,
            settings_name,
            content,
            origins,
            owners=[use.owner.shown],
            pool=state.name if state is not None else "",
        )
        if state is None:
            return
        if state.reason:
            ctx.problem_on("ingress", use.owner.shown, state.reason, f"{use.field}: {state.message}")
        yield Fact("appgw_backend_state", self.uuid, BackendState(settings_name, state.name))

    def _number(
        self, ctx: Context, use: BackendUse, service: View | None, pods: tuple[View, ...], *, external: bool
    ) -> int:
        """The number of the backend's port; reports what is wrong with it."""
        if service is not None and service.type == "ExternalName" and external:
            return without_service(use.port)
        targets = None if service is None else candidates(service.ports, use.port)
        named = [target for target in targets or () if target.target and not target.target.isdigit()]
        endpoints = behind_service(ctx, use.owner.namespace, use.service).ports if named else ()
        containers = [
            EndpointPort(port.name, port.containerPort)
            for pod in (pods if named else ())
            for container in pod.containers
            for port in container.ports
            if is_tcp(port)
        ]
        found = resolved(f"{use.owner.namespace}:{use.service}", use.port, targets, endpoints, containers)
        if found.wrong:
            ctx.problem_on("ingress", use.owner.shown, "PortResolutionError", f"{use.field}: {found.wrong}")
        return found.number


def _pods(ctx: Context, namespace: str, service: View | None) -> tuple[View, ...]:
    """The Pods that a Service selects, the newest first."""
    selector = dict(service.selector) if service is not None else {}
    if not selector:
        return ()
    wanted = sorted((str(key), str(value)) for key, value in selector.items())
    key, value = wanted[0]
    found = [
        pod
        for pod in ctx.select("pod", "label", f"{key}={value}")
        if pod.fq_name[0] == namespace and all(pod.metadata.labels.get(k) == v for k, v in wanted[1:])
    ]
    found.sort(key=lambda pod: pod.name)
    found.sort(key=lambda pod: str(pod.metadata.creationTimestamp), reverse=True)
    return tuple(found)


def _said(pods: tuple[View, ...], number: int) -> PodProbe | None:
    """What the newest running Pod says about probes of a port. One counts as running if nobody says otherwise: a bridge
    does not mirror phases."""
    for pod in pods:
        if pod.status.phase in ("", "Running") and not pod.metadata.deletionTimestamp:
            return pod_probe(pod.containers, number)
    return None
