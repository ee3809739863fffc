"""The histories as Hypothesis' state machines: each rule is a sort of step, and the end of a run must be as demanded.

They say nothing that the strategies don't; they let Hypothesis choose what comes next, and shrink what fails.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.property.examples import Examples
from tests.property.steps import Settle, Step
from tests.simulation.faults import Fault, Happening, live_faults, moments
from tests.simulation.simulated_clock import simulated
from tests.simulation.simulated_system import SimulatedSystem
from tests.simulation.subjects import Subject
from tests.simulation.world import Simulation


class Machine(RuleBasedStateMachine):
    """A system in simulated time from the first rule to the end; ``examples`` counts the runs that got there."""

    def __init__(self, subject: Subject, system: Callable[[], SimulatedSystem], examples: Examples) -> None:
        super().__init__()
        self._subject = subject
        self._examples = examples
        self._stack = ExitStack()
        self._runner = self._stack.enter_context(simulated())
        self._began = self._failed = False
        self._related: set[str] = set()
        self.system = system()

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Let ``work`` be done in simulated time."""
        try:
            return self._runner.run(work)
        except BaseException:
            self._failed = True
            raise

    def set_up(self, begin: list[Any]) -> None:
        """Put in what users begin with."""
        self.do(self.system.start())
        self.do(self._subject.populate(self.system, begin))
        self._related = self._subject.relations(begin)
        self._began = True

    def teardown(self) -> None:
        try:
            if self._began and not self._failed:
                self._examples.note(self._related | self.do(self._subject.demands(self.system)))
        finally:
            self._stack.close()


def stepped(subject: Subject, examples: Examples) -> type[Machine]:
    """One task does everything, when it is let."""

    class SteppedMachine(Machine):
        def __init__(self) -> None:
            super().__init__(subject, lambda: SimulatedSystem(subject.loaded), examples)

        @initialize(begin=subject.begin)
        def begin(self, begin: list[Any]) -> None:
            self.set_up(begin)

        @rule(step=subject.users)
        def users_act(self, step: Step) -> None:
            self.do(step.apply(self.system))

        @rule(step=subject.others)
        def others_act(self, step: Step) -> None:
            self.do(step.apply(self.system))

        @rule(step=subject.faults)
        def something_fails(self, step: Step) -> None:
            self.do(step.apply(self.system))

        @rule()
        def the_compiler_works(self) -> None:
            self.do(Settle().apply(self.system))

    return SteppedMachine


def served(subject: Subject, examples: Examples) -> type[Machine]:
    """Two processes serve, and time passes between the rules."""

    class ServedMachine(Machine):
        system: Simulation

        def __init__(self) -> None:
            super().__init__(subject, lambda: Simulation(processes=2, subject=subject), examples)

        def _happens(self, step: Step | Fault, seconds: float) -> None:
            self.do(Happening(step, seconds).apply(self.system))

        @initialize(begin=subject.begin)
        def begin(self, begin: list[Any]) -> None:
            self.set_up(begin)

        @rule(step=subject.users, seconds=moments)
        def users_act(self, step: Step, seconds: float) -> None:
            self._happens(step, seconds)

        @rule(step=subject.others, seconds=moments)
        def others_act(self, step: Step, seconds: float) -> None:
            self._happens(step, seconds)

        @rule(step=st.one_of(subject.faults, live_faults), seconds=moments)
        def something_fails(self, step: Step | Fault, seconds: float) -> None:
            self._happens(step, seconds)

    return ServedMachine
