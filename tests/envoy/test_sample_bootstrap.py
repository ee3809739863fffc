"""The files for running the processes one by one (docs/ambassador.md): they are right, and they fit together."""

from __future__ import annotations

from pathlib import Path

import pytest

from intentc.cli.commands.xds import command as xds
from intentc.loading.configuration import load
from intentc.loading.yaml import load_yaml
from intentc.plugins import installed
from tests.envoy.validating import complaints

SAMPLE = Path(__file__).parents[2] / "sample"


@pytest.mark.envoy
def test_envoy_takes_the_bootstrap(tmp_path: Path) -> None:
    assert complaints(load_yaml(SAMPLE / "envoy.yml").value, tmp_path) == ""


def test_the_bootstrap_asks_where_the_xds_server_listens() -> None:
    (cluster,) = load_yaml(SAMPLE / "envoy.yml").value["static_resources"]["clusters"]
    (locality,) = cluster["load_assignment"]["endpoints"]
    (endpoint,) = locality["lb_endpoints"]
    place = endpoint["endpoint"]["address"]["socket_address"]
    (default,) = [parameter.default for parameter in xds.params if parameter.name == "address"]
    assert f"{place['address']}:{place['port_value']}" == default


def test_the_configuration_names_one_api_server_that_asks_nobody_who_he_is() -> None:
    configuration = load(SAMPLE / "ambassador.yml", {}).configuration
    assert configuration.no_auth
    assert configuration.client.endpoint == (f"http://{configuration.server.address}",)
    assert "listener" in installed(configuration).schema
