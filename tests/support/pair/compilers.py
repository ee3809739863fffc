"""The compilers ``east`` and ``west``: each compiles ``door`` by the property with its own name.

``hold`` puts the door on hold, ``fail`` raises, ``same`` also makes the lamp that the other one makes for this word;
every other word makes a beam, a lamp and two items of status that show it; without a word nothing is made.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from intentc import Claim, Compiler, Context, Fact, Intent, status

_HERE = Path(__file__).parent


class _Door(Intent):
    kind = "door"
    side = ""

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        word = getattr(self, self.side)
        if not word:
            return
        namespace, name = self.fq_name
        yield status.condition(self, self.side.capitalize(), word != "hold", "Word", word)
        if word == "hold":
            ctx.hold("as the test asked for")
        if word == "fail":
            raise RuntimeError("as the test asked for")
        yield Fact("lookout", name, word)
        yield self.owned(f"{self.side}_beam", (namespace, name), text=word)
        yield self.owned("lamp", (namespace, name if word == "same" else f"{name}-{self.side}"), text=self.side)
        yield status.field(self, self.side, word)


class EastDoor(_Door):
    side = "east"


class WestDoor(_Door):
    side = "west"


EAST, WEST = (
    Compiler(intent.side, [intent], schema_directories=[_HERE / "schemas"], reactions=_HERE / f"{intent.side}.yml")
    for intent in (EastDoor, WestDoor)
)
