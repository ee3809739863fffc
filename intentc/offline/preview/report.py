"""Defines the report of a plan, and saves a plan in a file, with its input and the system that it was made against.

The report names and shows only what may be shown. The file contains the whole input, including secrets, since applying
the plan needs it; only its owner may read it. Values that a plan doesn't show are in it as seals, so that a changed
secret is noticed. A saved plan locks nothing: ``apply`` makes the plan again and continues only if it is the same.

That one file is replaced as a whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from intentc.inspection.differences import Field
from intentc.loading.resource_files import ANSWER_VERSION
from intentc.model import InvalidInput, Problem

FORMAT = "1.1"

CREATE, UPDATE, DELETE = "create", "update", "delete"


class Owner(msgspec.Struct, frozen=True, order=True):
    """A resource that causes a change. ``name``: its fq_name joined by ``:``."""

    kind: str
    name: str


class Change(msgspec.Struct, frozen=True):
    """A resource that is created, updated or deleted. ``uuid``: None if only the server can choose it. ``fields``: the
    differing ones. ``because``: the first few resources that cause it; empty for changes by people. ``remarks``: what
    the compiler says that the change means. ``seal``: a digest of the concealed values, equal for equal values; only in
    saved plans."""

    action: str
    kind: str
    name: str
    uuid: str | None
    fields: tuple[Field, ...] = ()
    because: tuple[Owner, ...] = ()
    remarks: tuple[str, ...] = ()
    seal: str | msgspec.UnsetType = msgspec.UNSET

    @property
    def order(self) -> tuple[str, str, str]:
        return self.kind, self.name, self.action


class PlannedAllocation(msgspec.Struct, frozen=True):
    """A number that is ``given`` to (or ``freed`` by) an owner. ``shown``: the number if it is known, else its
    placeholder in this plan."""

    action: str
    pool: str
    owner: str
    shown: str


class Withheld(msgspec.Struct, frozen=True):
    """A mass deletion of a kind that waits for ``intentc allow-deletes KIND``; the plan does not contain it."""

    kind: str
    count: int


class Summary(msgspec.Struct, frozen=True):
    """How many resources people and compilers together create, update and delete; each counts once."""

    create: int = 0
    update: int = 0
    delete: int = 0

    @property
    def nothing(self) -> bool:
        return not (self.create or self.update or self.delete)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What an input would write at ``revision``. ``applied``: the input's own changes; ``follows``: what compilers and
    the API server then write; ``due``: what compilers are about to write without it. ``problems``: new ones;
    ``resolved``: former ones. ``unmade``: how many intents and objects are held, rejected or waiting after the input
    and were not before it. ``seconds``: how long planning took."""

    api_version: str = msgspec.field(default=ANSWER_VERSION, name="apiVersion")
    format_version: str = msgspec.field(default=FORMAT, name="formatVersion")
    revision: int
    installation: str
    versions: Mapping[str, str]
    applied: tuple[Change, ...] = ()
    follows: tuple[Change, ...] = ()
    due: tuple[Change, ...] = ()
    problems: tuple[Problem, ...] = ()
    resolved: tuple[Problem, ...] = ()
    allocations: tuple[PlannedAllocation, ...] = ()
    withheld: tuple[Withheld, ...] = ()
    unmade: int = 0
    summary: Summary = Summary()
    seconds: float = 0.0

    @property
    def due_summary(self) -> Summary:
        """What is due, counted as ``summary`` counts the rest."""
        return summary_of(self.due)

    def document(self) -> dict[str, Any]:
        """Return plain JSON for people, without seals."""
        found = msgspec.to_builtins(self)
        assert isinstance(found, dict)
        for change in (*found["applied"], *found["follows"], *found["due"]):
            change.pop("seal", None)
        return found


def summary_of(changes: Iterable[Change]) -> Summary:
    """Count the resources that ``changes`` finally create, update and delete."""
    actions: dict[tuple[str, str, str | None], set[str]] = {}
    for change in changes:
        actions.setdefault((change.kind, change.name, change.uuid), set()).add(change.action)
    # A resource that people create and compilers update is created.
    final = [next(action for action in (CREATE, DELETE, UPDATE) if action in done) for done in actions.values()]
    return Summary(final.count(CREATE), final.count(UPDATE), final.count(DELETE))


