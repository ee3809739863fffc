"""Any interleaving ends in what is demanded, with nothing left to write: as Hypothesis' state machines find it.

``make simulate`` runs many more; the profile ``long`` more of these.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.property.examples import Examples
from tests.property.profiles import share_of_histories
from tests.simulation.machines import Machine, served, stepped
from tests.simulation.subjects import SUBJECTS, Subject


@pytest.mark.parametrize("compiler", SUBJECTS)
@pytest.mark.parametrize(("form", "part"), [(stepped, 0.08), (served, 0.06)])
def test_any_interleaving_ends_as_demanded(
    form: Callable[[Subject, Examples], type[Machine]], part: float, compiler: str
) -> None:
    subject = SUBJECTS[compiler]
    examples = Examples(*subject.demanded)
    run_state_machine_as_test(
        form(subject, examples), settings=settings(share_of_histories(part), stateful_step_count=15)
    )
    examples.check()
