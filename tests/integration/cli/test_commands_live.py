"""The commands against live servers: the sample tenant by every way, and what bad input answers."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner

from intentc.cli.entry import COMMANDS
from intentc.cli.entry import intentc as command_line
from tests.oracle.contrail import mark, normal
from tests.support.commands import SAMPLE, Intentc
from tests.support.live_system import LiveSystem
from tests.support.processes import Process
from tests.support.waiting import until, until_true

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

BROKEN = "5b0f0000-0000-4000-8000-0000000000ff"


async def _diagnostics(service: Process) -> dict[str, str]:
    """The environment by which a command finds a service."""
    return {"INTENTC_INTENTC__DIAGNOSTICS__ADDRESS": (await service.url()).removeprefix("http://")}


def _named(resources: Any) -> dict[tuple[str, ...], Any]:
    """(kind, fq_name …) → what a compiler decides of it: parent's type, properties, references by name."""
    found = {}
    for resource in resources:
        fields = {}
        for field, value in resource.items():
            if field.endswith("_refs"):
                fields[field] = sorted((entry["to"], json.dumps(normal(entry.get("attr") or {}))) for entry in value)
            elif field not in ("kind", "uuid", "parent_uuid", "fq_name"):
                fields[field] = normal(value)
        found[resource["kind"], *resource["fq_name"]] = fields
    return found


async def test_the_sample_tenant_compiles_live_and_offline_to_the_same(world: LiveSystem, intentc: Intentc) -> None:
    service = intentc.start()
    await service.settled(world.revision)
    before = {resource["uuid"] for resource in await world.owned()}
    applied = await intentc("apply", "--wait", SAMPLE, "-o", "json", environment=await _diagnostics(service))
    assert applied.code == 0, applied.err
    offline = await intentc("compile", SAMPLE, "-o", "json")
    assert offline.code == 0, offline.err
    assert offline.json["apiVersion"] == "intentc/v1"
    assert offline.json["problems"] == []

    compiled = _named(offline.json["resources"])
    live = {
        (kind, *resource["fq_name"]): {"kind": kind, **resource}
        for kind, resources in (await world.stored()).items()
        for resource in resources.values()
    }
    made = {name for name, resource in live.items() if mark(resource) and resource["uuid"] not in before}
    assert len(made) >= 10
    assert made <= compiled.keys()
    assert {name for name in compiled if name[0] in ("access_control_list", "route_target")} == made
    for name, fields in compiled.items():
        (found,) = _named([{field: live[name].get(field) for field in ("kind", "fq_name")} | {
            field: live[name].get(field) or [] if field.endswith("_refs") else live[name].get(field) for field in fields
        }]).values()  # fmt: skip
        assert found == fields, name
    await world.assert_compiled()


async def test_compile_gives_the_same_bytes_for_the_same_input(intentc: Intentc) -> None:
    first, second = [await intentc("compile", SAMPLE, "-o", "json") for _ in range(2)]
    assert first.out and first.out == second.out


async def test_applying_what_is_there_already_converges_too(world: LiveSystem, intentc: Intentc) -> None:
    service = intentc.start()
    environment = await _diagnostics(service)
    assert (await intentc("apply", "--wait", SAMPLE, environment=environment)).code == 0
    before, calls = await world.values(), dict(world.calls.mutations)
    again = await intentc("apply", "--wait", "--timeout", "10", SAMPLE, "-o", "json", environment=environment)
    assert again.code == 0, again.err
    assert {result["action"] for result in again.json["results"]} == {"unchanged"}
    await service.settled(world.revision)
    lower_level = {key for key in before if key.split("/")[2] in ("access_control_list", "route_target")}
    after = await world.values()
    assert {key: after[key] for key in lower_level} == {key: before[key] for key in lower_level}
    compilers = {call: count for call, count in world.calls.mutations.items() if call != "POST /sync"}
    assert compilers == {call: count for call, count in calls.items() if call != "POST /sync"}


