"""Which documents that were sent to the stand-in for Azure change nothing, for tests of faults."""

from __future__ import annotations

from typing import Any

from intentc.bridges.azure.normalize import differing_parts
from intentc.bridges.azure.pfx import Pair


def changes_something(former: dict[str, Any], sent: dict[str, Any], certificate: Pair, filled_in: str) -> bool:
    """Whether a document means something else than the one before, or rotates the certificate. ``certificate``: what
    the Secret holds; ``filled_in``: the collection to which Azure adds members."""
    public = {
        one["name"]: one["properties"].get("publicCertData", "") for one in former["properties"]["sslCertificates"]
    }
    rotates = any(
        "data" in one["properties"] and not certificate.is_in(public.get(one["name"], ""))
        for one in sent["properties"]["sslCertificates"]
    )
    # What Azure filled in is no difference.
    differing = [part for part in differing_parts(sent, former) if not part.startswith(f"{filled_in}/")]
    return rotates or bool(differing)
