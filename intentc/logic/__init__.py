"""Stage 2: applies changes of the world and finds the intents that they affect."""

from .concerned import Concerned, Job
from .service import Service

__all__ = ["Concerned", "Job", "Service"]
