"""The configuration file of a running ``intentc dev``, for commands in other terminals.

Why it exists: what ``dev`` runs with is partly its own (ports, compilers, the settings of a gateway for this machine),
and whoever asks with other settings gets another answer: an audit would find differences that are none. One file says
all of it, so that one ``export`` is enough. What a configuration means is ``configuration``'s business.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from intentc.loading.configuration import Configuration


@contextmanager
def written(configuration: Configuration) -> Iterator[Path]:
    """A file that names the servers of ``configuration`` and has its whole section ``intentc``; gone after the block.

    It is for its owner only: settings may hold what is not for everybody.
    """
    with TemporaryDirectory(prefix="intentc-dev-") as folder:
        path = Path(folder) / "intentc.yml"
        path.touch(mode=0o600)
        path.write_bytes(msgspec.yaml.encode(_said(configuration), enc_hook=str))
        yield path


def _said(configuration: Configuration) -> dict[str, Any]:
    own: dict[str, Any] = msgspec.to_builtins(configuration.intentc, enc_hook=str)
    # Served on loopback, in clear text and to everybody who is there, whatever a service would do.
    own["diagnostics"] = {"address": str(configuration.intentc.diagnostics.address)}
    # Another terminal may stand in another folder.
    own["schemas"] = [str(Path(folder).resolve()) for folder in own["schemas"]]
    own["reactions"] = {name: str(Path(file).resolve()) for name, file in own["reactions"].items()}
    return {
        "etcd": {"endpoints": list(configuration.etcd.endpoints), "path": configuration.etcd.path},
        "client": {"endpoint": str(configuration.client.endpoint)},
        "no_auth": True,
        "intentc": own,
    }
