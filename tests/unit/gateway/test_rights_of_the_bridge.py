"""The rights that ship for a cluster are those that the bridge needs for the gateway compiler, and no others.

Who creates Roles must hold the rights in them: so the bridge has those of Contour, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from intentc.bridges.kubernetes.rest_mapping import mirrored_kinds
from intentc.compilers.gateway import compiler
from intentc.compilers.gateway.children import MADE_KINDS, children
from intentc.compilers.gateway.children.rbac import (
    Rule,
    certgen_rules,
    cluster_rules,
    leading_rules,
    namespaced_rules,
    operator_rules,
)
from intentc.compilers.gateway.contenders import OF_KIND
from intentc.compilers.gateway.instance import Instance
from intentc.loading.schemas import load_schema
from tests.support.kube.rights import rights as needs

RULES = Path(__file__).parents[3] / "config" / "kubernetes" / "rbac-gateway.yml"
CASES = Path(__file__).parent / "children"
Right = tuple[str, str, str]
"""Group, resource, verb."""


def rights(rules: Iterable[Rule]) -> set[Right]:
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def needed() -> set[Right]:
    """Those of Contour and its operator, and what the bridge itself says that it needs."""
    found = {
        right
        for rules in (operator_rules(), cluster_rules(), namespaced_rules(()), leading_rules(), certgen_rules())
        for right in rights(rules)
    }
    of_bridge = needs(mirrored_kinds(load_schema("gateway")), compiler.makes, OF_KIND)
    return found | {(one.group, one.resource, verb) for one in of_bridge for verb in one.verbs}


def test_the_role_that_ships_has_the_needed_rights_and_no_others() -> None:
    (role,) = (one for one in yaml.safe_load_all(RULES.read_text()) if one["kind"] == "ClusterRole")
    assert rights(role["rules"]) == needed()
    assert not any("resourceNames" in rule for rule in role["rules"])


@pytest.mark.parametrize("case", sorted(path.name for path in CASES.glob("*.in.yaml")))
def test_every_object_is_of_a_kind_that_the_compiler_declares(case: str) -> None:
    def done(child: object) -> Any:
        return msgspec.convert({"done": True, "gone": False, "taken": False, "available": True}, Seen)

    instance = msgspec.convert(yaml.safe_load((CASES / case).read_text()), Instance)
    made = {kind_of(child.manifest) for child in children(instance, done)}
    assert made <= compiler.makes == MADE_KINDS


class Seen(msgspec.Struct):
    done: bool
    gone: bool
    taken: bool
    available: bool


def kind_of(manifest: Mapping[str, Any]) -> str:
    return f"{manifest['apiVersion']}/{manifest['kind']}"
