"""The annotations by which clouds know what load balancer a Service wants (docs/gateway.md §8).

Pure functions of values.
"""

from __future__ import annotations

from ..instance import LoadBalancer

_PREFIX = "service.beta.kubernetes.io"


def load_balancer_annotations(wanted: LoadBalancer) -> dict[str, str]:
    """The annotations of a Service of type LoadBalancer."""
    is_internal = wanted.scope == "Internal"
    match wanted.provider:
        case "AWS":
            return {**_aws(wanted), **({f"{_PREFIX}/aws-load-balancer-internal": "true"} if is_internal else {})}
        case "Azure":
            return _azure(wanted, is_internal)
        case "GCP":
            return _gcp(wanted, is_internal)


def _aws(wanted: LoadBalancer) -> dict[str, str]:
    if wanted.aws_type == "Classic":
        return {
            f"{_PREFIX}/aws-load-balancer-backend-protocol": "tcp",
            f"{_PREFIX}/aws-load-balancer-proxy-protocol": "*",
        }
    found = {f"{_PREFIX}/aws-load-balancer-type": "nlb"}
    if wanted.scope == "External" and wanted.allocation_ids:
        found[f"{_PREFIX}/aws-load-balancer-eip-allocations"] = ",".join(wanted.allocation_ids)
    return found


def _azure(wanted: LoadBalancer, is_internal: bool) -> dict[str, str]:
    if not is_internal:
        key = f"{_PREFIX}/azure-load-balancer-resource-group"
        return {key: wanted.resource_group} if wanted.resource_group else {}
    found = {f"{_PREFIX}/azure-load-balancer-internal": "true"}
    if wanted.subnet:
        found[f"{_PREFIX}/azure-load-balancer-internal-subnet"] = wanted.subnet
    return found


def _gcp(wanted: LoadBalancer, is_internal: bool) -> dict[str, str]:
    if not is_internal:
        return {}
    found = {"cloud.google.com/load-balancer-type": "Internal", "networking.gke.io/load-balancer-type": "Internal"}
    if wanted.subnet:
        found["networking.gke.io/internal-load-balancer-subnet"] = wanted.subnet
    return found
