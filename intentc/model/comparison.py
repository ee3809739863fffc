"""Finds values in documents by the paths that name them (``acl_rule[3].action``)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_STEP = re.compile(r"([A-Za-z0-9_-]+)|\[(\d+)\]|\.")


def text_at(documents: Mapping[str, Any], part: str) -> str:
    """Return the desired, else the actual value of ``part`` as JSON on one line. It is empty without a value, or if the
    part's name contains it (a reference). ``documents``: those two."""
    steps = _steps(part)
    for document in (documents.get("desired"), documents.get("actual")):
        value = _walk(document, steps)
        if steps and value is not None:
            return json.dumps(value, ensure_ascii=False)
    return ""


def _steps(part: str) -> list[str | int]:
    """Return the keys and positions of a part; empty if it is not a path of fields."""
    found: list[str | int] = []
    end = 0
    for step in _STEP.finditer(part):
        if step.start() != end:
            return []
        end = step.end()
        if step[1]:
            found.append(step[1])
        elif step[2]:
            found.append(int(step[2]))
    return found if end == len(part) else []


def _walk(document: Any, steps: list[str | int]) -> Any:
    for step in steps:
        if isinstance(step, int):
            document = document[step] if isinstance(document, list) and step < len(document) else None
        else:
            document = document.get(step) if isinstance(document, dict) else None
    return document
