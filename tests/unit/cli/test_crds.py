"""``intentc crds``: CustomResourceDefinitions of a compiler's kinds."""

from __future__ import annotations

import msgspec
import yaml

from tests.unit.cli.running import Intentc


def test_each_kind_that_clusters_lack_has_a_definition(intentc: Intentc) -> None:
    ended = intentc("crds", "--compiler", "ambassador")
    assert (ended.code, ended.err) == (0, "")
    found = {one["metadata"]["name"]: one for one in yaml.safe_load_all(ended.out)}
    assert {"mappings.getambassador.io", "tcpmappings.getambassador.io"} < found.keys()
    assert all(name.endswith(".getambassador.io") for name in found)
    mapping = found["mappings.getambassador.io"]["spec"]
    assert mapping["names"] == {
        "kind": "Mapping", "listKind": "MappingList", "plural": "mappings", "singular": "mapping"
    }  # fmt: skip
    assert found["tcpmappings.getambassador.io"]["spec"]["names"]["kind"] == "TCPMapping"
    assert [(v["name"], v["served"], v["storage"]) for v in mapping["versions"]] == [
        ("v3alpha1", True, True),
        ("v2", True, False),
        ("v1", True, False),
    ]
    schema = mapping["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert schema["weight"]["maximum"] == 100
    columns = [column["jsonPath"] for column in mapping["versions"][0]["additionalPrinterColumns"]]
    *spec, state, reason, age = columns
    assert spec == [".spec.hostname", ".spec.prefix", ".spec.service"]
    assert (state, reason, age) == (".status.state", ".status.reason", ".metadata.creationTimestamp")
    version = mapping["versions"][0]
    assert version["subresources"] == {"status": {}}
    assert version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["state"]["type"] == "string"


def test_kinds_of_two_groups_with_one_name_each_have_one(intentc: Intentc) -> None:
    found = {one["metadata"]["name"]: one for one in yaml.safe_load_all(intentc("crds", "--compiler", "gateway").out)}
    assert {"gateways.networking.x-k8s.io", "gateways.gateway.networking.k8s.io"} < found.keys()
    assert {one["spec"]["names"]["kind"] for name, one in found.items() if name.startswith("gateways.")} == {"Gateway"}
    assert not [name for name in found if name.endswith((".intentc.io", ".apiextensions.k8s.io"))]


def test_as_json_they_are_one_list(intentc: Intentc) -> None:
    ended = intentc("crds", "--compiler", "ambassador", "-o", "json")
    listed = msgspec.json.decode(ended.out)
    assert (listed["kind"], {one["kind"] for one in listed["items"]}) == ("List", {"CustomResourceDefinition"})


def test_a_compiler_without_manifests_has_none(intentc: Intentc) -> None:
    ended = intentc("crds", "--compiler", "contrail")
    assert ended.code == 3
    assert "no kind of contrail needs a CustomResourceDefinition" in ended.err
    assert "--compiler ambassador" in ended.err
