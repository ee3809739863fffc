"""Lets a rejected Ingress back in when anything that it asks for has changed, or when nobody asks for it any more.

What an Ingress says is compared by the compiler as well; what is behind it (probes, settings, pools) only here, since
the compiler leaves it out before it knows. An Ingress whose Pods come and go would be tried at each of their changes,
and each try costs a rejected document: such tries back off (docs/appgw.md §11). ``rejections`` decides which
Ingress is left out.

State: the tries of each rejected Ingress in this process.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from intentc.reconcile.backoff import Backoff
from intentc.reconcile.failures import Conflict, Rejected

from .compiled_world import Digests, World
from .rejections import RejectionRecords

_LOG = logging.getLogger(__name__)
_TRIES = Backoff(5.0, 300.0)


class RetriedIngresses:
    """``clock``: seconds."""

    def __init__(self, records: RejectionRecords, clock: Callable[[], float]) -> None:
        self._records = records
        self._clock = clock
        self._tries: dict[str, tuple[int, float]] = {}
        """Ingress → how often it was tried, and when it may be again."""

    async def release(self, world: World) -> None:
        """Remove the records of Ingresses that ask for something else now. One that can't be removed holds up no other,
        and is tried again in the next pass."""
        changed = self._changed(world, world.rejected)
        for ingress in sorted(changed):
            try:
                await self._records.release(ingress)
            except (Rejected, Conflict) as error:
                _LOG.warning("the record appgw_rejection %s can't be deleted: %s", ingress, error)
        gone = self._tries.keys() - world.said.keys() - (world.rejected.keys() - set(changed))
        for ingress in (world.served & self._tries.keys()) | gone:
            del self._tries[ingress]

    def _changed(self, world: World, rejected: Mapping[str, Digests]) -> list[str]:
        found = []
        for ingress, then in rejected.items():
            now = world.digests(ingress)
            if now.said != then.said or (now.content != then.content and self._may_try(ingress)):
                found.append(ingress)
        return found

    def _may_try(self, ingress: str) -> bool:
        count, next_at = self._tries.get(ingress, (0, 0.0))
        if self._clock() < next_at:
            return False
        self._tries[ingress] = (count + 1, self._clock() + _TRIES.seconds(count + 1))
        return True