SAVED_FORMAT = "1.0"
_BEGINNING = b'{"apiVersion":"' + ANSWER_VERSION.encode() + b'","savedPlan":'
_LOOKED_AT = 4096


class Text(msgspec.Struct, frozen=True):
    """A file of the input. ``source``: its name, for errors."""

    source: str
    text: str


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """An input: create or update the resources in ``texts``, or ``delete`` them; or delete the resources of ``kind``
    called ``names``, with ``remove_references`` after removing the references to them."""

    texts: tuple[Text, ...] = ()
    delete: bool = False
    kind: str = ""
    names: tuple[str, ...] = ()
    remove_references: bool = False


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """``cluster_id`` and ``path``: the etcd and the path of the resources. ``salt``: of the plan's seals."""

    api_version: str = msgspec.field(default=ANSWER_VERSION, name="apiVersion")
    saved_plan: str = msgspec.field(default=SAVED_FORMAT, name="savedPlan")
    cluster_id: int
    path: str
    salt: str = ""
    input: Input
    plan: Plan


def write(file: Path, saved: Saved) -> None:
    """Write a plan that only this user may read. Raises ``OSError``."""
    new = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(msgspec.json.encode(saved))
        new.replace(file)
    except OSError:
        new.unlink(missing_ok=True)
        raise


def is_saved(file: Path) -> bool:
    """Return whether a file is a saved plan, also if its JSON was reformatted."""
    try:
        with file.open("rb") as stream:
            beginning = stream.read(_LOOKED_AT)
            if beginning.startswith(_BEGINNING):
                return True
            if not beginning.lstrip().startswith(b"{"):
                return False
            msgspec.json.decode(beginning + stream.read(), type=_Version)
    except (OSError, msgspec.DecodeError):
        return False
    return True


def read(file: Path) -> Saved:
    """Read a plan. Raises ``InvalidInput`` for another format or an unreadable file."""
    content = file.read_bytes()
    try:
        version = msgspec.json.decode(content, type=_Version).version
        if version.partition(".")[0] != SAVED_FORMAT.partition(".")[0]:
            raise InvalidInput(
                f"the plan has format {version}, this version reads {SAVED_FORMAT}; make a new plan", source=str(file)
            )
        return msgspec.json.decode(content, type=Saved)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"the saved plan can't be read: {error}; make a new plan", source=str(file)) from None


def deviations(planned: Saved, now: Saved) -> list[str]:
    """Return what makes a plan stale, for people; empty if it is still valid."""
    for what, one, other in (
        ("the installation", planned.plan.installation, now.plan.installation),
        ("the path in etcd", planned.path, now.path),
        ("the etcd cluster", planned.cluster_id, now.cluster_id),
        ("the compilers' versions", _shown(planned.plan.versions), _shown(now.plan.versions)),
    ):
        if one != other:
            return [f"{what} was {one}, and is {other}"]
    then, today = _entries(planned.plan), _entries(now.plan)
    found = [f"no longer: {text}" for text in then if text not in today]
    found += [f"different: {text}" for text in then if text in today and then[text] != today[text]]
    found += [f"in addition: {text}" for text in today if text not in then]
    return found


def _shown(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))


def _entries(plan: Plan) -> dict[str, Any]:
    """Return every change and number of a plan by a text that identifies it."""
    found: dict[str, Any] = {}
    for following, changes in (("", plan.applied), (", which follows", plan.follows)):
        found |= {f"{one.action} {one.kind} {one.name}{following}": one for one in changes}
    found |= {f"{one.pool} {one.shown} {one.action} for {one.owner}": one for one in plan.allocations}
    for withheld in plan.withheld:
        found[f"deletes of {withheld.kind} withheld"] = withheld
    return found


class _Version(msgspec.Struct):
    version: str = msgspec.field(name="savedPlan")
