"""``apply`` and ``delete``: what goes to the server, in which order, and what is reported about it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.running import Intentc
from tests.unit.cli.toy_api_server import ToyApiServer

TENANT = """
resources:
  - kind: virtual_network
    data: {fq_name: [d, p, blue], network_policy_refs: [{to: [d, p, rules]}]}
  - kind: network_policy
    data: {fq_name: [d, p, rules]}
  - kind: project
    data: {fq_name: [d, p]}
"""


@pytest.fixture
def tenant(tmp_path: Path) -> Path:
    path = tmp_path / "tenant.yml"
    path.write_text(TENANT)
    return path


def test_parents_and_targets_go_first_in_one_transaction(
    intentc: Intentc, connected: ToyApiServer, tenant: Path
) -> None:
    ended = intentc("apply", tenant)
    assert ended.code == 0
    assert connected.batches == [
        [
            ("CREATE", "project", "p"),
            ("CREATE", "network_policy", "rules"),
            ("CREATE", "virtual_network", "blue"),
        ]
    ]
    assert [line.split() for line in ended.out.splitlines()][1:] == [
        ["project", "d:p", "created"],
        ["network_policy", "d:p:rules", "created"],
        ["virtual_network", "d:p:blue", "created"],
    ]


def test_what_is_there_already_is_updated(intentc: Intentc, connected: ToyApiServer, tenant: Path) -> None:
    connected.put("network-policy", "d", "p", "rules", display_name="rules")
    changed = tenant.with_name("changed.yml")
    changed.write_text(TENANT.replace("{fq_name: [d, p, rules]}", "{fq_name: [d, p, rules], display_name: other}"))
    intentc("apply", changed)
    assert connected.batches[0][1] == ("UPDATE", "network_policy", "rules")
    assert connected.names("network-policy") == ["d:p:rules"]


def test_what_is_as_the_file_says_already_is_not_sent(intentc: Intentc, connected: ToyApiServer, tenant: Path) -> None:
    connected.put("project", "d", "p")
    ended = intentc("apply", tenant)
    assert [operation for operation, _, _ in connected.batches[0]] == ["CREATE", "CREATE"]
    assert ended.out.splitlines()[1].split() == ["project", "d:p", "unchanged"]


def test_applying_again_sends_nothing_and_waits_for_what_is_there(
    intentc: Intentc, connected: ToyApiServer, tenant: Path
) -> None:
    intentc("apply", tenant)
    connected.status = [{"applied_revision": 100, "converged": True}, {"applied_revision": 101, "converged": True}]
    ended = intentc("apply", "--wait", tenant)
    assert ended.code == 0
    assert [line.split()[-1] for line in ended.out.splitlines()[1:]] == ["unchanged"] * 3
    assert len(connected.batches) == len(connected.status) == 1


def test_too_many_for_one_transaction_go_in_several_in_the_same_order(
    intentc: Intentc, connected: ToyApiServer, tenant: Path
) -> None:
    connected.limit = 1
    assert intentc("apply", tenant).code == 0
    assert [batch[0][1] for batch in connected.batches] == ["project", "network_policy", "virtual_network"]


def test_a_rejection_is_reported_in_three_lines(intentc: Intentc, connected: ToyApiServer, tenant: Path) -> None:
    connected.rejection = (409, "fq_name is taken")
    ended = intentc("apply", tenant)
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.splitlines() == [
        "error: fq_name is taken",
        f"  where: POST {connected.url}/sync (HTTP 409)",
        "  next:  delete or fix what is in the way first",
    ]


def test_a_server_whose_etcd_is_away_counts_as_not_reachable(
    intentc: Intentc, connected: ToyApiServer, tenant: Path
) -> None:
    connected.rejection = (503, "etcd can't be reached")
    ended = intentc("apply", tenant)
    assert ended.code == 4
    assert "etcd can't be reached" in ended.err
    assert "see that the API server's etcd runs" in ended.err


def test_a_rejection_that_names_an_element_is_reported_on_that_resource_with_its_line(
    intentc: Intentc, connected: ToyApiServer, tenant: Path
) -> None:
    connected.rejection = (400, "item 1 (network_policy d:p:rules): network-policy: it is bad")
    connected.rejected_item = (1, "network-policy: it is bad")
    ended = intentc("apply", tenant)
    assert ended.code == 3
    assert ended.err.splitlines() == [
        "error: network_policy d:p:rules: it is bad",
        f"  where: {tenant}:5",
        "  next:  fix the resource and run the command again",
    ]


def test_the_element_is_known_from_the_message_alone_too(
    intentc: Intentc, connected: ToyApiServer, tenant: Path
) -> None:
    connected.rejection = (409, "item 0 (project d:p): taken (by another)")
    ended = intentc("apply", tenant)
    assert ended.err.splitlines()[:2] == ["error: project d:p: taken (by another)", f"  where: {tenant}:7"]


def test_the_element_is_the_right_one_in_later_transactions(
    intentc: Intentc, connected: ToyApiServer, tenant: Path
) -> None:
    connected.limit = 2
    connected.accepts = 1
    connected.rejection = (400, "item 0 (…): bad")
    ended = intentc("apply", tenant)
    assert [batch[0][1] for batch in connected.batches] == ["project"]
    assert ended.err.startswith("error: network_policy d:p:rules: bad\n")


def test_a_field_that_is_named_is_pointed_at(intentc: Intentc, connected: ToyApiServer, tmp_path: Path) -> None:
    path = tmp_path / "group.yml"
    path.write_text(
        "kind: security_group\ndata:\n  fq_name: [d, p, g]\n  security_group_entries:\n    policy_rule:\n"
        "      - {protocol: tcp}\n      - {protocol: udp,\n         ethertype: IPv5}\n"
    )
    connected.rejection = (
        400,
        "item 0 (security_group d:p:g): security_group_entries.policy_rule[1].ethertype: no such",
    )
    assert f"  where: {path}:8\n" in intentc("apply", path).err


def test_an_input_without_resources_is_an_error(intentc: Intentc, connected: ToyApiServer, tmp_path: Path) -> None:
    empty = tmp_path / "empty.yml"
    empty.write_text("resources: []\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    for command in ("apply", "delete", "compile"):
        for given in (empty, folder):
            ended = intentc(command, given)
            assert (ended.code, ended.out, ended.err) == (3, "", f"error: no resources in {given}\n")


def test_another_uuid_than_the_servers_is_rejected_before_anything_is_sent(
    intentc: Intentc, connected: ToyApiServer, tmp_path: Path
) -> None:
    there = connected.put("project", "d", "p")
    path = tmp_path / "project.yml"
    path.write_text("kind: project\ndata: {fq_name: [d, p], uuid: 00000000-0000-4000-8000-000000000000}\n")
    ended = intentc("apply", path)
    assert ended.code == 3
    assert f"project d:p exists with uuid {there}" in ended.err
    assert f"{path}:1" in ended.err
    assert connected.batches == []


def test_a_circle_of_references_is_named(intentc: Intentc, connected: ToyApiServer, tmp_path: Path) -> None:
    path = tmp_path / "circle.yml"
    path.write_text(
        "resources:\n"
        "- {kind: virtual_network, data: {fq_name: [d, p, a], virtual_network_refs: [{to: [d, p, b]}]}}\n"
        "- {kind: virtual_network, data: {fq_name: [d, p, b], virtual_network_refs: [{to: [d, p, a]}]}}\n"
    )
    ended = intentc("apply", path)
    assert ended.code == 3
    assert "refer to each other: virtual_network d:p:" in ended.err


def test_json_shows_the_revision(intentc: Intentc, connected: ToyApiServer, tenant: Path) -> None:
    document = json.loads(intentc("apply", tenant, "-o", "json").out)
    assert document["apiVersion"] == "intentc/v1"
    assert document["revision"] == 101
    assert document["results"][0] == {"kind": "project", "fq_name": ["d", "p"], "action": "created"}


def test_wait_ends_when_the_revision_is_applied_and_nothing_is_left(
    intentc: Intentc, connected: ToyApiServer, tenant: Path
) -> None:
    connected.status = [
        {"applied_revision": 100, "converged": True},
        {"applied_revision": 101, "converged": False},
        {"applied_revision": 101, "converged": True, "held": []},
    ]
    assert intentc("apply", tenant, "--wait").code == 0
    assert len(connected.status) == 1


def _held(kind: str, name: str, **further: object) -> dict[str, object]:
    return {"kind": kind, "name": name, "uuid": "u", "state": "held", "message": "it fails", "on": None, **further}


def test_wait_shows_what_is_held(intentc: Intentc, connected: ToyApiServer, tenant: Path) -> None:
    connected.status = [
        {"applied_revision": 101, "converged": True, "quarantine": [_held("virtual_network", "d:p:blue")]}
    ]
    ended = intentc("apply", tenant, "--wait")
    assert ended.code == 5
    assert ended.err == "held: virtual_network d:p:blue: it fails\n"


def test_wait_shows_what_is_held_also_if_the_status_has_no_room_for_it(
    intentc: Intentc, connected: ToyApiServer, tenant: Path
) -> None:
    connected.quarantine = [_held("bgpvpn", f"d:p:{number}", since=2.0) for number in range(700)]
    connected.quarantine += [_held("virtual_network", "d:p:blue", since=1.0)]
    connected.status = [
        {
            "applied_revision": 101,
            "converged": True,
            "quarantine": connected.quarantine[:100],
            "counts": {"quarantined": 701},
        }
    ]
    ended = intentc("apply", tenant, "--wait")
    assert (ended.code, ended.err) == (5, "held: virtual_network d:p:blue: it fails\n")


BLUE = {"kind": "virtual_network", "name": "d:p:blue", "uuid": "u"}


@pytest.mark.parametrize(
    ("why", "code"),
    [
        ({"owners": [], "evaluations": []}, 0),
        ({"owners": [BLUE], "evaluations": []}, 5),
        ({"owners": [], "evaluations": [{"path": [BLUE, {"kind": "x", "name": "y", "uuid": "z"}]}]}, 5),
        ({"owners": [], "evaluations": [{"path": [{"kind": "x", "name": "y", "uuid": "z"}, BLUE]}]}, 0),
    ],
    ids=["of others", "made by it", "run by it", "run by others"],
)
def test_only_what_follows_from_the_file_counts(
    intentc: Intentc, connected: ToyApiServer, tenant: Path, why: dict[str, object], code: int
) -> None:
    held = _held("access_control_list", "d:p:some:list")
    connected.status = [{"applied_revision": 101, "converged": True, "held": ["x/u"], "quarantine": [held]}]
    connected.why = why
    ended = intentc("apply", tenant, "--wait")
    assert ended.code == code, ended.err
    assert ("d:p:some:list" in ended.err) == (code == 5)


def test_wait_shows_the_problems_of_what_was_applied_with_their_lines(
    intentc: Intentc, connected: ToyApiServer, tenant: Path
) -> None:
    def problem(name: str, message: str) -> dict[str, str]:
        return {"kind": "virtual_network", "name": name, "reason": "R", "message": message, "source": "key@7"}

    connected.status = [
        {
            "applied_revision": 101,
            "converged": True,
            "problems": [problem("d:p:blue", "is odd"), problem("d:p:others", "is odd, too")],
        }
    ]
    ended = intentc("apply", tenant, "--wait")
    assert ended.code == 0
    assert ended.err == f"{tenant}:3: virtual_network d:p:blue: is odd\n"


def test_wait_gives_up_on_a_compiler_that_stays_behind(intentc: Intentc, connected: ToyApiServer, tenant: Path) -> None:
    connected.status = [{"applied_revision": 7, "converged": True}]
    ended = intentc("apply", tenant, "--wait", "--timeout", "0.2")
    assert ended.code == 4
    assert "still waiting for revision 101, it is at 7" in ended.err


def test_wait_names_a_compiler_that_is_not_there(
    intentc: Intentc, connected: ToyApiServer, tenant: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTENTC_INTENTC__DIAGNOSTICS__ADDRESS", "127.0.0.1:1")
    ended = intentc("apply", tenant, "--wait")
    assert ended.code == 4
    assert "intentc.diagnostics.address" in ended.err


def test_delete_waits_until_the_compiler_has_converged_on_it(
    intentc: Intentc, connected: ToyApiServer, tenant: Path
) -> None:
    intentc("apply", tenant)
    connected.status = [
        {"applied_revision": 102, "converged": False},
        {"applied_revision": 102, "converged": True},
    ]
    assert intentc("delete", tenant, "--wait").code == 0
    assert len(connected.status) == 1


def test_delete_goes_the_other_way_round(intentc: Intentc, connected: ToyApiServer, tenant: Path) -> None:
    intentc("apply", tenant)
    ended = intentc("delete", tenant)
    assert ended.code == 0
    assert [kind for _, kind, _ in connected.batches[-1]] == ["virtual_network", "network_policy", "project"]
    assert connected.stored == {}


def test_delete_names_what_prevents_a_deletion(intentc: Intentc, connected: ToyApiServer, tmp_path: Path) -> None:
    path = tmp_path / "project.yml"
    path.write_text("kind: project\ndata: {fq_name: [d, p]}\n")
    project, group = connected.put("project", "d", "p"), connected.put("security-group", "d", "p", "g")
    gone = "00000000-0000-4000-8000-000000000000"
    connected.rejection = (
        409,
        f"item 0 (project {project}): project/{project} is held by security_group/{group} and policy/{gone}",
    )
    ended = intentc("delete", path)
    assert ended.err.splitlines()[:2] == [
        f"error: project d:p: project d:p is held by security_group d:p:g and policy/{gone}",
        f"  where: {path}:1",
    ]


def test_deleting_what_is_gone_is_no_error(intentc: Intentc, connected: ToyApiServer, tenant: Path) -> None:
    connected.put("project", "d", "p")
    ended = intentc("delete", tenant)
    assert ended.code == 0
    assert [line.split()[-1] for line in ended.out.splitlines()[1:]] == ["absent", "absent", "deleted"]


def test_a_token_is_fetched_with_the_configured_password(
    intentc: Intentc, connected: ToyApiServer, tenant: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected.token, connected.password = "token-1", "canary"
    monkeypatch.setenv("INTENTC_KEYSTONE__AUTHURL", f"{connected.url}/keystone/v3")
    monkeypatch.setenv("INTENTC_CLIENT__ID", "alice")
    monkeypatch.setenv("INTENTC_CLIENT__PASSWORD", "canary")
    assert intentc("apply", tenant).code == 0


def test_a_wrong_password_is_not_shown(
    intentc: Intentc, connected: ToyApiServer, tenant: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected.token, connected.password = "token-1", "other"
    monkeypatch.setenv("INTENTC_KEYSTONE__AUTHURL", f"{connected.url}/keystone/v3")
    monkeypatch.setenv("INTENTC_CLIENT__PASSWORD", "canary")
    ended = intentc("apply", tenant)
    assert ended.code == 4
    assert "canary" not in ended.err
    assert "check client.id" in ended.err


def test_resources_are_deleted_by_their_names(intentc: Intentc, connected: ToyApiServer) -> None:
    connected.put("virtual-network", "d", "p", "red")
    connected.put("virtual-network", "d", "p", "blue")
    connected.put("virtual-network", "d", "p", "green")
    ended = intentc("delete", "--kind", "virtual-networks", "red", "d:p:green", "p:red")
    assert [line.split() for line in ended.out.splitlines()][1:] == [
        ["virtual_network", "d:p:red", "deleted"],
        ["virtual_network", "d:p:green", "deleted"],
    ]
    assert connected.names("virtual-network") == ["d:p:blue"]


def test_nothing_is_deleted_if_one_of_the_names_is_misspelt(intentc: Intentc, connected: ToyApiServer) -> None:
    connected.put("virtual-network", "d", "p", "red")
    ended = intentc("delete", "--kind", "virtual_network", "red", "rde")
    assert (ended.code, ended.out) == (3, "")
    assert "there is no virtual_network named rde" in ended.err
    assert connected.names("virtual-network") == ["d:p:red"]


def test_a_rejection_names_its_resource_once(intentc: Intentc, connected: ToyApiServer, tenant: Path) -> None:
    connected.rejection = (400, "item 1 (network_policy d:p:rules): network-policy d:p:rules: it must be given")
    connected.rejected_item = (1, "network-policy d:p:rules: it must be given")
    assert intentc("apply", tenant).err.startswith("error: network_policy d:p:rules: it must be given\n")


@pytest.mark.parametrize("command", ["apply", "delete", "compile"])
def test_a_kind_of_a_compiler_that_does_not_run_is_reported_with_its_compiler(
    intentc: Intentc, connected: ToyApiServer, tmp_path: Path, command: str
) -> None:
    path = tmp_path / "listener.yaml"
    path.write_text("{apiVersion: getambassador.io/v3alpha1, kind: Listener, metadata: {name: a}, spec: {}}")
    ended = intentc(command, path)
    assert ended.code == 3
    assert "unknown kind 'Listener'; the compiler ambassador knows it" in ended.err


def test_json_shows_the_elements_of_a_name_as_they_are(
    intentc: Intentc, connected: ToyApiServer, tmp_path: Path
) -> None:
    path = tmp_path / "target.yml"
    path.write_text("kind: route_target\ndata: {fq_name: ['target:64512:100']}\n")
    document = json.loads(intentc("apply", path, "-o", "json").out)
    assert document["results"] == [{"kind": "route_target", "fq_name": ["target:64512:100"], "action": "created"}]


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_what_get_prints_is_taken_by_apply_and_delete(
    intentc: Intentc, connected: ToyApiServer, tmp_path: Path, form: str
) -> None:
    connected.put("virtual-network", "d", "p", "red", href="http://there/red", id_perms={"enable": True})
    path = tmp_path / f"got.{form}"
    path.write_text(intentc("get", "virtual_network", "-o", form).out)
    assert intentc("apply", path).out.split()[-1] == "unchanged"
    path.write_text(path.read_text().replace("red", "blue").replace("uuid", "former_uuid"))
    assert intentc("delete", path).out.split()[-1] == "absent"
    path.write_text(intentc("get", "virtual_network", "red", "-o", form).out)
    assert intentc("delete", path).out.split()[-1] == "deleted"


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (("delete", "security_group", "web"), "intentc delete --kind security_group web"),
        (("delete", "security-groups", "web", "a b"), "intentc delete --kind security-groups web 'a b'"),
        (("delete", "security_group"), "intentc delete --kind security_group NAME"),
        (("plan", "--delete", "security_group", "web"), "intentc plan --delete --kind security_group web"),
    ],
)
def test_a_kind_in_place_of_a_file_names_the_option(
    intentc: Intentc, connected: ToyApiServer, given: tuple[str, ...], meant: str
) -> None:
    ended = intentc(*given)
    assert (ended.code, ended.out) == (2, "")
    kind = next(word for word in given if word.startswith("security"))
    assert ended.err.startswith(f"error: there is no file {kind}; it is a kind\n")
    assert f"did you mean `{meant}`?" in ended.err


def test_a_file_named_like_a_kind_is_a_file(
    intentc: Intentc, connected: ToyApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("security_group").write_text("resources: [{kind: security_group, data: {fq_name: [a]}}]")
    assert intentc("delete", "security_group").out.split()[-1] == "absent"


def test_a_configuration_is_no_resource(intentc: Intentc, connected: ToyApiServer) -> None:
    sample = Path(__file__).resolve().parents[3] / "sample" / "contrail.yml"
    ended = intentc("apply", sample)
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.startswith("error: this is no resource: it looks like a configuration\n")
    assert f"`--config-file {sample}`" in ended.err
