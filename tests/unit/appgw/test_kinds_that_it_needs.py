"""The compiler makes nothing before a bridge has mirrored all that it reads: what is absent would be removed."""

from __future__ import annotations

from intentc.bridges.kubernetes.rest_mapping import mirrored_kinds
from intentc.compilers.appgw import compiler
from intentc.loading.schemas import load_schema


def test_it_needs_every_kind_that_is_mirrored_for_it() -> None:
    assert {kind.name for kind in mirrored_kinds(load_schema("appgw"))} == compiler.needs_synced
