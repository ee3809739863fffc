"""Applies resources of files to an ``Offline``, with errors that name the files.

All of them together, or for ``compile --keep-going`` those that are not rejected. It applies resources to the
``Offline`` that it gets, in memory. ``applying`` applies them at an API server.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from intentc.apiserver.errors import ApiError
    from intentc.loading.resources import Loaded as Input
    from intentc.model import InvalidInput
    from intentc.offline.offline import Offline


async def apply_inputs(offline: Offline, inputs: Sequence[Input], *, mirrored: bool = False) -> None:
    """Apply resources of files to an ``Offline`` at once. ``mirrored``: manifests keep their times, as if a bridge had
    brought them from a cluster. Raises ``InvalidInput`` naming those that are rejected."""
    from intentc.apiserver.errors import ApiError
    from intentc.model import InvalidInput, all_invalid

    try:
        await offline.apply(_creation(each, mirrored=mirrored) for each in inputs)
    except ApiError as error:
        if error.item is None:
            raise InvalidInput(error.message) from None
        raise all_invalid([rejection for _, rejection in _rejections(error, inputs)]) from None


async def apply_what_can_be(offline: Offline, inputs: Sequence[Input], *, mirrored: bool = False) -> list[InvalidInput]:
    """Apply the resources that are not rejected, and return the errors of the others; ``mirrored`` as above."""
    from intentc.apiserver.errors import ApiError

    left, errors = list(inputs), []
    while left:
        try:
            await offline.apply(_creation(each, mirrored=mirrored) for each in left)
        except ApiError as error:
            if error.item is None:
                raise
            rejected = _rejections(error, left)
            errors += [rejection for _, rejection in rejected]
            places = {place for place, _ in rejected}
            left = [resource for place, resource in enumerate(left) if place not in places]
        else:
            break
    return errors


def _creation(each: Input, *, mirrored: bool) -> dict[str, Any]:
    creation = {"kind": each.kind, "operation": "CREATE", "data": each.data}
    # ``moves`` is of manifests only; other kinds can't be mirrored.
    return {**creation, "mirror": True} if mirrored and each.moves is not None else creation


def _rejections(error: ApiError, inputs: Sequence[Input]) -> list[tuple[int, InvalidInput]]:
    """The index in ``inputs`` of each rejected resource, and its error."""
    from intentc.model import InvalidInput

    from .file_lines import place_of, with_resource_name

    found = []
    for item, detail in error.rejected or ((error.item or 0, error.detail),):
        resource = inputs[item]
        found.append((item, InvalidInput(with_resource_name(resource, detail), source=place_of(resource, detail))))
    return found
