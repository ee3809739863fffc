"""Carries out calls on an API server of Kubernetes and notes the answers, so that those of two servers can be compared.

What differs from run to run has a stand-in: a uid is the first, second … uid of the transcript, times are ``time``, and
of a resource version only is said whether it is another than before. Messages are left out: each server has words of
its own.

I/O: HTTP to the server under test. State: the transcript of one case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import anyio
import httpx2

from tests.support.waiting import PATIENCE

from .kinds import Sample

PATCHES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
_TIMES = frozenset({"creationTimestamp", "deletionTimestamp"})
_OWN_WORDS = frozenset({"description", "message", "selfLink"})
_ADDRESSES = "10.0.0."
"""Those that a kube-apiserver gives to Services."""
_OK = 200
_AGE = re.compile(r"\d+[smh]\d*s?")


class Answer(NamedTuple):
    """``call``: such as ``merge a?dryRun=All``; ``code``: HTTP's; ``body``: JSON with stand-ins."""

    call: str
    code: int
    body: Any


class Transcript:
    """The calls of one case. ``name``: the namespace that it has for itself."""

    def __init__(self, client: httpx2.AsyncClient, sample: Sample, name: str) -> None:
        self.answers: list[Answer] = []
        self.sample = sample
        self.name = name
        self._client = client
        client.headers["User-Agent"] = "conformance/1"
        self._is_page = False
        self._uids: dict[str, str] = {}
        self._versions: dict[str, str] = {}

    def manifest(self, name: str = "", **metadata: Any) -> dict[str, Any]:
        """A new resource of the kind, in the case's namespace."""
        return self.sample.manifest(self.named(name), **metadata)

    def named(self, name: str) -> str:
        """A name that no other case has, also where there are no namespaces."""
        return name if self.sample.is_namespaced or not name else f"{self.name}-{name}"

    async def __call__(self, call: str, body: Any = None, *, accept: str = "", about: str = "", **query: str) -> Any:
        """Send ``VERB``, ``VERB name`` or ``VERB name/status``; the verb is HTTP's, or the form of a patch. ``about``
        distinguishes calls of the transcript. Returns the answer's JSON as it came."""
        verb, _, path = call.partition(" ")
        headers = {"Content-Type": PATCHES.get(verb, "application/json")}
        if accept:
            headers["Accept"] = accept
        content = None if body is None else json.dumps(body)
        method = "PATCH" if verb in PATCHES else verb
        answer = await self._client.request(method, self._url(path), content=content, headers=headers, params=query)
        found = answer.json()
        self._is_page = "continue" in query
        self._note(f"{call} ({about})" if about else call, query, answer.status_code, self._masked(found))
        return found

    async def watch(self, number: int, **query: str) -> list[Any]:
        """Watch until ``number`` events have come, or an error."""
        params = {"watch": "true", **query}
        events: list[Any] = []
        with anyio.fail_after(PATIENCE):
            async with self._client.stream("GET", self._url(""), params=params) as answer:
                code = answer.status_code
                async for line in answer.aiter_lines():
                    events.append(json.loads(line))
                    if len(events) == number or events[-1].get("type") == "ERROR" or code != _OK:
                        break
        self._note(
            "WATCH",
            {name: one for name, one in query.items() if one},
            code,
            self._masked(events if code == _OK else events[0]),
        )
        return events

    def _url(self, path: str) -> str:
        name, slash, subresource = path.partition("/")
        url = self.sample.url(self.name)
        return f"{url}/{self.named(name)}{slash}{subresource}" if name else url

    def _note(self, call: str, query: dict[str, str], code: int, body: Any) -> None:
        shown = "&".join(f"{name}={_shown_value(name, one)}" for name, one in query.items())
        self.answers.append(Answer(call + (f"?{shown}" if shown else ""), code, body))

    def _masked(self, value: Any, name: str = "") -> Any:
        if isinstance(value, list):
            return [self._masked(one, name) for one in value]
        if not isinstance(value, dict):
            return self._leaf(name, value)
        result: dict[str, Any] = {}
        for field in sorted(value):
            inner = value[field]
            if field in _OWN_WORDS:
                continue
            if field == "resourceVersion":
                result[field] = self._version(str(value.get("uid", "")), str(inner))
            elif field == "managedFields":
                result[field] = sorted(_owned(one) for one in inner)
            elif field == "causes":
                # A kube-apiserver repeats some.
                result[field] = sorted({f"{one.get('field', '')}: {one.get('reason', '')}" for one in inner})
            elif field == "items" and "metadata" in value:
                result[field] = self._items(value)
            else:
                result[field] = self._masked(inner, field)
        if str(result.get("name", "")).startswith(f"{self.name}-generated-"):
            result["name"] = f"{self.name}-generated-…"
        return result

    def _leaf(self, name: str, value: Any) -> Any:
        if name == "uid":
            return self._uids.setdefault(str(value), f"uid {len(self._uids) + 1}")
        if name in _TIMES and value is not None:
            return "time"
        if isinstance(value, str) and value.startswith(_ADDRESSES):
            return "address"
        if name == "cells" and _AGE.fullmatch(str(value)):
            return "age"
        return "token" if name == "continue" and value else value

    def _items(self, listed: dict[str, Any]) -> Any:
        """A list's resources by name, since a kube-apiserver's cache has no order; of a page only the number."""
        items = sorted(listed["items"], key=lambda one: str(one["metadata"]["name"]))
        is_page = listed["metadata"].get("continue") or self._is_page
        return len(items) if is_page else [self._masked(one) for one in items]

    def _version(self, uid: str, version: str) -> str:
        """Whether a resource has the version with which it was seen last."""
        if not uid:
            return "revision"
        former = self._versions.get(uid)
        self._versions[uid] = version
        return "first" if former is None else "same" if former == version else "another"


def _shown_value(name: str, value: str) -> str:
    is_number = name == "resourceVersion" and value.isdigit() and int(value) > 1
    return "…" if is_number or (name == "continue" and value) else value


def _owned(entry: dict[str, Any]) -> str:
    """An entry of ``managedFields`` as one text."""
    fields = " ".join(sorted(_leaves(entry["fieldsV1"])))
    return f"{entry['manager']} {entry['operation']} {entry['apiVersion']}: {fields}"


def _leaves(fields: dict[str, Any], above: str = "") -> Iterator[str]:
    if not fields:
        yield above
    for name, below in fields.items():
        yield from _leaves(below, f"{above}.{name.removeprefix('f:')}" if name != "." else above)
