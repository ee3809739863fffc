"""Compares a new reaction map with the one in force, on copies of the live world.

The result has the changed edges, the findings of the new map, its reach, the reactions that it lacks by the recorded
reads, and the writes that it would cause, which a second copy compiled with the new map shows.

It lets the trials that it gets converge, in memory, and writes nothing else.
"""

from __future__ import annotations

import msgspec

from intentc.loading.resources import ANSWER_VERSION
from intentc.logic import LiveWorld
from intentc.logic.coverage import Missing, coverage
from intentc.logic.dependencies import Finding, ReactionMap, findings
from intentc.logic.dependencies.check import SEVERITIES

from .planning import Progress, written_otherwise
from .reach import EdgeChange, Reach, compared
from .report import FORMAT, Change
from .trial import Trial


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A new map of ``compiler``, compared at ``revision``. ``against``: the map it was compared with, for people.
    ``edges``: added and removed ones; ``findings``: of the new map, errors first; ``reach``: the intents that changes
    reach. Reactions that recorded reads need and a map lacks: ``missing`` in the new map alone, ``fixed`` by it,
    ``still_missing`` in both. ``writes``: what would be written."""

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
    fixed: tuple[Missing, ...] = ()
    still_missing: tuple[Missing, ...] = ()
    writes: tuple[Change, ...] = ()

    @property
    def invalid(self) -> bool:
        """Whether the new map has an error."""
        return any(finding.severity == SEVERITIES[0] for finding in self.findings)


async def compare(compiler: str, before: Trial, after: Trial, *, progress: Progress = lambda text: None) -> Comparison:
    """Compare two maps. ``before``: a trial with the map in force; ``after``: one over the same world with the new
    map."""
    old, new = before.loaded.reactions, after.loaded.reactions
    proved = tuple(findings(new, after.loaded.schema))
    comparison = Comparison(
        revision=before.start, installation=before.engine.world.installation, compiler=compiler, findings=proved
    )
    if comparison.invalid:
        return comparison
    progress("compiling a copy of the world with the map in force")
    resting = await before.rest()
    progress("following changes by both maps")
    world = before.engine.world
    changed, reach = compared(world, old, new)
    progress("comparing the maps with the recorded reads")
    missing, former = _missing(world, new), _missing(world, old)
    progress("compiling a second copy with the new map")
    writes = await written_otherwise(before, resting, after, await after.rest())
    return msgspec.structs.replace(
        comparison,
        edges=tuple(changed),
        reach=tuple(reach),
        missing=tuple(found for pair, found in missing.items() if pair not in former),
        fixed=tuple(found for pair, found in former.items() if pair not in missing),
        still_missing=tuple(found for pair, found in missing.items() if pair in former),
        writes=writes,
    )


def _missing(world: LiveWorld, reactions: ReactionMap) -> dict[tuple[str, str], Missing]:
    return {(one.reader, one.read): one for one in coverage(world, reactions).missing}