async def test_get_shows_and_delete_takes_everything_back(world: LiveSystem, intentc: Intentc) -> None:
    service = intentc.start()
    status = await service.settled(world.revision)
    before = {kind: set(found) for kind, found in (await world.stored()).items()}
    numbers = await world.numbers()
    environment = await _diagnostics(service)
    assert (await intentc("apply", "--wait", SAMPLE, environment=environment)).code == 0

    shown = await intentc("get", "access-control-lists", "-o", "json")
    names = [resource["fq_name"][-2:] for resource in shown.json["resources"]]
    assert shown.code == 0
    assert ["web", "ingress-access-control-list"] in names
    one = await intentc("get", "routing_instance", "shop:front:front", "-o", "json")
    assert len(one.json["resources"][0]["route_target_refs"]) == 5
    assert (await intentc("get", "logical_router", "no-such")).code == 3

    deleted = await intentc("delete", SAMPLE, "-o", "json")
    assert deleted.code == 0, deleted.err
    assert {result["action"] for result in deleted.json["results"]} == {"deleted"}
    status = await service.settled(deleted.json["revision"])
    assert status["healthy"] is True
    assert {kind: set(found) for kind, found in (await world.stored()).items() if found} == before
    assert await world.numbers() == numbers
    absent = await intentc("delete", SAMPLE, "-o", "json")
    assert (absent.code, {result["action"] for result in absent.json["results"]}) == (0, {"absent"})


async def test_apply_does_not_wait_for_held_intents_that_it_does_not_affect(
    world: LiveSystem, intentc: Intentc
) -> None:
    service = intentc.start()
    await world.put_raw("security_group", BROKEN, b"{")
    await service.settled(world.revision)
    ended = await intentc("apply", "--wait", SAMPLE, environment=await _diagnostics(service))
    assert ended.code == 0
    assert BROKEN not in ended.err


async def test_dev_loads_the_sample_shows_what_was_compiled_and_ends_by_itself(intentc: Intentc) -> None:
    ended = await intentc("dev", "--load", SAMPLE, "--exit-when-converged", configured=False)
    assert ended.code == 0, ended.err
    offline = await intentc("compile", SAMPLE, configured=False)
    assert ended.out == offline.out
    assert "access_control_list" in ended.out
    # What it wrote for other terminals is gone with it.
    assert "INTENTC_CONFIG_FILE" not in ended.err
    assert f"intentc dev --load {SAMPLE}`" in ended.err.splitlines()[-1]


async def test_dev_answers_for_a_cluster_and_statuses_follow(intentc: Intentc) -> None:
    sample = Path("sample/gateway")
    files = [str(sample / name) for name in ("class.yaml", "contour.yaml", "gateway.yaml")]
    ended = await intentc("dev", "--compiler", "gateway", *files, "--exit-when-converged", configured=False)
    assert ended.code == 0, ended.err
    assert "A stand-in for a Kubernetes cluster answers" in ended.err
    assert "create Deployment sample/contour-web" in ended.err
    offline = await intentc("compile", "--compiler", "gateway", *files, configured=False)
    named = [line.split()[:2] for line in offline.out.splitlines()]
    assert named.count(["gateway", "sample:web"]) == 1, "with its status, and not once more"
    assert "Programmed=True (Programmed)" in ended.out
    assert "Available=True (ContourAvailable)" in ended.out


