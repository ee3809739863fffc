"""Loads what every process of ``intentc`` would import and read anew: in the fork server, once (``forking.py``)."""

from __future__ import annotations

import gc
import importlib
import pkgutil

import intentc
from intentc.loading import load_schema
from intentc.loading.configuration.reading import load
from intentc.logic.dependencies.map_check import findings
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
for compiler in ("ambassador", "appgw", "gateway", "contrail"):  # one after the other: each one's files are read once
    loaded = load_all(find_compilers([compiler]))
    load_schema(compiler, apart=True)  # that of an API server
findings(loaded.reactions, loaded.schema)  # imports networkx
gc.collect()
gc.freeze()
