"""How long the properties search: ``ci`` (the default, the same examples every time) or ``HYPOTHESIS_PROFILE=long``.

A failing example prints the blob that replays it (``@reproduce_failure``).
"""

from __future__ import annotations

import os

from tests.property.profiles import load

load(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
