"""What the simulation found, minimised: each a history that once did not end as it must."""

from __future__ import annotations

import pytest

from tests.property.resources import NAMES, PROJECTS, Put
from tests.property.steps import Apply, Forecast, Repair, Restart, TearDown
from tests.simulation.faults import BackUp, Fault, Happening, KillNow, Restore, Silence, Slow
from tests.simulation.histories import in_service
from tests.simulation.request_faults import Outcome
from tests.simulation.simulated_clock import simulate

PROJECT, OTHER_PROJECT = (Put("project", name, {}) for name in PROJECTS)


def network(fq_name: tuple[str, ...], *targets: str) -> Put:
    return Put("virtual_network", fq_name, {"route_target_list": {"route_target": list(targets)}})


def test_a_router_refers_to_its_target_once_that_is_created_again() -> None:
    """A list had named the target before the router got its number: the reference was given up as unrecognisable, and
    nobody looked again when the target was made anew."""
    begin = [
        PROJECT,
        OTHER_PROJECT,
        network(NAMES[4], "target:64512:8000103"),
        network(NAMES[0], "target:64512:8000103"),
        Put("logical_router", NAMES[3], {"virtual_machine_interface_refs": []}),
    ]
    simulate(in_service, begin, [Happening(Restart(settle=False), 0.0)] * 2)


@pytest.mark.parametrize("end", [[KillNow()], [BackUp(), Restore()]], ids=["killed", "restored"])
def test_a_number_is_freed_though_its_owner_was_deleted_before_the_leader_read_it(end: list[Fault]) -> None:
    """A standby reads the allocations when it takes over, and every process when the store was restored; both found
    numbers of owners whose end they had seen before."""
    history = [
        Happening(Repair(), 0.1),
        Happening(TearDown(NAMES[0]), 0.001),
        *(Happening(fault, 0.005) for fault in end),
    ]
    simulate(in_service, [PROJECT, network(NAMES[0])], history)


@pytest.mark.parametrize(
    "pauses",
    [
        (0.01, 3.0, 0.001, 0.0),
        (3.0, 0.01, 0.001, 0.0),
        (3.0, 3.0, 0.001, 0.0),
        (0.01, 0.001, 0.0, 3.0),
        (0.001, 0.0, 0.01, 3.0),
    ],
    ids=str,
)
def test_outputs_that_a_restore_lost_without_an_event_are_created_again(pauses: tuple[float, ...]) -> None:
    """A slow first grant went, and its number was also given to another owner: nobody read the allocations again,
    since the store still had all that the watch had delivered. Or, with a slow last request, the target of a reference
    went: reading back ended what was assumed of it, and only who referred to it was planned again."""
    history = [
        Happening(Slow(pauses), 0.0),
        Happening(Restore(), 0.1),
        Happening(BackUp(), 1.0),
        Happening(Silence(), 0.1),
        Happening(TearDown(NAMES[3]), 1.0),
        Happening(Restore(), 0.1),
    ]
    simulate(in_service, [], history, seed=6087)


def test_an_allocation_whose_answer_was_lost_is_freed_when_nothing_requests_it() -> None:
    """Who is neither known to hold a number nor wishes one was not looked after."""
    history = [
        Happening(Repair(), 5.0),
        Happening(Forecast((Outcome.LOST_ANSWER,) * 4), 0.0),
        Happening(Apply(network(NAMES[0])), 0.05),
        Happening(TearDown(NAMES[0]), 1.0),
    ]
    simulate(in_service, [PROJECT], history)
