"""Settings from the environment: ``INTENTC_ETCD__PASSWORD`` sets ``etcd.password``.

Why it exists: containers get their secrets and addresses so. A variable stands for a key by its path in capitals with
two underscores between the parts; it wins over the file. What keys there are is known to ``building`` alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

PREFIX = "INTENTC_"
_SEPARATOR = "__"
_FILE_SUFFIX = "_file"


def overlay(raw: dict[str, Any], environ: Mapping[str, str], scalars: Iterable[str]) -> dict[tuple[str, ...], str]:
    """Put what ``environ`` sets into ``raw`` (in place) and return key path → variable.

    A variable without two underscores counts only if it names one of ``scalars``, the top level's single values:
    orchestrators put variables such as ``INTENTC_PORT`` into every container beside a service of that name.
    """
    wanted = set(scalars)
    found: dict[tuple[str, ...], str] = {}
    for variable in sorted(environ):
        if not variable.startswith(PREFIX):
            continue
        path = tuple(part.lower() for part in variable.removeprefix(PREFIX).split(_SEPARATOR))
        if len(path) == 1 and path[0] not in wanted:
            continue
        holder = raw
        for part in path[:-1]:
            below = holder.get(part)
            if not isinstance(below, dict):
                below = holder[part] = {}
            holder = below
        # What the file says by the other spelling of the key is overridden, too.
        key = path[-1]
        holder.pop(key.removesuffix(_FILE_SUFFIX) if key.endswith(_FILE_SUFFIX) else key + _FILE_SUFFIX, None)
        holder[key] = environ[variable]
        found[path] = variable
    return found
