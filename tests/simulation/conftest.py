"""The state machines search as the properties do, and tell how much their runs relate at the end."""

from __future__ import annotations

import os

from tests.property.profiles import load

load(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
