"""Stage 2: a change of the world in, the intents that it concerns out."""

from .concerned import Concerned, Job
from .service import Service

__all__ = ["Concerned", "Job", "Service"]
