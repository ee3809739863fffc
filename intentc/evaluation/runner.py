"""Runs one evaluation and says what it came to; nothing that an author's code does gets past it (engine.md §4).

Claims are handed over only when ``evaluate`` has returned: a run that fails half way leaves no half of an output.
Who is run when, and what is done with the outcome, is the engine's business.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from pathlib import Path

from intentc.model import Claim, Fact, HeldInput, InvalidInput, Key, Name, ReferenceClaim, ResourceClaim, Schema, World
from intentc.model.reads import object_read

from .context import Context, Waiting
from .conversion import Converter, InvalidOutput
from .intent import Intent
from .limits import LimitExceeded, Limits
from .outcome import Outcome, Status
from .visibility import Visibility

EVALUATION_FAILED = "EvaluationFailed"
INVALID_OUTPUT = "InvalidOutput"
LIMIT_EXCEEDED = "LimitExceeded"
"""Reasons of the problems on an intent whose run failed."""

_HERE = Path(__file__).parent


class Runner:
    """Evaluates intents of the given kinds over one world. ``intents``: kind → the class that compiles it."""

    def __init__(
        self,
        schema: Schema,
        intents: Mapping[str, type[Intent]],
        world: World,
        *,
        installation: str,
        limits: Limits | None = None,
    ) -> None:
        self._intents = dict(intents)
        self._world = world
        self._installation = installation
        self._limits = limits or Limits()
        self._visibility = Visibility(schema)
        self._converter = Converter(self._visibility)

    def run(self, key: Key) -> Outcome:
        """Evaluate one intent. Raises nothing on account of the author's code; ``KeyError`` if no intent is known for
        the key's kind."""
        intent_type = self._intents[key.kind]
        context = Context(self._world, self._visibility, self._installation, key, self._limits)
        output = _Output(self._converter, self._limits)
        try:
            if not context.exists():
                return Outcome(key, Status.GONE, frozenset(context.reads))
            for item in intent_type(context, key).evaluate(context):
                output.accept(item)
            if context.interruption is not None:
                raise context.interruption
        except (Exception, SystemExit) as error:
            return _interrupted(context, context.interruption or error, intent_type)
        return Outcome(
            key,
            Status.DONE,
            frozenset(context.reads),
            tuple(output.claims),
            tuple(output.facts.values()),
            tuple(context.problems),
        )


class _Output:
    """What one run yielded so far, converted and counted."""

    def __init__(self, converter: Converter, limits: Limits) -> None:
        self._converter = converter
        self._limits = limits
        self._size = 0
        self._objects = 0
        self._own: set[Name] = set()
        self.claims: list[Claim] = []
        self.facts: dict[tuple[str, str], Fact] = {}

    def accept(self, item: object) -> None:
        match item:
            case ResourceClaim():
                resource, size = self._converter.resource(item)
                self._objects += 1
                self._own.add(resource.name)
                self.claims.append(resource)
            case ReferenceClaim():
                reference, size = self._converter.reference(item, self._own)
                self.claims.append(reference)
            case Fact():
                fact, size = self._converter.fact(item)
                if self.facts.setdefault((fact.kind, fact.name), fact) != fact:
                    raise InvalidOutput(f"fact {fact.kind} {fact.name} is yielded twice with different values")
                self._objects += 1
            case _:
                raise InvalidOutput(f"evaluate yields {type(item).__name__}; it yields claims and facts")
        self._size += size
        if self._objects > self._limits.objects:
            raise LimitExceeded(f"more than {self._limits.objects:,} objects; one intent should make fewer")
        if self._size > self._limits.size:
            raise LimitExceeded(f"more than {self._limits.size:,} bytes of output; one intent should make less")


def _interrupted(context: Context, error: BaseException, intent_type: type[Intent]) -> Outcome:
    """The outcome of a run that did not come to its end."""
    reads = frozenset(context.reads)
    problems, wishes = tuple(context.problems), tuple(context.wishes)
    match error:
        case Waiting():
            return Outcome(context.key, Status.WAITING, reads, problems=problems, wishes=wishes, waiting_for=error.read)
        case HeldInput():
            held = object_read(error.key)
            return Outcome(context.key, Status.HELD, reads | {held}, problems=problems, waiting_for=held)
        case LimitExceeded():
            reason, message = LIMIT_EXCEEDED, str(error)
        case InvalidOutput():
            reason, message = INVALID_OUTPUT, str(error)
        case _:
            reason, message = EVALUATION_FAILED, _description(error)
    problem = context.problem_of(reason, f"{intent_type.__name__}: {message}")
    return Outcome(context.key, Status.FAILED, reads, problems=(*problems, problem))


def _description(error: BaseException) -> str:
    """The exception and the line of the author's code where it came up."""
    text = str(error) if isinstance(error, InvalidInput) else f"{type(error).__name__}: {error}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.parent != _HERE:
            return f"{text} ({path.name}:{frame.lineno})"
    return text
