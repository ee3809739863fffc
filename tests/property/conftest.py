"""How long the properties search: ``ci`` (the default, the same examples every time) or ``HYPOTHESIS_PROFILE=long``."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

COMMON = {
    "deadline": None,  # the machine may be busy; time is not what is tested
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
settings.register_profile("ci", derandomize=True, max_examples=100, **COMMON)
settings.register_profile("long", max_examples=2000, **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
