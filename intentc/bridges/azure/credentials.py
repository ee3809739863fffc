"""Chooses how the publisher gets its tokens, from settings and environment, and in which of Azure's clouds it works.

The order is the original's (docs/appgw.md §12): a file with a service principal, that of the cluster's ``azure.json``,
workload identity, the identity of the machine. On loopback a stand-in takes any token.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from azure.core.credentials import AccessToken
from azure.core.credentials_async import AsyncTokenCredential
from azure.identity.aio import ClientSecretCredential, ManagedIdentityCredential, WorkloadIdentityCredential

from intentc.model import InvalidInput

from .document import given
from .transport import BoundedTransport


class Cloud(NamedTuple):
    """Where Resource Manager answers, and who gives tokens."""

    endpoint: str
    authority: str


CLOUDS: Mapping[str, Cloud] = {
    "AzurePublicCloud": Cloud("https://management.azure.com", "login.microsoftonline.com"),
    "AzureUSGovernmentCloud": Cloud("https://management.usgovcloudapi.net", "login.microsoftonline.us"),
    "AzureChinaCloud": Cloud("https://management.chinacloudapi.cn", "login.chinacloudapi.cn"),
}
_LOOPBACK = "http://127.0.0.1:"


class _Principal(msgspec.Struct, rename="camel"):
    client_id: str = ""
    client_secret: str = ""
    tenant_id: str = ""
    aad_client_id: str = ""
    aad_client_secret: str = ""


class StandInCredential:
    """A token for a stand-in on loopback, which checks none."""

    async def get_token(self, *scopes: str, **options: Any) -> AccessToken:
        """The same token, for ever."""
        return AccessToken("stand-in", 2**40)

    async def close(self) -> None:
        """Nothing is open."""

    async def __aenter__(self) -> StandInCredential:
        return self

    async def __aexit__(self, *args: object) -> None:
        """Nothing is open."""


def cloud(settings: Mapping[str, Any], environment: Mapping[str, str]) -> Cloud:
    """The cloud of ``appgw.environment``; ``appgw.endpoint`` replaces its URL. Raises ``InvalidInput``."""
    name = given(settings, environment, "environment", "AZURE_ENVIRONMENT") or "AzurePublicCloud"
    if name not in CLOUDS:
        raise InvalidInput(
            f"there is no cloud {name}; use one of {', '.join(CLOUDS)}",
            source="appgw.environment",
            reason="InvalidConfiguration",
        )
    endpoint = given(settings, environment, "endpoint") or CLOUDS[name].endpoint
    return Cloud(endpoint.rstrip("/"), CLOUDS[name].authority)


def credential(
    settings: Mapping[str, Any], environment: Mapping[str, str], where: Cloud
) -> AsyncTokenCredential | StandInCredential:
    """The source of tokens. Raises ``InvalidInput`` for a file that can't be used."""
    if where.endpoint.startswith(_LOOPBACK):
        return StandInCredential()
    client = given(settings, environment, "armAuth.identityClientID", "AZURE_CLIENT_ID")
    if file := given(settings, environment, "armAuth.secretJSON", "AZURE_AUTH_LOCATION"):
        found = _read(file)
        return _service_principal(found.tenant_id, found.client_id, found.client_secret, where, file)
    managed = given(settings, environment, "USE_MANAGED_IDENTITY_FOR_POD").lower() in ("1", "t", "true")
    cluster = given(settings, environment, "AZURE_CLOUD_PROVIDER_LOCATION")
    if cluster and not managed:
        found = _read(cluster)
        return _service_principal(found.tenant_id, found.aad_client_id, found.aad_client_secret, where, cluster)
    if environment.get("AZURE_FEDERATED_TOKEN_FILE"):
        return WorkloadIdentityCredential(transport=BoundedTransport())
    return ManagedIdentityCredential(client_id=client or None, transport=BoundedTransport())


def _service_principal(tenant: str, client: str, secret: str, where: Cloud, file: str) -> AsyncTokenCredential:
    if not (tenant and client and secret):
        raise InvalidInput(
            "it does not name a tenant, a client and its secret", source=file, reason="InvalidConfiguration"
        )
    return ClientSecretCredential(tenant, client, secret, authority=where.authority, transport=BoundedTransport())


def _read(file: str) -> _Principal:
    try:
        return msgspec.json.decode(Path(file).read_bytes(), type=_Principal)
    except (OSError, msgspec.MsgspecError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not JSON with texts"
        raise InvalidInput(f"it can't be read: {reason}", source=file, reason="InvalidConfiguration") from None
