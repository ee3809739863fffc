"""The shared kinds ``manifest`` and ``observed``: who writes them, what is hidden, what the engine knows of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from intentc.apiserver.api_server import ApiServer, Call
from intentc.apiserver.authorization import Caller, Mode, Policy
from intentc.apiserver.errors import ApiError
from intentc.loading import load_schema
from intentc.model.kind import Writer
from intentc.outgoing import FINALIZER, MANIFEST, OBSERVED, claimed_fields
from intentc.watch.memory import MemoryStore

pytestmark = pytest.mark.anyio

SCHEMA = load_schema("app", directories=[Path("tests/support/app/schemas")])
ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "mine"},
    "roleRef": {"kind": "ClusterRole", "name": "cluster-admin"},
}


def test_the_engine_knows_their_order_their_end_and_their_answers() -> None:
    manifest, observed = SCHEMA.kind(MANIFEST), SCHEMA.kind(OBSERVED)
    assert (manifest.finalizers, manifest.phased, manifest.system) == ((FINALIZER,), "phase", True)
    assert {one.writer for one in manifest.properties.values()} == {Writer.COMPILER}
    assert (observed.answers, observed.system) == (MANIFEST, False)
    assert {one.writer for one in observed.properties.values()} == {Writer.USER}


def test_the_data_of_secrets_are_hidden() -> None:
    assert ("secret",) in SCHEMA.kind(MANIFEST).sensitive


async def test_nobody_but_a_compiler_makes_a_bridge_create_something() -> None:
    """Else whoever may write to the API server had the bridge's rights in the cluster."""
    policy = Policy(mode=Mode.CLOUD_ADMIN, compiler_users=frozenset({"intentc"}))
    api = ApiServer(MemoryStore(), SCHEMA, policy=policy)
    data = {"fq_name": ["default", "mine"], **claimed_fields(ROLE)}
    with pytest.raises(ApiError) as caught:
        await api.create(MANIFEST, data, call=Call(Caller(user_id="admin")))
    assert caught.value.status == 403
    await api.create(MANIFEST, data, call=Call(Caller(user_id="intentc")))
