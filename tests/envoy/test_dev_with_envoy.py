"""The newcomer's first minute: ``intentc dev`` with the sample of the Ambassador compiler, as a process of its own."""

from __future__ import annotations

import re
import shutil
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

import anyio
import httpx2
import pytest

from intentc.dev.child_process import free_ports
from tests.envoy.backends import who_answers
from tests.support import forking
from tests.support.commands import ROOT
from tests.support.forking import Ended, Running
from tests.support.processes import environment_with
from tests.support.programs import needed
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.envoy, pytest.mark.etcd, pytest.mark.http]

SAMPLE = ROOT / "sample" / "ambassador"
FILES = ("gateway.yaml", "routes.yaml", "services.yaml")
READY = "Ctrl-C ends everything."
REQUESTS = 2_000


class Sample:
    """A copy of the sample on free ports. ``port``: Envoy's."""

    def __init__(self, folder: Path, port: int, files: list[str]) -> None:
        self.folder = folder
        self.port = port
        self.files = files

    @classmethod
    def copied(cls, folder: Path) -> Self:
        """On ports of its own."""
        port, blue, green = free_ports(3)
        ports = {"8080": port, "18081": blue, "18082": green}
        for name in FILES:
            text = (SAMPLE / name).read_text()
            for configured, free in ports.items():
                text = re.sub(rf"\b{configured}\b", str(free), text)
            (folder / name).write_text(text)
        return cls(folder, port, [str(folder / name) for name in FILES])

    @property
    def dev(self) -> list[str]:
        return ["dev", "--compiler", "ambassador", "--kubernetes", "--load", *self.files]


class Dev:
    """A running ``intentc dev``."""

    def __init__(self, process: Running, log: Path) -> None:
        self.process = process
        self._log = log

    @property
    def printed(self) -> str:
        return self._log.read_text()

    @property
    def exports(self) -> dict[str, str]:
        return dict(re.findall(r"export (\w+)=(\S+)", self.printed))

    async def ready(self) -> None:
        with anyio.fail_after(PATIENCE):
            while READY not in self.printed:
                assert self.process.poll() is None, self.printed
                await anyio.sleep(0.02)


@asynccontextmanager
async def running_dev(sample: Sample) -> AsyncIterator[Dev]:
    log = sample.folder / "dev.log"
    with log.open("wb") as stream:
        process = forking.start(sample.dev, environment_with({}), stream, stream)
    running = Dev(process, log)
    try:
        await running.ready()
        yield running
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """What ``dev`` has loaded."""
    return Sample.copied(tmp_path_factory.mktemp("sample"))


@pytest.fixture(scope="module")
async def dev(sample: Sample) -> AsyncIterator[Dev]:
    """One for all tests that don't end it. Who changes what it loaded uses ``changing``."""
    async with running_dev(sample) as running:
        yield running


@pytest.fixture
async def changing(dev: Dev, sample: Sample, tmp_path: Path) -> AsyncIterator[Sample]:
    """The same sample in a folder of its own; applied to ``dev`` again as it was after the test."""
    yield Sample(tmp_path, sample.port, [str(shutil.copy(path, tmp_path)) for path in sample.files])
    restored = await ended(["apply", "--wait", *sample.files], dev.exports)
    assert restored.code == 0, restored.err


@pytest.fixture
def own_sample(tmp_path: Path) -> Sample:
    """For a process of the test's own."""
    return Sample.copied(tmp_path)


@pytest.fixture
def taken(own_sample: Sample) -> Iterator[None]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", own_sample.port))
        listening.listen()
        yield


async def ended(command: list[str], environment: dict[str, str] | None = None) -> Ended:
    with anyio.fail_after(PATIENCE):
        return await forking.run(command, environment_with(environment or {}))


async def test_it_shows_what_was_compiled_and_a_request_that_passed(own_sample: Sample) -> None:
    done = await ended([*own_sample.dev, "--exit-when-converged"])
    assert done.code == 0, done.err
    assert "problem" not in done.err
    assert re.search(r"envoy_route\s+greeting-\S+\s+.*from mapping sample:greeting", done.out)
    assert re.search(
        rf"\$ curl -s .*http://127\.0\.0\.1:{own_sample.port}/greeting/\n200 OK\n.*\"greeting-green\"", done.out
    )


async def test_the_kubeconfig_that_it_prints_leads_kubectl_to_the_mappings(dev: Dev) -> None:
    done = await anyio.run_process(
        [needed("kubectl"), "get", "mappings", "-A", "-o", "name"], env=environment_with(dev.exports)
    )
    assert "mapping.getambassador.io/greeting\n" in done.stdout.decode()


async def test_kubectl_moves_the_traffic_and_shows_why_a_mapping_does_not_work(dev: Dev, changing: Sample) -> None:
    program = needed("kubectl")

    async def kubectl(*words: str) -> str:
        done = await anyio.run_process([program, *words], env=environment_with(dev.exports))
        return done.stdout.decode()

    canary = ("patch", "mapping", "-n", "sample", "greeting-canary", "--type=merge", "-p")
    await kubectl(*canary, '{"spec": {"weight": 100}}')
    with anyio.fail_after(PATIENCE):
        while (await who_answers(changing.port, "/greeting/", 160)).keys() != {"greeting-green"}:
            pass
    await kubectl(*canary, '{"spec": {"service": "nobody", "weight": 10}}')
    # The other Mapping had no weight left before; its own status follows within a second.
    reason, table = "Inactive   there is no Service sample:nobody;", ""
    with anyio.fail_after(PATIENCE):
        while reason not in table or table.count("Inactive") != 1:
            table = await kubectl("get", "mappings", "-A")


