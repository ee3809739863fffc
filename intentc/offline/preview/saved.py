"""A plan in a file: what was planned, from which input, and against which system.

The input is kept whole, as it was given, since it is needed to apply the plan: with the values of secrets. So the file
is for its owner's eyes only. Values that a plan doesn't show are in it as seals, so that another secret in their place
is noticed. It is no lock: whoever applies it makes the plan anew, and goes on only if that is the
same.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from intentc.loading.resources import ANSWER_VERSION
from intentc.model import InvalidInput

from .report import Plan

FORMAT = "1.0"
_BEGINNING = b'{"apiVersion":"' + ANSWER_VERSION.encode() + b'","savedPlan":'
_LOOKED_AT = 4096


class Text(msgspec.Struct, frozen=True):
    """A file of the input. ``source``: its name, for errors."""

    source: str
    text: str


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be carried out: create or update the resources in ``texts``, or ``delete`` them; or delete those of
    ``kind`` that ``names`` mean, after what refers to them has ``let_go``."""

    texts: tuple[Text, ...] = ()
    delete: bool = False
    kind: str = ""
    names: tuple[str, ...] = ()
    let_go: bool = False


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """``cluster_id`` and ``path``: where the resources lie that the plan was made over. ``salt``: of its seals."""

    api_version: str = msgspec.field(default=ANSWER_VERSION, name="apiVersion")
    saved_plan: str = msgspec.field(default=FORMAT, name="savedPlan")
    cluster_id: int
    path: str
    salt: str = ""
    input: Input
    plan: Plan


def write(file: Path, saved: Saved) -> None:
    """Write it, for this user only. Raises ``OSError``."""
    new = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(msgspec.json.encode(saved))
        new.replace(file)
    except OSError:
        new.unlink(missing_ok=True)
        raise


def is_saved(file: Path) -> bool:
    """Whether a file is a saved plan, be it as it was written or in another form of the same JSON."""
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
    """Raises ``InvalidInput`` for a plan of another format, or one that was changed by hand so that it can't be
    read."""
    content = file.read_bytes()
    try:
        version = msgspec.json.decode(content, type=_Version).version
        if version.partition(".")[0] != FORMAT.partition(".")[0]:
            raise InvalidInput(
                f"the plan has format {version}, this is for {FORMAT}; make another with this version", source=str(file)
            )
        return msgspec.json.decode(content, type=Saved)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"is no plan that can be read: {error}; make another", source=str(file)) from None


def deviations(planned: Saved, now: Saved) -> list[str]:
    """What makes a plan stale, for people; empty if it still holds."""
    for what, one, other in (
        ("the installation", planned.plan.installation, now.plan.installation),
        ("the path in etcd", planned.path, now.path),
        ("the etcd cluster", planned.cluster_id, now.cluster_id),
        ("the compilers' versions", _shown(planned.plan.versions), _shown(now.plan.versions)),
    ):
        if one != other:
            return [f"{what} was {one}, and is {other}"]
    then, today = _told(planned.plan), _told(now.plan)
    found = [f"no longer: {text}" for text in then if text not in today]
    found += [f"in another way: {text}" for text in then if text in today and then[text] != today[text]]
    found += [f"besides: {text}" for text in today if text not in then]
    return found


def _shown(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))


def _told(plan: Plan) -> dict[str, Any]:
    """Every change and number of a plan, by a text that says which."""
    found: dict[str, Any] = {}
    for following, changes in (("", plan.applied), (", which follows", plan.follows)):
        found |= {f"{one.action} {one.kind} {one.name}{following}": one for one in changes}
    found |= {f"{one.pool} {one.shown} {one.action} for {one.owner}": one for one in plan.numbers}
    for withheld in plan.withheld:
        found[f"deletes of {withheld.kind} withheld"] = withheld
    return found


class _Version(msgspec.Struct):
    version: str = msgspec.field(name="savedPlan")
