"""Collects why a Mapping or a Host takes no effect, from all intents that find out, and shows it in its status.

Each intent reports such problems through ``Faults``, and yields the facts at its end. The fact ``fault`` of a resource
is an intent of its own: it claims the status that Emissary's kinds have (docs/ambassador.md §4.7), and ends with its
last contribution. Other problems, such as fields without effect, are no faults.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from intentc import Claim, Context, Fact, Intent, Name, View, status

_STATUSES = {"mapping": ("Inactive", "reason"), "host": ("Error", "errorReason")}
"""Kind → the state of one with a fault, and the field for people."""
_LONGEST = 1024
"""Characters of all messages."""


class Faults:
    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._found: dict[str, dict[str, None]] = {}

    def report(self, resource: View, reason: str, message: str) -> None:
        """Report a problem of the evaluated resource, because of which it takes no effect."""
        self._ctx.problem(reason, message)
        self._note(resource.kind, ":".join(resource.fq_name), message)

    def report_on(self, kind: str, name: str, reason: str, message: str) -> None:
        """Report such a problem of another resource; ``name``: namespace:name."""
        self._ctx.problem_on(kind, name, reason, message)
        self._note(kind, name, message)

    def facts(self) -> Iterator[Fact]:
        for resource, messages in self._found.items():
            yield Fact("fault", resource, tuple(sorted(messages)))

    def _note(self, kind: str, name: str, message: str) -> None:
        if kind in _STATUSES:
            self._found.setdefault(f"{kind}/{name}", {})[self._ctx.redacted(message)] = None


class FaultIntent(Intent):
    kind = "fault"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        kind, _, name = self.uuid.partition("/")
        messages = sorted({message for _, found in ctx.contributions(self.kind, self.uuid) for message in found})
        state, field = _STATUSES[kind]
        text = "; ".join(messages)
        owner = Name(kind, tuple(name.split(":")))
        yield status.field(owner, "state", state)
        yield status.field(owner, field, text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")
