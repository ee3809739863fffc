"""Runs one evaluation (for outputs, for the facts of a held intent, or for reasons) and returns its outcome; no error
in an author's code escapes it (docs/engine.md §4).

Claims are returned only when ``evaluate`` has returned: a run that fails half-way leaves no partial output, except for
claims on status and finalizers of an intent that is on hold or ends. All functions that may run author's code are
marked as ``guarded``, so that their time is bounded in processes that enforce budgets (``budget.py``); that includes
the text of an exception and the end of a generator. The engine decides what runs when, and what happens with the
outcome.
"""

from __future__ import annotations

import enum
import traceback
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from typing import NamedTuple, TypeVar, TypeVarTuple

import msgspec

from intentc.model import (
    Claim,
    Fact,
    FinalizerClaim,
    HeldInput,
    InvalidInput,
    Key,
    Name,
    Problem,
    PropertyClaim,
    Read,
    Reason,
    ReferenceClaim,
    RelationClaim,
    ResourceClaim,
    Schema,
    StatusClaim,
    World,
)
from intentc.model.reads import object_read

from .author_lines import author_line, author_trace, came_from_keyboard
from .budget import PROCESS, Budget, BudgetExceeded, LimitExceeded, Limits, guarded
from .context import AllocationRequest, Context, OnHold, Waiting
from .conversion import Converter, InvalidOutput
from .crash_marker import CrashMarker
from .intent import Intent, with_fields
from .visibility import Visibility


class Status(enum.Enum):
    """DONE: ``claims`` and ``facts`` replace the former ones. WAITING, FAILED, HELD: the former ones stay
    (docs/engine.md §4.2, §7), and the reads are added to the former ones. ON_HOLD: the same, by the intent's own
    decision (docs/engine.md §4.5). DELETED: the intent was deleted; nothing is claimed. ENDING: its
    resource is being deleted, and the run did not complete; ``claims`` replace the former ones, except for finalizers,
    and the facts stay (docs/engine.md §14.1)."""

    DONE = "done"
    WAITING = "waiting"
    FAILED = "failed"
    HELD = "held"
    ON_HOLD = "on_hold"
    DELETED = "deleted"
    ENDING = "ending"


class Outcome(NamedTuple):
    """The result of one run. ``reads``: everything that was read until the run ended, absence included.

    ``claims`` and ``facts`` are empty unless ``status`` is DONE; of an intent ON_HOLD, ``claims`` has what it claims of
    status, of one that is ENDING also what it claims of finalizers. ``waiting_for``: the read that wakes a WAITING
    intent, or the object that makes an intent HELD."""

    key: Key
    status: Status
    reads: frozenset[Read]
    claims: tuple[Claim, ...] = ()
    facts: tuple[Fact, ...] = ()
    problems: tuple[Problem, ...] = ()
    requests: tuple[AllocationRequest, ...] = ()
    waiting_for: Read | None = None


class Explained(NamedTuple):
    """A run made to explain the outputs. ``reasons``: object → the author's reasons for it, in order. ``begun``: what
    the run yielded before it ended, complete or not."""

    outcome: Outcome
    reasons: Mapping[Name, tuple[Reason, ...]]
    begun: tuple[Claim, ...]


EVALUATION_FAILED = "EvaluationFailed"
INVALID_OUTPUT = "InvalidOutput"
LIMIT_EXCEEDED = "LimitExceeded"
BUDGET_EXCEEDED = "BudgetExceeded"
ON_HOLD = "OnHold"
"""Reasons of the problems on an intent whose run failed."""
REASONS_UNAVAILABLE = "ReasonsUnavailable"
"""The run failed only when it was made to explain the outputs."""

_OF_ENDING = (FinalizerClaim, StatusClaim)
"""The claims of an intent whose resource is being deleted."""
_LONGEST_TEXT = 200

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")


