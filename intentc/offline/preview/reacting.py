"""What another reaction map would mean in the live world, before it is put in force.

Its edges, what can be proved of it, whom a change would reach with it, which reactions it would miss by what is really
read; and what would be written, which is found out by compiling a second copy with it.
"""

from __future__ import annotations

import msgspec

from intentc.loading.resources import ANSWER_VERSION
from intentc.logic import Service
from intentc.logic.coverage import Missing, coverage
from intentc.logic.dependencies import Finding, ReactionMap, findings
from intentc.logic.dependencies.check import SEVERITIES

from .planning import Told, written_otherwise
from .reach import EdgeChange, Reach, compared
from .report import FORMAT, Change
from .trial import Trial


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Another map of ``compiler``, at ``revision``. ``against``: which map it was compared with, for people.
    ``edges``: those that come or go; ``findings``: what can be proved of the new map, its errors first; ``reach``:
    whom changes reach. Reactions that a map has not though somebody reads: ``missing`` in the new map alone,
    ``mended`` by it, ``still_missing``. ``writes``: what would be written."""

    api_version: str = msgspec.field(default=ANSWER_VERSION, name="apiVersion")
    format_version: str = msgspec.field(default=FORMAT, name="formatVersion")
    revision: int
    installation: str
    compiler: str
    against: str = ""
    edges: tuple[EdgeChange, ...] = ()
    findings: tuple[Finding, ...] = ()
    reach: tuple[Reach, ...] = ()
    missing: tuple[Missing, ...] = ()
    mended: tuple[Missing, ...] = ()
    still_missing: tuple[Missing, ...] = ()
    writes: tuple[Change, ...] = ()

    @property
    def invalid(self) -> bool:
        """Whether something about the new map is an error."""
        return any(finding.severity == SEVERITIES[0] for finding in self.findings)


async def compare(compiler: str, before: Trial, after: Trial, *, told: Told = lambda text: None) -> Comparison:
    """``before``: a trial with the map in force; ``after``: one over the same world with the new map."""
    old, new = before.loaded.reactions, after.loaded.reactions
    proved = tuple(findings(new, after.loaded.schema))
    comparison = Comparison(
        revision=before.start, installation=before.parts.installation, compiler=compiler, findings=proved
    )
    if comparison.invalid:
        return comparison
    told("compiling a copy of the world with the map in force")
    resting = await before.rest()
    told("following changes by both maps")
    logic = before.parts.logic
    changed, reach = compared(logic, old, new)
    told("comparing the maps with what was read")
    missing, former = _missing(logic, new), _missing(logic, old)
    told("compiling a second copy with the new map")
    writes = await written_otherwise(before, resting, after, await after.rest())
    return msgspec.structs.replace(
        comparison,
        edges=tuple(changed),
        reach=tuple(reach),
        missing=tuple(found for pair, found in missing.items() if pair not in former),
        mended=tuple(found for pair, found in former.items() if pair not in missing),
        still_missing=tuple(found for pair, found in missing.items() if pair in former),
        writes=writes,
    )


def _missing(logic: Service, reactions: ReactionMap) -> dict[tuple[str, str], Missing]:
    return {(one.reader, one.read): one for one in coverage(logic, reactions).missing}
