"""Decides which members of a group take part in its route, and with which share: a pure function of the members.

The first by name that can be served decides what the group does. What another member must change is a problem of that
member (docs/ambassador.md §4.4, §5.13: Emissary reports it on the first one): it does not fit the first one, weighs too
much, or shadows nothing. ``until_repaired`` says what becomes of the requests until then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from .route_action import (
    WHOLE,
    Core,
    Forward,
    GroupMember,
    Redirect,
    RouteMatch,
    Share,
    Treatment,
    over_the_whole,
    proportions,
)

_NAMED = 3
"""Resources that a message names."""


class Rejection(msgspec.Struct, frozen=True):
    """A problem on the resource of ``member``."""

    member: GroupMember
    reason: str
    message: str


class Part(msgspec.Struct, frozen=True):
    """A part of the requests with one destination and one treatment."""

    share: Share
    treatment: Treatment
    weight: int


class Sharing(msgspec.Struct, frozen=True):
    """``leading``: the first member in effect, None if there is none. ``members``: those that take part. ``parts``: of
    the requests, empty for a redirect. ``mirror``: the member that gets copies, and of how many percent. Members
    without a leading one can't be served."""

    leading: GroupMember | None
    members: tuple[GroupMember, ...] = ()
    parts: tuple[Part, ...] = ()
    mirror: tuple[Share, int] | None = None
    rejections: tuple[Rejection, ...] = ()

    @property
    def redirect(self) -> Redirect | None:
        action = self.leading.action if self.leading is not None else None
        return action if isinstance(action, Redirect) else None

    @property
    def core(self) -> Core:
        action = self.leading.action if self.leading is not None else None
        return action.core if action is not None else Core()


def sharing(members: Iterable[GroupMember]) -> Sharing:
    """How the members of a group, sorted by name, share its requests."""
    everybody = list(members)
    serving = [member for member in everybody if not member.shadow]
    able = [member for member in serving if member.action is not None]
    shadows = [member for member in everybody if member.shadow and member.action is not None]
    if not able:
        alone = () if serving else shadows
        rejections = [Rejection(m, "NothingToShadow", "no Mapping without shadow matches the same") for m in alone]
        return Sharing(None, tuple(serving), rejections=tuple(rejections))
    leading = able[0]
    if isinstance(leading.action, Redirect):
        message = f"{leading.name} matches the same and redirects all; change one's match"
        rejections = [Rejection(member, "GroupRedirects", message) for member in (*able[1:], *shadows)]
        return Sharing(leading, (leading,), rejections=tuple(rejections))
    fitting, misfits = _fitting(able, leading)
    taken, overweight = _within_the_whole(fitting)
    mirroring, more = _mirroring(shadows)
    mirrors = [
        (one.action.share, WHOLE if one.weight is None else one.weight)
        for one in mirroring
        if isinstance(one.action, Forward)
    ]
    return Sharing(
        leading,
        (*taken, *mirroring),
        _parts(taken),
        mirrors[0] if mirrors else None,
        (*misfits, *overweight, *_without_weight(taken), *more),
    )


def until_repaired(member: GroupMember, shared: Iterable[tuple[RouteMatch, Sharing]]) -> str:
    """What becomes of the requests of a ``member`` without an action, in words. ``shared``: (match with its tables, how
    its requests are shared), of all tables of the group."""
    if member.shadow:
        return "it gets no copies of requests"
    is_rejected = False
    answering: list[str] = []
    for match, found in shared:
        if not set(match.tables).intersection(member.match.tables):
            continue
        if found.leading is None:
            is_rejected = True
        else:
            answering += [one.name for one in found.members if not one.shadow]
    names = sorted(set(answering))
    others = f"{' and '.join(names[:_NAMED])}{' and others' if len(names) > _NAMED else ''}"
    whose = f"by {others}, with the same match"
    if not is_rejected:
        return f"its requests are answered {whose}"
    if not answering:
        return "its requests are answered 503"
    return f"its requests are answered 503 where Hosts select it alone, and elsewhere {whose}"


def _fitting(able: Sequence[GroupMember], leading: GroupMember) -> tuple[list[GroupMember], list[Rejection]]:
    """(members that forward as the leading one does, rejections for the others)"""
    fitting, rejections = [], []
    for member in able:
        if mistake := _misfit(member, leading):
            rejections.append(Rejection(member, "DiffersFromGroup", mistake))
        else:
            fitting.append(member)
    return fitting, rejections


def _misfit(member: GroupMember, leading: GroupMember) -> str:
    """What prevents ``member`` from sharing a route with ``leading``, empty if nothing does."""
    if isinstance(member.action, Redirect):
        return f"{leading.name} matches the same and forwards; a redirect can't share with it: change one's match"
    assert member.action is not None and leading.action is not None, "those that can't be done are left out before"
    own, theirs = member.action.core, leading.action.core
    differing = [field for field in Core.__struct_fields__ if getattr(own, field) != getattr(theirs, field)]
    if not differing:
        return ""
    words = ", ".join(_FIELDS[field] for field in differing)
    return f"{leading.name} matches the same and has another {words}; write the same in both, or change one's match"


_FIELDS = {
    "bypass_auth": "bypass_auth",
    "auth_context_extensions": "auth_context_extensions",
    "rate_limits": "labels",
    "hash_on": "load_balancer",
}


def _within_the_whole(fitting: Sequence[GroupMember]) -> tuple[list[GroupMember], list[Rejection]]:
    """(members whose weights sum to 100 at most, rejections for the others)"""
    over = over_the_whole([member.weight for member in fitting])
    message = f"its weight takes the sum of the group over {WHOLE}; make it less, or that of the others"
    rejections = [Rejection(fitting[position], "WeightOver100", message) for position in sorted(over)]
    return [member for position, member in enumerate(fitting) if position not in over], rejections


def _parts(taken: Sequence[GroupMember]) -> tuple[Part, ...]:
    """The parts: a destination that is named twice gets both shares."""
    found: dict[tuple[Share, Treatment], int] = {}
    for member, part in zip(taken, proportions([member.weight for member in taken]), strict=True):
        assert isinstance(member.action, Forward), "only who forwards fits"
        place = (member.action.share, member.action.treatment)
        found[place] = found.get(place, 0) + part
    return tuple(Part(share, treatment, weight) for (share, treatment), weight in found.items())


def _without_weight(taken: Sequence[GroupMember]) -> list[Rejection]:
    """Reports shares that can't be intended."""
    weights = [member.weight for member in taken]
    if len(taken) > 1 and not any(weight is None or weight for weight in weights):
        message = "all Mappings of the group have the weight 0, so they share equally; give one of them a weight"
        return [Rejection(member, "NoWeight", message) for member in taken]
    message = f"the weights of the others add up to {WHOLE}, so it gets no requests; give it a weight"
    return [
        Rejection(member, "NoRequests", message)
        for member, part in zip(taken, proportions(weights), strict=True)
        if member.weight is None and not part
    ]


def _mirroring(shadows: Sequence[GroupMember]) -> tuple[list[GroupMember], list[Rejection]]:
    """(at most one member that gets copies, rejections for the others)"""
    mirroring: list[GroupMember] = []
    rejections = []
    for member in shadows:
        if isinstance(member.action, Redirect):
            rejections.append(Rejection(member, "IgnoredField", "a shadow does not redirect; remove host_redirect"))
        elif mirroring:
            message = f"{mirroring[0].name} shadows the same, and there can be one; remove one of them"
            rejections.append(Rejection(member, "SecondShadow", message))
        else:
            mirroring.append(member)
    return mirroring, rejections