async def test_what_it_says_to_type_works(dev: Dev, sample: Sample) -> None:
    needed("curl")
    commands = re.findall(r"^  (curl .*)$", dev.printed, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        done = await anyio.run_process(command)
        assert '"service":"greeting-' in done.stdout.decode(), (command, done)


async def test_a_changed_weight_moves_the_traffic(dev: Dev, changing: Sample) -> None:
    before = await who_answers(changing.port, "/greeting/", REQUESTS)
    assert 50 < before["greeting-green"] < 400
    routes = changing.folder / "routes.yaml"
    routes.write_text(routes.read_text().replace("weight: 10", "weight: 100"))
    applied = await ended(["apply", "--wait", *changing.files], dev.exports)
    assert applied.code == 0, applied.err
    assert re.search(r"mapping\s+sample:greeting-canary\s+updated", applied.out)
    with anyio.fail_after(PATIENCE):
        # Envoy is sent changes a moment after the compiler has written.
        while (await who_answers(changing.port, "/greeting/", 160)).keys() != {"greeting-green"}:
            pass
    after = await who_answers(changing.port, "/greeting/", REQUESTS)
    assert after == {"greeting-green": REQUESTS}


async def test_the_gateway_is_for_this_machine_only(dev: Dev, sample: Sample) -> None:
    admin = re.findall(r"http://(127\.0\.0\.1:\d+)/  \(its own pages\)", dev.printed)
    async with httpx2.AsyncClient(timeout=PATIENCE, trust_env=False) as client:
        listeners = (await client.get(f"http://{admin[0]}/listeners")).text
    assert listeners.strip() == f"sample/web::127.0.0.1:{sample.port}"


async def test_an_audit_beside_it_finds_nothing_to_change(dev: Dev) -> None:
    done = await ended(["audit"], dev.exports)
    assert done.code == 0, (done.out, done.err)


async def test_one_export_configures_intentc_and_only_its_owner_can_read_it(dev: Dev) -> None:
    assert list(dev.exports) == ["INTENTC_CONFIG_FILE", "KUBECONFIG"]
    file = anyio.Path(dev.exports["INTENTC_CONFIG_FILE"])
    modes = [(await path.stat()).st_mode & 0o777 for path in (file, file.parent)]
    assert modes == [0o600, 0o700]
    shown = await ended(["show", "routes"], dev.exports)
    assert "greeting-green 10" in shown.out


async def test_a_mapping_of_ones_own_needs_no_more_than_a_prefix_and_a_service(dev: Dev, sample: Sample) -> None:
    own = sample.folder / "own.yaml"
    own.write_text(
        "{apiVersion: getambassador.io/v3alpha1, kind: Mapping, metadata: {name: own, namespace: sample}, "
        'spec: {hostname: "*", prefix: /own/, service: greeting-blue}}\n'
    )
    assert (await ended(["apply", "--wait", str(own)], dev.exports)).code == 0
    with anyio.fail_after(PATIENCE):
        while (await who_answers(sample.port, "/own/", 160)).keys() != {"greeting-blue"}:
            pass
    deleted = await ended(["delete", "--wait", "--kind", "mapping", "own"], dev.exports)
    assert re.search(r"mapping\s+sample:own\s+deleted", deleted.out), deleted.err


async def test_what_was_got_is_taken_back(dev: Dev, changing: Sample) -> None:
    got = await ended(["get", "mapping", "green-only", "-o", "yaml"], dev.exports)
    file = changing.folder / "got.yaml"
    file.write_text(got.out.replace("timeout_ms: 2000", "timeout_ms: 2500"))
    assert "updated" in (await ended(["apply", str(file)], dev.exports)).out
    assert "unchanged" in (await ended(["apply", str(file)], dev.exports)).out
    assert "deleted" in (await ended(["delete", str(file)], dev.exports)).out


async def test_a_signal_ends_everything(own_sample: Sample) -> None:
    async with running_dev(own_sample) as dev:
        dev.process.send_signal(signal.SIGTERM)
        with anyio.fail_after(PATIENCE):
            code = await anyio.to_thread.run_sync(dev.process.wait)
        assert code == 0
        assert not Path(dev.exports["INTENTC_CONFIG_FILE"]).parent.exists()
        for port in re.findall(r"127\.0\.0\.1:(\d+)", dev.printed):
            with pytest.raises(OSError, match=r"refused|All connection attempts failed"):
                await anyio.connect_tcp("127.0.0.1", int(port))


async def test_a_taken_port_is_reported_with_what_to_do(own_sample: Sample, taken: None) -> None:
    done = await ended([*own_sample.dev, "--exit-when-converged"])
    assert done.code == 3
    assert f"Envoy can't listen on port {own_sample.port}" in done.err
    assert "the listener sample/web" in done.err
    assert "give the listener another port" in done.err
