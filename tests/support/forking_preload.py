"""Loads what every process of ``intentc`` would import and read anew: in the fork server, once (``forking.py``)."""

from __future__ import annotations

import gc
import importlib
import pkgutil

import intentc
from intentc.loading.configuration.reading import load
from intentc.plugins import find_compilers, installed, load_all

_LOADED_WHEN_USED = (
    "anyio._backends._asyncio",
    "grpc.experimental",
    "httpcore2",
    "uvicorn.lifespan.off",
    "uvicorn.protocols.http.httptools_impl",
    "uvicorn.loops.uvloop",
)

for module in pkgutil.walk_packages(intentc.__path__, "intentc."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
for name in _LOADED_WHEN_USED:
    importlib.import_module(name)
installed(load(None, {}).configuration)
load_all(find_compilers(["ambassador"]))  # what isn't the default
gc.collect()
gc.freeze()