class Runner:
    """Evaluates intents of the given kinds over one world. ``intents``: kind → the class that compiles it.

    ``budget``: bounds the time of evaluations. ``crash_marker``: marks the key under evaluation for the process after
    this one. ``finalizers``: the names that compilers declare. ``kinds_in_order``: the kinds whose intents make nothing
    more for a resource that is being deleted.
    """

    def __init__(
        self,
        schema: Schema,
        intents: Mapping[str, type[Intent]],
        world: World,
        *,
        installation: str,
        limits: Limits | None = None,
        budget: Budget = PROCESS,
        crash_marker: CrashMarker | None = None,
        finalizers: Collection[str] = (),
        kinds_in_order: Collection[str] = (),
    ) -> None:
        self._world = world
        self._kinds_in_order = frozenset(kinds_in_order)
        self._installation = installation
        self._limits = limits or Limits()
        self._when_asked = self._limits.when_asked
        self._silent: dict[Key, Outcome] = {}
        """Intents in their present state that failed when they were explained."""
        self._budget = budget
        self._slot = crash_marker
        self._visibility = Visibility(schema)
        self._intents = {kind: with_fields(i, self._visibility.fields(kind)) for kind, i in intents.items()}
        self._converter = Converter(self._visibility, frozenset(finalizers))

    def run(self, key: Key) -> Outcome:
        """Evaluate one intent. The author's code makes it raise nothing but ``KeyboardInterrupt`` after Ctrl-C; raises
        ``KeyError`` if no intent is known for the key's kind."""
        self._silent.pop(key, None)
        return self.recall(key, self._world)

    def recall(self, key: Key, last_good: World) -> Outcome:
        """Evaluate a held intent over ``last_good``, for its facts; raises as ``run``."""
        context = Context(last_good, self._visibility, self._installation, key, self._limits)
        return self._run(context, _Output(self._converter, self._limits))

    def explain(self, key: Key) -> Explained:
        """Evaluate one intent to find the reasons for its outputs. Only a failure is remembered: the intent is then not
        explained again before its next ordinary run. Raises as ``run``."""
        if key in self._silent:
            return Explained(self._silent[key], {}, ())
        context = Context(self._world, self._visibility, self._installation, key, self._when_asked, explaining=True)
        output = _Output(self._converter, self._limits)
        outcome = self._run(context, output)
        if outcome.status is Status.FAILED:
            self._silent[key] = outcome
        reasons: dict[Name, dict[Reason, None]] = {}
        for name, reason in context.reasons:
            reasons.setdefault(name, {})[reason] = None
        return Explained(outcome, {name: tuple(given) for name, given in reasons.items()}, tuple(output.claims))

    def failed_explanation(self, key: Key) -> Problem | None:
        """Why explaining this intent in its present state failed, if it did."""
        outcome = self._silent.get(key)
        if outcome is None:
            return None
        message = f"its reasons are unavailable, its own resource stands for them: {outcome.problems[-1].message}"
        return msgspec.structs.replace(outcome.problems[-1], reason=REASONS_UNAVAILABLE, message=message)

    def _run(self, context: Context, output: _Output) -> Outcome:
        key = context.key
        intent_type = self._intents[key.kind]
        if self._slot is not None:
            self._slot.begin(key)
        self._budget.begin(context)
        try:
            return self._without_children(context, _evaluate(intent_type, context, output), output)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and came_from_keyboard(error):
                raise
            outcome = _interrupted(context, output, error, intent_type)
            return self._without_children(context, outcome, output)
        finally:
            self._budget.end()
            if self._slot is not None:
                self._slot.end()

    def _without_children(self, context: Context, outcome: Outcome, output: _Output) -> Outcome:
        """The outcome of an intent whose resource is being deleted: nothing is made for it any more, whatever its
        evaluation yields. One that does not complete must not hold up the end of what it made."""
        if context.key.kind not in self._kinds_in_order or outcome.status is Status.DELETED:
            return outcome
        is_ending = context.is_being_deleted()
        outcome = outcome._replace(reads=outcome.reads | context.reads)
        if not is_ending:
            return outcome
        claims = tuple(claim for claim in output.claims if isinstance(claim, _OF_ENDING))
        status = outcome.status if outcome.status is Status.DONE else Status.ENDING
        return outcome._replace(status=status, claims=claims, requests=(), waiting_for=None)


@guarded
def _evaluate(intent_type: type[Intent], context: Context, output: _Output) -> Outcome:
    """The outcome of a run that completes; raises what interrupts it."""
    key = context.key
    if not context.exists():
        return Outcome(key, Status.DELETED, frozenset(context.reads))
    output.items = intent_type(context, key).evaluate(context)
    for item in output.items:
        output.accept(item, context)
    if context.overrun:
        raise BudgetExceeded(context.overrun)
    if context.interruption is not None:
        raise context.interruption
    return Outcome(
        key,
        Status.DONE,
        frozenset(context.reads),
        tuple(output.claims),
        tuple(output.facts.values()),
        tuple(context.problems),
    )


