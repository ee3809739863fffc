"""The compilers as something to try: what users begin with and do, what others do, and what must come of it.

How histories are made of that, and lived through, is the same for all of them (``histories.py``, ``machines.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from intentc.plugins import Loaded
from tests.property import demands, gateway_demands, gateway_steps, gateways, resources, steps
from tests.property.steps import Settle, Step
from tests.simulation import simulated_system
from tests.simulation.simulated_system import SimulatedSystem

Begin = Sequence[Any]
"""What users begin with, in this order."""
Work = Coroutine[Any, Any, Any]


class Subject(NamedTuple):
    """One compiler. ``populate`` puts in what users begin with; ``relations`` are the features of that, of which
    together with those of outcomes ``demanded`` must be seen often. ``touch``: a user writes what changes nothing.
    ``demands``: everything that the end of a history must fulfil; the features of its outcome."""

    loaded: Loaded
    begin: st.SearchStrategy[Any]
    populate: Callable[[SimulatedSystem, Begin], Work]
    relations: Callable[[list[Any]], set[str]]
    demanded: tuple[str, ...]
    users: st.SearchStrategy[Step]
    others: st.SearchStrategy[Step]
    faults: st.SearchStrategy[Step]
    touch: Callable[[SimulatedSystem], Work]
    demands: Callable[[SimulatedSystem], Coroutine[Any, Any, set[str]]]

    @property
    def steps(self) -> st.SearchStrategy[Step]:
        """Whatever can happen between the turns of an engine."""
        return st.one_of(self.users, self.users, self.others, self.faults, st.builds(Settle))


async def _apply_all(system: SimulatedSystem, manifests: Begin) -> None:
    for manifest in manifests:
        await gateways.apply_manifest(system, manifest)


async def _touch_project(system: SimulatedSystem) -> None:
    await system.put("project", resources.PROJECTS[0], {"display_name": "after-the-faults"})


async def _touch_service(system: SimulatedSystem) -> None:
    metadata = {"namespace": "after-the-faults", "name": "nobody-asks-for-it"}
    await gateways.apply_manifest(system, {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {}})


SUBJECTS = {
    "ambassador": Subject(
        loaded=gateway_steps.LOADED,
        begin=gateway_steps.begins(),
        populate=_apply_all,
        relations=gateway_steps.relations,
        demanded=("group", "problems", "elements"),
        users=gateway_steps.users_steps,
        others=gateway_steps.drift_steps,
        faults=gateway_steps.fault_steps,
        touch=_touch_service,
        demands=gateway_demands.check_all,
    ),
    "contrail": Subject(
        loaded=simulated_system.LOADED,
        begin=resources.tenants(),
        populate=SimulatedSystem.put_all,
        relations=resources.relations,
        demanded=("cross reference", "forward reference", "merged object"),
        users=steps.users_steps,
        others=steps.drift_steps,
        faults=steps.fault_steps,
        touch=_touch_project,
        demands=demands.check_all,
    ),
}
CONTRAIL = SUBJECTS["contrail"]
