"""What an instance claims depends on what was observed of its certificates and of its Envoys."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import pytest

from intentc.compilers.gateway.children import Child, children
from intentc.compilers.gateway.instance import EnvoyPods, Images, Instance, Resource
from intentc.outgoing import target_of

OPERATOR = Instance(
    layout="operator", namespace="edge", images=Images("contour:v1", "envoy:v1"), contour=Resource("edge", "main")
)
PROVISIONER = Instance(
    layout="provisioner", namespace="shop", images=Images("contour:v1", "envoy:v1"), gateway=Resource("shop", "front")
)


class Seen(NamedTuple):
    done: bool = False
    gone: bool = False
    taken: bool = False
    available: bool | None = None


def claimed(instance: Instance, seen: dict[str, Seen], kinds: set[str]) -> list[str]:
    """The objects of these kinds that are claimed; ``seen``: by kind and name, what was observed."""

    def place(child: Child) -> str:
        target = target_of(child.manifest)
        return f"{target.kind} {target.name}"

    def observed(child: Child) -> Any:
        return seen.get(place(child))

    made = [place(child) for child in children(instance, observed)]
    return [one for one in made if one.split()[0] in kinds]


JOB, CONTOUR, ENVOY = "Job contour-certgen-v1", "Secret contourcert", "Secret envoycert"
CERTIFICATES = {"Job", "Secret"}


def test_the_secrets_are_claimed_once_the_job_has_made_them() -> None:
    assert claimed(OPERATOR, {}, CERTIFICATES) == [JOB]
    assert claimed(OPERATOR, {JOB: Seen()}, CERTIFICATES) == [JOB]
    assert claimed(OPERATOR, {JOB: Seen(done=True)}, CERTIFICATES) == [CONTOUR, ENVOY, JOB]


def test_the_secrets_stay_while_the_job_of_a_new_image_runs() -> None:
    upgraded = msgspec.structs.replace(OPERATOR, images=Images("contour:v2", "envoy:v1"))
    seen = {JOB: Seen(done=True), CONTOUR: Seen(), ENVOY: Seen()}
    assert claimed(upgraded, seen, CERTIFICATES) == [CONTOUR, ENVOY, "Job contour-certgen-v2"]


def test_a_missing_secret_makes_a_job_that_is_done_run_again() -> None:
    seen = {JOB: Seen(done=True), CONTOUR: Seen(), ENVOY: Seen(gone=True)}
    assert claimed(OPERATOR, seen, CERTIFICATES) == [CONTOUR], "the Job is deleted, and what was observed of it"
    del seen[JOB], seen[ENVOY]
    assert claimed(OPERATOR, seen, CERTIFICATES) == [CONTOUR, JOB]
    seen[JOB] = Seen(done=True)
    assert claimed(OPERATOR, seen, CERTIFICATES) == [CONTOUR, ENVOY, JOB]


def test_a_foreign_secret_does_not_run_the_job_again() -> None:
    seen = {JOB: Seen(done=True), CONTOUR: Seen(gone=True, taken=True), ENVOY: Seen()}
    assert claimed(OPERATOR, seen, CERTIFICATES) == [CONTOUR, ENVOY, JOB]


def test_a_missing_secret_does_not_stop_a_job_that_runs() -> None:
    assert claimed(OPERATOR, {JOB: Seen(), CONTOUR: Seen(gone=True)}, CERTIFICATES) == [JOB]


def test_the_secrets_are_never_created_and_nothing_of_their_data_is_ours() -> None:
    made = [child for child in children(OPERATOR, lambda child: Seen(done=True)) if child.manifest["kind"] == "Secret"]
    assert [child.adopted_only for child in made] == [True, True]
    assert {field for child in made for field in child.manifest} == {"apiVersion", "kind", "metadata"}


WORKLOADS = {"DaemonSet", "Deployment"}
DEPLOYMENT = msgspec.structs.replace(PROVISIONER, envoy_pods=EnvoyPods(workload="Deployment"))


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ({}, ["Deployment envoy-front"]),
        ({"DaemonSet envoy-front": Seen()}, ["Deployment envoy-front", "DaemonSet envoy-front"]),
        (
            {"DaemonSet envoy-front": Seen(), "Deployment envoy-front": Seen(available=False)},
            ["Deployment envoy-front", "DaemonSet envoy-front"],
        ),
        (
            {"DaemonSet envoy-front": Seen(), "Deployment envoy-front": Seen(available=True)},
            ["Deployment envoy-front"],
        ),
        ({"DaemonSet envoy-front": Seen(gone=True)}, ["Deployment envoy-front"]),
        ({"DaemonSet envoy-front": Seen(taken=True)}, ["Deployment envoy-front"]),
    ],
)
def test_the_former_workload_serves_until_the_new_one_does(seen: dict[str, Seen], expected: list[str]) -> None:
    assert claimed(DEPLOYMENT, seen, WORKLOADS) == ["Deployment contour-front", *expected]


def test_a_deployment_becomes_a_daemon_set_likewise() -> None:
    seen = {"Deployment envoy-front": Seen(available=True)}
    found = claimed(PROVISIONER, seen, WORKLOADS)
    assert found == ["Deployment contour-front", "DaemonSet envoy-front", "Deployment envoy-front"]


@pytest.mark.parametrize(
    ("instance", "labels"),
    [
        (
            OPERATOR,
            {
                "contour.operator.projectcontour.io/owning-contour-name": "main",
                "contour.operator.projectcontour.io/owning-contour-namespace": "edge",
            },
        ),
        (PROVISIONER, {"projectcontour.io/owning-gateway-name": "front"}),
    ],
)
def test_what_the_operator_and_the_provisioner_made_is_taken_over(instance: Instance, labels: dict[str, str]) -> None:
    made = list(children(instance, lambda child: None))
    assert len(made) >= 14
    assert [child.adopts for child in made] == [labels] * len(made)