class _Output:
    """What one run has yielded so far, converted and counted."""

    def __init__(self, converter: Converter, limits: Limits) -> None:
        self._converter = converter
        self._limits = limits
        self._size = 0
        self._objects = 0
        self._own: set[Name] = set()
        self.items: Iterable[Claim | Fact] = ()
        """The result of ``evaluate``: kept, so that a generator that did not finish isn't closed somewhere without a
        time limit."""
        self.claims: list[Claim] = []
        self.facts: dict[tuple[str, str], Fact] = {}

    def accept(self, item: object, context: Context) -> None:
        claim: Claim | None = None
        match item:
            case ResourceClaim():
                claim, size = self._converter.resource(item)
                self._objects += 1
                self._own.add(claim.name)
            case ReferenceClaim():
                claim, size = self._converter.reference(item, self._own)
            case PropertyClaim():
                claim, size = self._converter.property(item)
            case RelationClaim():
                claim, size = self._converter.relation(item)
            case FinalizerClaim():
                claim, size = self._converter.finalizer(item)
            case StatusClaim():
                claim, size = self._converter.status(self._about_now(item, context))
            case Fact():
                fact, size = self._converter.fact(item)
                if self.facts.setdefault((fact.kind, fact.name), fact) != fact:
                    raise InvalidOutput(f"fact {fact.kind} {fact.name} is yielded twice with different values")
                self._objects += 1
            case _:
                raise InvalidOutput(f"evaluate yields {type(item).__name__}; it yields claims and facts")
        if claim is not None:
            self.claims.append(claim)
        self._size += size
        if self._objects > self._limits.objects:
            raise LimitExceeded(f"more than {self._limits.objects:,} objects; one intent should make fewer")
        if self._size > self._limits.size:
            raise LimitExceeded(f"more than {self._limits.size:,} bytes of output; one intent should make less")

    def _about_now(self, claim: StatusClaim, context: Context) -> StatusClaim:
        """The claim without sensitive values, as a problem's message, and with the generation that was read."""
        value = claim.value
        if isinstance(value, str):
            value = context.redacted(value)
        elif isinstance(value, dict) and isinstance(value.get("message"), str):
            value = {**value, "message": context.redacted(value["message"])}
        generation = context.generation(claim.holder) if self._converter.observes(claim) else 0
        return claim._replace(value=value, generation=generation)


def _interrupted(context: Context, output: _Output, error: BaseException, intent_type: type[Intent]) -> Outcome:
    """The outcome of a run that did not complete."""
    _contained(_let_go, output, error)
    outcome = None
    if not context.overrun:
        outcome = _contained(_interpreted, context, output, context.interruption or error, intent_type)
    context.interruption = None
    # From here on no author's code runs any more, not even for the text of an exception.
    if context.overrun:
        return _failed(context, intent_type, BUDGET_EXCEEDED, context.overrun)
    return outcome or _failed(context, intent_type, EVALUATION_FAILED, type(error).__name__)


def _contained(function: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result | None:
    """The result of a guarded ``function``, None if it fails."""
    try:
        return function(*arguments)
    except BaseException:
        return None


@guarded
def _let_go(output: _Output, error: BaseException) -> None:
    """Close the generators and locals of the author's code here, and not wherever the collector finds them."""
    items, output.items = output.items, ()
    try:
        if isinstance(items, Generator):
            items.close()
    finally:
        traceback.clear_frames(error.__traceback__)


@guarded
def _interpreted(context: Context, output: _Output, error: BaseException, intent_type: type[Intent]) -> Outcome:
    reads, problems = frozenset(context.reads), tuple(context.problems)
    match error:
        case Waiting():
            requests = tuple(context.requests)
            return Outcome(
                context.key, Status.WAITING, reads, problems=problems, requests=requests, waiting_for=error.read
            )
        case HeldInput():
            held = object_read(error.key)
            return Outcome(context.key, Status.HELD, reads | {held}, problems=problems, waiting_for=held)
        case OnHold():
            problem = context.problem_of(ON_HOLD, str(error))
            claims = tuple(claim for claim in output.claims if isinstance(claim, StatusClaim))
            return Outcome(context.key, Status.ON_HOLD, reads, claims, problems=(*problems, problem))
        case LimitExceeded():
            reason, message = LIMIT_EXCEEDED, str(error)
        case InvalidOutput():
            reason, message = INVALID_OUTPUT, str(error)
        case _:
            message = _description(context, error)
            failed = _failed(context, intent_type, EVALUATION_FAILED, message)
            trace = tuple(map(context.redacted, (*author_trace(error), message)))
            *others, last = failed.problems
            return failed._replace(problems=(*others, msgspec.structs.replace(last, trace=trace)))
    return _failed(context, intent_type, reason, message)


def _failed(context: Context, intent_type: type[Intent], reason: str, message: str) -> Outcome:
    problem = context.problem_of(reason, f"{intent_type.__name__}: {message}")
    return Outcome(context.key, Status.FAILED, frozenset(context.reads), problems=(*context.problems, problem))


def _description(context: Context, error: BaseException) -> str:
    """The exception, shortened since some quote whole values, and the line of the author's code that raised it."""
    text = context.redacted(str(error))
    text = text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"
    if not isinstance(error, InvalidInput):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    place = author_line(reversed(list(traceback.walk_tb(error.__traceback__))))
    return f"{text} ({place})" if place else text
