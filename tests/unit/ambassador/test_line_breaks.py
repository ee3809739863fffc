"""No text with a line break at its end is accepted where line breaks are forbidden: Envoy would reject the whole
object."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from intentc.compilers.ambassador.settings.module_settings import ModuleSettings, Path
from intentc.compilers.ambassador.settings.traffic import (
    Cookie,
    Cors,
    Duration,
    HeaderName,
    LoadBalancer,
    RetryPolicy,
    Text,
)
from intentc.directives.directive import Pause
from intentc.loading.configuration.sections import Intentc


@pytest.mark.parametrize(
    ("wanted", "text"),
    [(Text, "a"), (HeaderName, "a"), (HeaderName, ":path"), (Duration, "1s"), (Duration, ""), (Path, "/a")],
)
def test_a_line_break_at_the_end_is_rejected(wanted: Any, text: str) -> None:
    assert msgspec.convert(text, wanted) == text
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(f"{text}\n", wanted)


@pytest.mark.parametrize("struct", [ModuleSettings, Cookie, Cors, LoadBalancer, RetryPolicy, Pause])
def test_no_pattern_ends_where_a_line_break_may_follow(struct: type[msgspec.Struct]) -> None:
    def patterns(node: Any) -> list[str]:
        if isinstance(node, dict):
            here = [node["pattern"]] if isinstance(node.get("pattern"), str) else []
            return here + [found for one in node.values() for found in patterns(one)]
        return [found for one in node for found in patterns(one)] if isinstance(node, list) else []

    assert [pattern for pattern in patterns(msgspec.json.schema(struct)) if pattern.endswith("$")] == []


def test_an_installation_has_no_line_break_in_its_name() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"installation": "blue\n"}, Intentc)
