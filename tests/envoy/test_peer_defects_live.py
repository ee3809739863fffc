"""What went wrong in the ancestor as its users would have seen it (docs/ambassador.md §5), asked of a real Envoy.

Defects 4, 5, 7 and 13 are in ``test_weights_live`` and ``test_tls_live``.
"""

from __future__ import annotations

import pytest

from tests.envoy.backends import backend
from tests.envoy.gateway_system import GatewaySystem
from tests.envoy.manifests import ambassador, host, listener, mapping, service

pytestmark = [pytest.mark.anyio, pytest.mark.envoy, pytest.mark.etcd, pytest.mark.http]


async def test_defect_1_editing_a_mapping_leaves_others_with_dots_in_their_names(live: GatewaySystem) -> None:
    async with backend("orders") as orders, backend("users") as users:
        await live.apply(
            listener("web", live.port),
            host("all"),
            service("orders", orders.port),
            service("users", users.port),
            mapping("team.orders", "/orders/", "orders"),
            mapping("team.users", "/users/", "users"),
            mapping("third", "/third/", "users"),
        )
        for target in ("orders", "users"):
            await live.apply(mapping("third", "/third/", target))
            found = [await live.service(f"/{name}/") for name in ("orders", "users", "third")]
            assert found == ["orders", "users", target]


async def test_defect_2_a_module_changed_together_with_a_mapping_holds_for_all_mappings(live: GatewaySystem) -> None:
    async with backend("one") as one:
        await live.apply(
            listener("web", live.port), host("all"), service("one", one.port), mapping("old", "/old/", "one")
        )
        headers = {"defaults": {"httpmapping": {"add_request_headers": {"x-by-default": {"value": "yes"}}}}}
        await live.apply(ambassador("Module", "ambassador", config=headers), mapping("new", "/new/", "one"))
        for path in ("/old/", "/new/"):
            assert (await live.get(path)).json()["headers"].get("x-by-default") == "yes", path


async def test_defect_6_clusters_of_one_service_keep_each_its_own_settings(live: GatewaySystem) -> None:
    async with backend("one") as one, backend("two") as two:
        await live.apply(
            listener("web", live.port),
            host("all"),
            mapping("a", "/a/", f"127.0.0.1:{one.port}", resolver="kubernetes-service", connect_timeout_ms=1000),
            mapping("b", "/b/", f"127.0.0.1:{one.port}", resolver="kubernetes-service", connect_timeout_ms=2000),
            mapping("c", "/c/", f"127.0.0.1:{two.port}", resolver="kubernetes-service"),
        )
        assert live.problems == []
        assert [await live.service(path) for path in ("/a/", "/b/", "/c/")] == ["one", "one", "two"]
        config = live.gateway.envoy.ask("/config_dump?resource=dynamic_active_clusters")[1]
        assert '"connect_timeout": "1s"' in config and '"connect_timeout": "2s"' in config


async def test_defect_8_conditions_that_read_alike_without_separators_are_distinguished(live: GatewaySystem) -> None:
    async with backend("one") as one, backend("two") as two:
        await live.apply(
            listener("web", live.port),
            host("all"),
            service("one", one.port),
            service("two", two.port),
            mapping("one", "/a/", "one", headers={"x-ab": "c"}),
            mapping("two", "/a/", "two", headers={"x-a": "bc"}),
        )
        assert live.problems == []
        assert await live.service("/a/", x_ab="c") == "one"
        assert await live.service("/a/", x_a="bc") == "two"


async def test_defect_9_a_field_without_effect_leaves_its_mapping_working(live: GatewaySystem) -> None:
    async with backend("one") as one:
        overrides = [{"on_status_code": 404, "body": {"text_format": "no"}}]
        await live.apply(
            listener("web", live.port),
            host("all"),
            service("one", one.port),
            mapping("one", "/one/", "one", error_response_overrides=overrides),
        )
        assert ("mapping", "live:one", "Unsupported") in live.problems
        assert await live.service("/one/") == "one"


async def test_defect_11_a_wrong_setting_of_the_module_stops_nothing(live: GatewaySystem) -> None:
    async with backend("one") as one:
        await live.apply(
            listener("web", live.port),
            host("all"),
            service("one", one.port),
            ambassador("Module", "ambassador", config={"forward_client_cert_details": "X", "server_name": "mine"}),
            mapping("one", "/one/", "one"),
        )
        assert [problem[:2] for problem in live.problems] == [("module", "live:ambassador")]
        assert (await live.get("/one/")).headers["server"] == "mine"
        await live.apply(mapping("late", "/late/", "one"))
        assert await live.service("/late/") == "one"


async def test_defect_12_a_log_service_without_configuration_loses_nothing_else(live: GatewaySystem) -> None:
    async with backend("one") as one:
        await live.apply(
            listener("web", live.port),
            host("all"),
            service("one", one.port),
            ambassador("LogService", "log", service="logs", driver="http", protocol_version="v3"),
            mapping("one", "/one/", "one"),
        )
        assert await live.service("/one/") == "one"