async def test_dev_shows_a_rejected_resource_with_its_line(intentc: Intentc, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yml"
    bad.write_text(
        "resources:\n  - kind: project\n    data: {fq_name: [default-domain, p]}\n  - kind: security_group\n    data:\n"
        "      fq_name: [default-domain, p, g]\n      security_group_entries: none\n"
    )
    ended = await intentc("dev", "--load", bad, "--exit-when-converged", configured=False)
    assert ended.code == 3
    assert ended.err.splitlines()[-3:-1] == [
        "error: security_group default-domain:p:g: security_group_entries: must be an object, is a string",
        f"  where: {bad}:7",
    ]
    offline = await intentc("compile", bad, configured=False)
    assert offline.err.splitlines()[:2] == ended.err.splitlines()[-3:-1]


async def test_what_holds_a_deletion_up_is_reported_by_its_name(
    world: LiveSystem, intentc: Intentc, tmp_path: Path
) -> None:
    assert (await intentc("apply", SAMPLE)).code == 0
    project = tmp_path / "project.yml"
    project.write_text("kind: project\ndata: {fq_name: [default-domain, shop]}\n")
    ended = await intentc("delete", project)
    assert ended.code == 3
    assert "security_group default-domain:shop:web (child)" in ended.err
    assert f"where: {project}:1" in ended.err


async def test_dev_ended_by_two_signals_at_once_leaves_nothing_behind(intentc: Intentc, tmp_path: Path) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    service = intentc.start("dev", environment={"TMPDIR": str(folder)})
    await until(lambda: "Ctrl-C ends everything" in service.log)
    assert len(list(folder.iterdir())) == 2  # etcd's data, and the configuration for other terminals
    service.process.send_signal(signal.SIGINT)
    service.process.send_signal(signal.SIGTERM)
    await until(lambda: service.process.poll() is not None)
    assert service.process.wait() == 0
    assert list(folder.iterdir()) == []


async def test_dev_names_no_address_of_its_leader_at_which_nobody_listens(intentc: Intentc) -> None:
    service = intentc.start("dev")
    await until(lambda: "Ctrl-C ends everything" in service.log)
    url = next(line.split()[1] for line in service.log.splitlines() if line.startswith("diagnostics"))
    leading: dict[str, Any] = {}
    async with httpx2.AsyncClient(trust_env=False) as client:

        async def leads() -> bool:
            leading.update((await client.get(f"{url}status")).json()["leading"])
            return bool(leading["leads"])

        await until_true(leads)
    assert leading["leader_address"] in ("", url.rstrip("/"))
    assert await service.terminate() == 0


async def test_an_api_server_as_a_process_prints_its_url_serves_and_ends_with_0(
    world: LiveSystem, intentc: Intentc
) -> None:
    configuration = json.loads(intentc.configuration.read_text())
    intentc.write(configuration | {"server": {"address": "127.0.0.1:0"}, "no_auth": True})
    service = intentc.start("apiserver")
    await until(lambda: "http://127.0.0.1:" in service.log)
    url = next(line for line in service.log.splitlines() if line.startswith("http://"))
    shown = await intentc("get", "project", "-o", "json", environment={"INTENTC_CLIENT__ENDPOINT": url})
    assert ["default-domain", "default-project"] in [found["fq_name"] for found in shown.json["resources"]]
    assert await service.terminate() == 0


async def test_check_finds_nothing_wrong_with_what_ships(intentc: Intentc) -> None:
    assert (await intentc("check")).code == 0


async def test_bad_yaml_is_reported_with_file_and_line(intentc: Intentc, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yml"
    bad.write_text("resources:\n  - kind: project\n    data: {fq_name: [a\n")
    for arguments in (("compile", bad), ("apply", bad)):
        ended = await intentc(*arguments)
        assert ended.code == 3
        assert f"{bad}:" in ended.err
        assert "Traceback" not in ended.err and ended.out == ""


async def test_an_unknown_kind_gets_a_suggestion_with_file_and_line(intentc: Intentc, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yml"
    bad.write_text("resources:\n  - kind: virtual_netwrok\n    data: {fq_name: [a]}\n")
    ended = await intentc("compile", bad)
    assert ended.code == 3
    assert f"{bad}:2" in ended.err
    assert "virtual_network" in ended.err


async def test_an_unknown_option_is_a_usage_error(intentc: Intentc) -> None:
    for arguments in (("compile", "--no-such", SAMPLE), ("--no-such",), ("no-such-command",)):
        ended = await intentc(*arguments, configured=False)
        assert ended.code == 2, arguments
        assert "--help" in ended.err


async def test_a_server_that_is_not_there_is_4(intentc: Intentc) -> None:
    nowhere = {"INTENTC_CLIENT__ENDPOINT": "http://127.0.0.1:1"}
    for arguments in (("apply", SAMPLE), ("get", "project"), ("delete", SAMPLE)):
        ended = await intentc(*arguments, environment=nowhere)
        assert ended.code == 4, ended.err
        assert "http://127.0.0.1:1" in ended.err


async def test_an_etcd_that_is_not_there_is_4(intentc: Intentc) -> None:
    away = {
        "INTENTC_ETCD__ENDPOINTS": "127.0.0.1:1",
        "INTENTC_SERVER__ADDRESS": "127.0.0.1:0",
        "INTENTC_NO_AUTH": "true",
    }
    ended = await intentc("apiserver", environment=away)
    assert ended.code == 4, ended.err
    assert "etcd.endpoints" in ended.err


async def test_an_invalid_configuration_key_is_reported_with_file_line_and_suggestion(
    intentc: Intentc, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.yml"
    wrong.write_text("etcd:\n  endponts: [127.0.0.1:2379]\n")
    for arguments in (("run",), ("check",), ("compile", SAMPLE), ("get", "project")):
        ended = await intentc("--config-file", wrong, *arguments, configured=False)
        assert ended.code == 3
        assert f"{wrong}:2" in ended.err
        assert "endpoints" in ended.err


async def test_a_configuration_that_is_not_there_is_3(intentc: Intentc, tmp_path: Path) -> None:
    ended = await intentc("--config-file", tmp_path / "none.yml", configured=False)
    assert ended.code == 3
    assert "none.yml" in ended.err


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_every_command_answers_help(name: str) -> None:
    ended = CliRunner().invoke(command_line, [name, "--help"] if name else ["--help"])
    assert ended.exit_code == 0
    assert "Usage:" in ended.output
