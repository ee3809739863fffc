"""Writes the configuration file of a running ``intentc dev``, for commands in other terminals.

Why it exists: ``dev`` chooses some settings itself (ports, compilers, a gateway's addresses). A command with other
settings would answer differently: an audit would report spurious differences. One file with all settings needs one
``export``. ``loading.configuration`` defines what a configuration means.
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
    """Write a file with the servers of ``configuration`` and its whole section ``intentc``; delete it after the block.

    Only its owner can read it, since settings may hold secrets.
    """
    with TemporaryDirectory(prefix="intentc-dev-") as folder:
        path = Path(folder) / "intentc.yml"
        path.touch(mode=0o600)
        path.write_bytes(msgspec.yaml.encode(_document(configuration), enc_hook=str))
        yield path


def _document(configuration: Configuration) -> dict[str, Any]:
    own: dict[str, Any] = msgspec.to_builtins(configuration.intentc, enc_hook=str)
    # `dev` serves diagnostics on loopback without TLS and token, whatever the configuration says for services.
    own["diagnostics"] = {"address": str(configuration.intentc.diagnostics.address)}
    # Another terminal may have another working directory.
    own["schemas"] = [str(Path(folder).resolve()) for folder in own["schemas"]]
    own["reactions"] = {name: str(Path(file).resolve()) for name, file in own["reactions"].items()}
    return {
        "etcd": {"endpoints": list(configuration.etcd.endpoints), "path": configuration.etcd.path},
        "client": {"endpoint": str(configuration.client.endpoint)},
        "no_auth": True,
        "intentc": own,
    }
