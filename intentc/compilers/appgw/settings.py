"""What an operator sets for the compiler, by the names of AGIC's helm chart or of its environment (docs/appgw.md §4).

Both spellings are settings of ``intentc.settings``, after ``appgw.``; the helm name counts if both are given. Settings
of AGIC that mean nothing here are accepted, so that its values can be copied.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from intentc import Context, InvalidInput

from .sub_resource_names import Names, gateway_id

CONTROLLER = "azure/application-gateway"
CLASS = "azure-application-gateway"
TOTAL, PROHIBITED, MARKED = "total", "prohibited", "marked"


_SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "subscription": ("subscriptionId", "APPGW_SUBSCRIPTION_ID"),
    "group": ("resourceGroup", "APPGW_RESOURCE_GROUP"),
    "name": ("name", "APPGW_NAME"),
    "gateway": ("applicationGatewayID", "APPGW_RESOURCE_ID"),
    "namespaces": ("kubernetes.watchNamespace", "KUBERNETES_WATCHNAMESPACE"),
    "private": ("usePrivateIP", "USE_PRIVATE_IP"),
    "shared": ("shared", "APPGW_ENABLE_SHARED_APPGW"),
    "prefix": ("subResourceNamePrefix", "APPGW_CONFIG_NAME_PREFIX"),
    "controller": ("kubernetes.ingressClassResource.controllerValue", "INGRESS_CLASS_RESOURCE_CONTROLLER"),
    "annotation": ("kubernetes.ingressClass", "INGRESS_CLASS"),
    "with_classes": ("kubernetes.ingressClassResource.enabled", "INGRESS_CLASS_RESOURCE_ENABLED"),
    "class_name": ("kubernetes.ingressClassResource.name", "INGRESS_CLASS_RESOURCE_NAME"),
    "is_default": ("kubernetes.ingressClassResource.default", "INGRESS_CLASS_RESOURCE_DEFAULT"),
    "ownership": ("ownership",),
    "not_ready": ("not_ready_addresses",),
    "prefix_matching": ("prefix_matching",),
    "external_name": ("external_name",),
}
"""Field → its names after ``appgw.``: that of the chart, then that of the environment if there is one."""
_OF_THE_PUBLISHER = (
    "environment", "limits", "reconcilePeriodSeconds", "RECONCILE_PERIOD_SECONDS", "allow_foreign_removal",
    "armAuth.type", "armAuth.identityClientID", "armAuth.secretJSON", "AZURE_CLIENT_ID", "AZURE_AUTH_LOCATION",
    "USE_MANAGED_IDENTITY_FOR_POD", "AZURE_CLOUD_PROVIDER_LOCATION", "AZURE_ENVIRONMENT", "api_version", "endpoint",
)  # fmt: skip
_WITHOUT_EFFECT = (
    "HTTP_SERVICE_PORT", "AGIC_POD_NAME", "AGIC_POD_NAMESPACE", "APPGW_VERBOSITY_LEVEL", "verbosityLevel",
    "APPGW_ENABLE_SAVE_CONFIG_TO_FILE", "APPGW_ENABLE_PANIC_ON_PUT_ERROR", "ATTACH_WAF_POLICY_TO_LISTENER",
    "ADDON_MODE", "APPGW_ENABLE_DEPLOY", "APPGW_SUBNET_NAME", "APPGW_SUBNET_PREFIX", "APPGW_SUBNET_ID",
    "APPGW_SKU_NAME", "subnetName", "subnetPrefix", "subnetID", "skuName",
)  # fmt: skip
SETTINGS = sorted(
    f"appgw.{name}"
    for name in (
        *(name for spelling in _SPELLINGS.values() for name in spelling),
        *_OF_THE_PUBLISHER,
        *_WITHOUT_EFFECT,
    )
)
"""Every name that a configuration may give."""


class Settings(msgspec.Struct, frozen=True):
    """``namespaces``: those that are watched, empty for all. ``annotation``: the value of the annotation
    ``kubernetes.io/ingress.class``. ``ownership``: total, prohibited or marked. ``gateway``: the gateway's id, empty if
    the settings don't say it."""

    gateway: str
    name: str
    names: Names
    namespaces: tuple[str, ...]
    private: bool
    ownership: str
    annotation: str
    controller: str
    with_classes: bool
    class_name: str
    is_default: bool
    not_ready: bool
    by_element: bool
    external_name: bool


def settings(ctx: Context) -> Settings:
    """The settings in effect. Raises ``InvalidInput`` for an unknown ``ownership``: no value of it is a safe default.
    Any other value that can't be read counts as the default, which is the safer one."""
    gateway = _text(ctx, "gateway")
    name = gateway.rpartition("/")[2] or _text(ctx, "name") or "gateway"
    subscription, group = _text(ctx, "subscription"), _text(ctx, "group")
    if not gateway and subscription and group:
        gateway = gateway_id(subscription, group, name)
    annotation = _text(ctx, "annotation") or CONTROLLER
    ownership = _text(ctx, "ownership") or (PROHIBITED if _bool(ctx, "shared", False) else TOTAL)
    if ownership not in (TOTAL, PROHIBITED, MARKED):
        raise InvalidInput(f"appgw.ownership is {ownership!r}; it is total, prohibited or marked")
    return Settings(
        gateway=gateway,
        name=name,
        names=Names(_text(ctx, "prefix")),
        namespaces=tuple(one.strip() for one in _text(ctx, "namespaces").split(",") if one.strip()),
        private=_bool(ctx, "private", False),
        ownership=ownership,
        annotation=annotation,
        controller=_text(ctx, "controller") or CONTROLLER,
        with_classes=_bool(ctx, "with_classes", True),
        class_name=_text(ctx, "class_name") or CLASS,
        is_default=_bool(ctx, "is_default", False),
        not_ready=_text(ctx, "not_ready") != "exclude",
        by_element=_text(ctx, "prefix_matching") != "string",
        external_name=_bool(ctx, "external_name", False),
    )


def _given(ctx: Context, field: str) -> Any:
    for name in _SPELLINGS[field]:
        found = ctx.setting(f"appgw.{name}", None)
        if found not in (None, ""):
            return found
    return None


def _text(ctx: Context, field: str) -> str:
    found = _given(ctx, field)
    if isinstance(found, bool):
        return "on" if found else "off"
    return "" if found is None else str(found).strip()


def _bool(ctx: Context, field: str, default: bool) -> bool:
    found = _given(ctx, field)
    if found is None:
        return default
    return found if isinstance(found, bool) else str(found).lower() in ("1", "t", "true", "on", "yes")
