"""The decisions of ``authorization`` as tables, a test per cell: modes, rules, ``perms2``, compilers' fields."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.apiserver.authorization import (
    READ,
    REFER,
    WRITE,
    Caller,
    Mode,
    Operation,
    Policy,
    Rule,
    Tenancy,
    access_to,
    applies,
    compiler_fields_changed,
    denied_by_rules,
    is_administrator,
    is_compiler,
    may_call,
    owns,
    reads_everything,
    rules_in,
    shared_entries_changed,
    tenant_id,
)
from intentc.loading import load_schema

SCHEMA = load_schema("contrail")
HEX = "0123456789abcdef0123456789abcdef"
DASHED = "01234567-89ab-cdef-0123-456789abcdef"

CALLERS = {
    "server": Caller(privileged=True),
    "nobody": Caller("p", frozenset(), user_id="nobody"),
    "member": Caller("p", frozenset({"Member"}), user_id="member"),
    "reader": Caller("p", frozenset({"auditor"}), user_id="reader"),
    "admin": Caller("p", frozenset({"Admin"}), user_id="admin"),
    "compiler": Caller("p", frozenset({"admin"}), user_id="intentc"),
}
POLICIES = {mode: Policy(mode, "admin", "Auditor", frozenset({"intentc"})) for mode in Mode}

# caller → (does everything, reads everything, gets as far as rules and perms2 with rbac, writes compilers' fields)
RANKS = {
    "server": (True, True, True, True),
    "nobody": (False, False, False, False),
    "member": (False, False, True, False),
    "reader": (False, True, True, False),
    "admin": (True, True, True, False),
    "compiler": (True, True, True, True),
}


@pytest.mark.parametrize("name", CALLERS)
@pytest.mark.parametrize("mode", Mode)
def test_what_a_caller_may_do_before_any_rule_is_read(mode: Mode, name: str) -> None:
    policy, caller = POLICIES[mode], CALLERS[name]
    everything, reads, has_roles, outputs = (True, True, True, True) if mode is Mode.NO_AUTH else RANKS[name]
    assert is_administrator(policy, caller) is everything
    assert reads_everything(policy, caller) is reads
    assert is_compiler(policy, caller) is outputs
    by_rules = mode is Mode.RBAC and has_roles
    assert may_call(policy, caller, reading=True) is (reads or by_rules)
    assert may_call(policy, caller, reading=False) is (everything or by_rules)


@pytest.mark.parametrize(
    ("name", "writes"), [("admin", True), ("compiler", True), ("reader", False), ("member", False)]
)
def test_without_a_compiler_user_the_administrators_write_compilers_fields(name: str, writes: bool) -> None:
    assert is_compiler(Policy(Mode.RBAC), CALLERS[name]) is writes


@pytest.mark.parametrize("mode", [Mode.CLOUD_ADMIN, Mode.RBAC])
def test_without_a_read_only_role_nobody_reads_by_having_none(mode: Mode) -> None:
    assert not reads_everything(Policy(mode), Caller("p", frozenset({""})))


NETWORK = SCHEMA.kind("virtual_network")
LIST = SCHEMA.kind("api_access_list")


def rule(target: str, *grants: str) -> Rule:
    """``rule("virtual-network.display_name", "Member:CR")``."""
    kind, _, field = target.partition(".")
    perms = [dict(zip(("role_name", "role_crud"), grant.split(":"), strict=True)) for grant in grants]
    (made,) = rules_in({"rbac_rule": [{"rule_object": kind, "rule_field": field or None, "rule_perms": perms}]})
    return made


C, R, U, D = Operation.CREATE, Operation.READ, Operation.UPDATE, Operation.DELETE
POLICY_FIELD = "network_policy_refs"


@pytest.mark.parametrize(
    ("rules", "operation", "fields", "denied"),
    [
        ([], R, [], "virtual-network"),
        ([rule("*", "Member:CRUD")], R, [], ""),
        ([rule("*.*", "Member:CRUD")], D, [], ""),
        ([rule("*", "*:R")], R, [], ""),
        ([rule("*", "*:R")], U, [], "virtual-network"),
        ([rule("*", "Other:CRUD")], R, [], "virtual-network"),
        ([rule("virtual-network", "Member:R")], R, [], ""),
        ([rule("virtual_network", "Member:R")], R, [], ""),
        ([rule("virtual-networks", "Member:R")], R, [], ""),
        ([rule("network-policy", "Member:CRUD")], R, [], "virtual-network"),
        ([rule("virtual-network", "Member:R")], C, ["display_name"], "virtual-network"),
        # Lists add up: the same object and field in two of them.
        ([rule("virtual-network", "Other:CRUD"), rule("virtual-network", "Member:U")], U, ["display_name"], ""),
        ([rule("virtual-network", "Member:R"), rule("virtual-network", "Member:U")], U, ["display_name"], ""),
        # The nearest rules decide: those of the kind before those of all kinds.
        ([rule("*", "Member:CRUD"), rule("virtual-network", "Member:R")], U, [], "virtual-network"),
        # And those of a field before those of the kind.
        (
            [rule("virtual-network", "Member:CRUD"), rule(f"virtual-network.{POLICY_FIELD}", "admin:CRUD")],
            U, [POLICY_FIELD], "virtual-network.network_policy_refs",
        ),
        (
            [rule("virtual-network", "Member:CRUD"), rule("virtual-network.network-policy", "admin:CRUD")],
            U, [POLICY_FIELD, "display_name"], "virtual-network.network_policy_refs",
        ),
        (
            [rule("virtual-network", "Member:CRUD"), rule(f"virtual-network.{POLICY_FIELD}", "admin:CRUD")],
            U, ["display_name"], "",
        ),
        ([rule(f"virtual-network.{POLICY_FIELD}", "Member:U")], U, [POLICY_FIELD], ""),
        ([rule(f"virtual-network.{POLICY_FIELD}", "Member:U")], U, [POLICY_FIELD, "display_name"], "virtual-network"),
        ([rule(f"virtual-network.{POLICY_FIELD}", "Member:CRUD")], R, [], "virtual-network"),
        ([rule(f"virtual-network.{POLICY_FIELD}", "Member:CRUD")], D, [], "virtual-network"),
        ([rule("*", "Member:U"), rule("*.annotations", "Other:U")], U, ["annotations"], "virtual-network.annotations"),
        # A field's rule lets nobody create the kind.
        (
            [rule("virtual-network", "Boss:CRUD"), rule("virtual-network.display_name", "Member:CRU")],
            C, ["display_name"], "virtual-network",
        ),
        (
            [rule("virtual-network", "Member:C"), rule("virtual-network.display_name", "Member:CRU")],
            C, ["display_name"], "",
        ),
        ([rule("virtual-network", "Member:")], R, [], "virtual-network"),
    ],
)  # fmt: skip
def test_rules(rules: list[Rule], operation: Operation, fields: list[str], denied: str) -> None:
    assert denied_by_rules(rules, {"Member"}, NETWORK, operation, fields) == denied


@pytest.mark.parametrize("operation", Operation)
@pytest.mark.parametrize("target", ["*", "api-access-list"])
def test_access_lists_are_changed_by_rules_that_name_them(target: str, operation: Operation) -> None:
    """Who may do everything with the kinds of a project must not extend its own rights."""
    denied = denied_by_rules([rule(target, "Member:CRUD")], {"Member"}, LIST, operation)
    assert bool(denied) is (target == "*" and operation is not R)


TENANCY = Tenancy(frozenset({"demo", HEX}), frozenset({"default", "d" * 32}))
DOMAIN = "dddddddd-dddd-dddd-dddd-dddddddddddd"
BITS = range(8)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize(
    ("perms2", "counts"),
    [
        ({"owner": "demo", "owner_access": "bits"}, True),
        ({"owner": DASHED, "owner_access": "bits"}, True),
        ({"owner": "other", "owner_access": "bits"}, False),
        ({"owner": "", "owner_access": "bits"}, False),
        ({"owner_access": "bits"}, False),
        ({"owner": "other", "global_access": "bits"}, True),
        ({"owner": "other", "share": [{"tenant": "demo", "tenant_access": "bits"}]}, True),
        ({"owner": "other", "share": [{"tenant": "tenant:demo", "tenant_access": "bits"}]}, True),
        ({"owner": "other", "share": [{"tenant": DASHED, "tenant_access": "bits"}]}, True),
        ({"owner": "other", "share": [{"tenant": f"domain:{DOMAIN}", "tenant_access": "bits"}]}, True),
        ({"owner": "other", "share": [{"tenant": "domain:default", "tenant_access": "bits"}]}, True),
        ({"owner": "other", "share": [{"tenant": "domain:demo", "tenant_access": "bits"}]}, False),
        ({"owner": "other", "share": [{"tenant": "default", "tenant_access": "bits"}]}, False),
        ({"owner": "other", "share": [{"tenant": "", "tenant_access": "bits"}]}, False),
        ({"owner": "x", "share": [{"tenant": "y"}, {"tenant": "demo", "tenant_access": "bits"}]}, True),
    ],
)
def test_perms2(perms2: dict[str, Any], counts: bool, bits: int) -> None:
    assert access_to(_with_bits(perms2, bits), TENANCY) == (bits if counts else 0)


def _with_bits(value: Any, bits: int) -> Any:
    if isinstance(value, dict):
        return {name: _with_bits(inner, bits) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with_bits(inner, bits) for inner in value]
    return bits if value == "bits" else value


def test_what_an_owner_a_share_and_everybody_may_do_adds_up() -> None:
    share = [{"tenant": "demo", "tenant_access": WRITE}]
    assert access_to({"owner": "demo", "owner_access": READ, "share": share, "global_access": REFER}, TENANCY) == 7


@pytest.mark.parametrize(
    "perms2", [None, [], "x", {"share": "x"}, {"share": [1]}, {"owner": "demo", "owner_access": "7"}]
)
def test_perms2_of_another_shape_gives_nothing(perms2: Any) -> None:
    """A value that somebody put into etcd by hand."""
    assert access_to(perms2, TENANCY) == 0
    assert owns(perms2, TENANCY) is (isinstance(perms2, dict) and "owner" in perms2)


@pytest.mark.parametrize(
    ("parent_type", "parent_uuid", "concerned"),
    [
        ("global-system-config", "whichever", True),
        ("domain", DOMAIN, True),
        ("domain", DASHED, False),
        ("project", DASHED, True),
        ("project", DOMAIN, False),
        ("", "", False),
        ("virtual-network", DASHED, False),
    ],
)
def test_whose_rules_count(parent_type: str, parent_uuid: str, concerned: bool) -> None:
    assert applies({"parent_type": parent_type, "parent_uuid": parent_uuid}, TENANCY) is concerned


def test_ids_are_compared_as_keystone_and_contrail_write_them() -> None:
    assert tenant_id(DASHED) == tenant_id(HEX) == HEX
    assert tenant_id("demo-1") == "demo-1"


@pytest.mark.parametrize(
    ("kind", "before", "after", "changed"),
    [
        ("access_control_list", {}, {"display_name": "x"}, []),
        ("access_control_list", {}, {"access_control_list_hash": 1}, ["access_control_list_hash"]),
        ("access_control_list", {"access_control_list_hash": 1}, {"access_control_list_hash": 1}, []),
        ("access_control_list", {"access_control_list_hash": 1}, {}, ["access_control_list_hash"]),
        ("access_control_list", {}, {"access_control_list_hash": 0}, []),
        ("routing_instance", {}, {"route_target_refs": [{"uuid": "u"}]}, ["route_target_refs"]),
        ("routing_instance", {}, {"route_target_refs": []}, []),
        ("logical_router", {}, {"route_target_refs": [{"uuid": "u"}]}, []),
        ("virtual_network", {}, {"route_target_list": {"route_target": ["target:1:1"]}}, []),
    ],
)
def test_compilers_fields(kind: str, before: dict[str, Any], after: dict[str, Any], changed: list[str]) -> None:
    assert compiler_fields_changed(SCHEMA.kind(kind), before, after) == changed


OWN = {"uuid": "u", "to": ["p", "n", "mine"]}
CHAIN = {"uuid": "v", "to": ["d", "p", "n", "service-1"]}
OF_A_NETWORK = {"uuid": "w", "to": ["d", "p", "service-1", "service-1"]}


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ([], [OWN], [("u", False)]),
        ([OWN], [CHAIN], [("u", False), ("v", True)]),
        ([CHAIN], [], [("v", True)]),
        ([OF_A_NETWORK], [], [("w", False)]),
        ([CHAIN], [{**CHAIN, "attr": {"vlan_tag": 1}}], [("v", True)]),
        ([OWN, CHAIN], [CHAIN, OWN], []),
    ],
)
def test_entries_of_shared_lists(before: list[Any], after: list[Any], changed: list[tuple[str, bool]]) -> None:
    """Those that a schema knows by their names (``ours``) are the compiler's."""
    states = ({"routing_instance_refs": refs} for refs in (before, after))
    found = shared_entries_changed(SCHEMA.kind("virtual_machine_interface"), *states)
    assert [(uuid, is_compilers) for _, uuid, is_compilers in found] == changed


MESH = {"uuid": "m", "to": ["m"], "attr": {"session": [{"attributes": [{"address_families": {"family": []}}]}]}}
SESSION = {**MESH, "attr": {"session": [{"attributes": [{"hold_time": 30}]}]}}


@pytest.mark.parametrize(
    ("before", "after", "is_compilers"),
    [
        ([], [MESH], True),
        ([MESH], [], True),
        ([MESH], [SESSION], True),
        ([SESSION], [MESH], True),
        ([], [SESSION], False),
        ([{**SESSION, "attr": {"session": "?"}}], [SESSION], False),
    ],
)
def test_entries_that_a_schema_knows_by_their_attribute(
    before: list[Any], after: list[Any], is_compilers: bool
) -> None:
    """A session of the mesh, for instance, is the compiler's (``ours_with``)."""
    states = ({"bgp_router_refs": refs} for refs in (before, after))
    assert list(shared_entries_changed(SCHEMA.kind("bgp_router"), *states)) == [("bgp_router", "m", is_compilers)]
