"""Valid requests to both APIs of the server, and random mutations of them: any part may become anything.

The same seed makes the same requests, so a number of a request replays it.
"""

from __future__ import annotations

import base64
import copy
import json
import random
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, quote_plus

NETWORK, POLICY = "5b0f0000-0000-4000-8000-000000000001", "5b0f0000-0000-4000-8000-000000000002"
PROJECT = ["default-domain", "default-project"]
MAPPINGS = "/apis/getambassador.io/v3alpha1/namespaces/shop/mappings"
SERVICES = "/api/v1/namespaces/shop/services"
JSON, MERGE, PATCH = "application/json", "application/merge-patch+json", "application/json-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"


class Request(NamedTuple):
    """As it is sent. ``length``: what ``Content-Length`` says, if not the truth."""

    method: str
    path: bytes
    query: bytes = b""
    headers: Mapping[str, bytes] = {}
    body: bytes = b""
    length: bytes | None = None

    @property
    def may_be_incomplete(self) -> bool:
        """Whether the server may wait for more of the body."""
        return self.length is not None or bool({"content-length", "transfer-encoding"} & self.headers.keys())

    @property
    def is_watch(self) -> bool:
        return b"watch" in self.query

    def raw(self) -> bytes:
        """The bytes of the request."""
        headers = {"host": b"localhost", "connection": b"close", **self.headers}
        if self.body or self.length is not None:
            headers["content-length"] = str(len(self.body)).encode() if self.length is None else self.length
        target = self.path + (b"?" + self.query if self.query else b"")
        lines = [self.method.encode() + b" " + target + b" HTTP/1.1"]
        lines += [name.encode() + b": " + value for name, value in headers.items()]
        return b"\r\n".join([*lines, b"", self.body])


class Valid(NamedTuple):
    method: str
    path: str
    media: str = ""
    body: Any = None
    query: Mapping[str, str] = {}


_SPEC = {"prefix": "/m/", "service": "web", "weight": 5, "headers": {"a": "b"}}
_META = {
    "name": "m", "labels": {"app": "web"}, "annotations": {"a": "b"}, "finalizers": ["example.com/f"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "Service", "name": "s", "uid": "u"}],
}  # fmt: skip
_SERVERS = {
    "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1, "resourceVersion": "1", "generateName": "g",
    "managedFields": [{"manager": "t", "operation": "Apply", "fieldsV1": {"f:spec": {}}}], "deletionTimestamp": None,
    "uid": "u", "selfLink": "/", "deletionGracePeriodSeconds": 1,
}  # fmt: skip
_MAPPING = {"apiVersion": "getambassador.io/v3alpha1", "kind": "Mapping", "metadata": _META, "spec": _SPEC}
_WHOLE = {**_MAPPING, "metadata": {**_META, **_SERVERS}}
_PORTS = [{"port": 80, "name": "web", "protocol": "TCP", "targetPort": 8080}, {"port": 443, "name": "tls"}]
_NEW = {**_MAPPING, "metadata": {"name": "m", "labels": {"app": "web"}}}
_SERVICE = {
    "apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
    "spec": {"ports": _PORTS, "selector": {"app": "web"}, "clusterIP": "10.0.0.1"},
    "status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.2"}]}, "conditions": [{"type": "Ready", "status": "True"}]},
}  # fmt: skip
_LIST = {"labelSelector": "app=web,tier in (a,b),!old", "limit": "2", "resourceVersion": "1"}
VALID = [
    Valid("GET", MAPPINGS, query=_LIST),
    Valid("GET", MAPPINGS, query={"fieldSelector": "metadata.name=m", "continue": "WzEsIi9mIl0=", "limit": "1"}),
    Valid("GET", MAPPINGS, query={"watch": "true", "timeoutSeconds": "1", "allowWatchBookmarks": "true", **_LIST}),
    Valid("GET", f"{MAPPINGS}/m"), Valid("GET", f"{MAPPINGS}/m/status"), Valid("GET", "/apis"), Valid("GET", "/api/v1"),
    Valid("GET", "/openapi/v3/apis/getambassador.io/v3alpha1"), Valid("GET", "/api/v1/namespaces"),
    Valid("POST", MAPPINGS, JSON, _MAPPING, {"fieldValidation": "Warn", "dryRun": "All", "fieldManager": "t"}),
    Valid("POST", MAPPINGS, JSON, _NEW), Valid("PATCH", f"{MAPPINGS}/m", APPLY, _NEW, {"fieldManager": "u"}),
    Valid("PATCH", f"{MAPPINGS}/m", MERGE, {"metadata": {"labels": {"a": "b"}}, "spec": {"weight": 7}}),
    Valid("PATCH", f"{MAPPINGS}/m", PATCH, [{"op": "replace", "path": "/spec/prefix", "value": "/n/"}]),
    Valid("POST", SERVICES, JSON, _SERVICE),
    Valid("POST", MAPPINGS, JSON, {"metadata": {"generateName": "g-", "labels": {"a": "b"}}, "spec": _SPEC}),
    Valid("PUT", f"{MAPPINGS}/m", JSON, _WHOLE), Valid("POST", MAPPINGS, JSON, _WHOLE),
    Valid("PUT", f"{SERVICES}/s", JSON, _SERVICE),
    Valid("PUT", f"{SERVICES}/s/status", JSON, _SERVICE), Valid("PATCH", f"{MAPPINGS}/m", MERGE, _MAPPING),
    Valid("PATCH", f"{SERVICES}/s", STRATEGIC, {"spec": {"ports": [*_PORTS, {"$patch": "delete", "port": 443}]}}),
    Valid("PATCH", f"{SERVICES}/s", STRATEGIC, {"spec": {"$setElementOrder/ports": [{"port": 80}],
    "$retainKeys": ["a"]}}),
    Valid("PATCH", f"{SERVICES}/s/status", MERGE, {"status": _SERVICE["status"]}),
    Valid("PATCH", f"{MAPPINGS}/m", APPLY, _MAPPING, {"fieldManager": "t", "force": "true"}),
    Valid("PATCH", f"{SERVICES}/s", APPLY, _SERVICE, {"fieldManager": "t"}),
    Valid("PATCH", f"{SERVICES}/s/status", APPLY, _SERVICE, {"fieldManager": "t"}),
    Valid("PATCH", f"{SERVICES}/s", PATCH, [
        {"op": "test", "path": "/spec/ports/0/port", "value": 80}, {"op": "add", "path": "/spec/ports/-",
        "value": {"port": 1}},
        {"op": "copy", "from": "/spec/ports/0", "path": "/spec/ports/1"}, {"op": "remove",
        "path": "/spec/selector/app"},
        {"op": "move", "from": "/spec/ports/0", "path": "/metadata/annotations"},
    ]),
    Valid("DELETE", f"{MAPPINGS}/m", JSON, {
        "dryRun": ["All"], "preconditions": {"uid": "u", "resourceVersion": "1"}, "propagationPolicy": "Background",
        "gracePeriodSeconds": 0,
    }),
    Valid("DELETE", f"{MAPPINGS}/m"), Valid("DELETE", SERVICES, query=_LIST),
    Valid("PUT", "/api/v1/namespaces/shop", JSON, {"metadata": {"name": "shop", "labels": {"a": "b"}}}),
    Valid("POST", "/ref-update", JSON, {
        "operation": "ADD", "type": "virtual-network", "uuid": NETWORK, "ref-type": "network-policy",
        "ref-uuid": POLICY, "ref-fq-name": ["a"], "attr": {"sequence": {"major": 1}}, "relaxed": True,
    }),
    Valid("POST", "/ref-relax-for-delete", JSON, {"uuid": NETWORK, "ref-uuid": POLICY}),
    Valid("POST", "/fqname-to-id", JSON, {"type": "virtual-network", "fq_name": [*PROJECT, "n"]}),
    Valid("POST", "/id-to-fqname", JSON, {"uuid": NETWORK}),
    Valid("POST", "/prop-collection-update", JSON, {
        "uuid": NETWORK,
        "updates": [{"field": "annotations", "operation": "set", "value": {"key": "a"}, "position": "a"}],
    }),
    Valid("POST", "/sync", JSON, {"resources": [
        {"kind": "virtual_network", "operation": "UPDATE", "data": {"uuid": NETWORK, "display_name": "a"},
         "if_match": 1, "if_none_match": False, "relaxed": ["x"], "field_mask": {"paths": ["display_name"]}},
        {"kind": "mapping", "operation": "CREATE", "data": {"fq_name": ["shop", "x"], **_SPEC}, "mirror": {"uid": "u"}},
    ]}),
    Valid("POST", "/int-pools", JSON, {"pool": "p", "start": 1, "end": 5}),
    Valid("DELETE", "/int-pools", JSON, {"pool": "p"}),
    Valid("POST", "/int-pool", JSON, {"pool": "p", "owner": "o", "value": 3}),
    Valid("DELETE", "/int-pool", JSON, {"pool": "p", "owner": "o", "value": 3}),
    Valid("GET", "/int-pool", query={"pool": "p", "owner": "o", "value": "3"}),
    Valid("POST", "/virtual-networks", JSON, {"virtual-network": {
        "fq_name": [*PROJECT, "m"], "parent_type": "project", "annotations": {"key_value_pair": [{"key": "a"}]},
        "network_policy_refs": [{"uuid": POLICY, "attr": {"sequence": {"major": 1}}}],
        "perms2": {"owner": "p", "owner_access": 7, "share": [{"tenant": "t", "tenant_access": 7}]},
    }}),
    Valid("PUT", f"/virtual-network/{NETWORK}", JSON, {
        "virtual-network": {"display_name": "d", "annotations": {"key_value_pair": [{"key": "a", "value": "b"}]}},
        "field_mask": {"paths": ["display_name", "annotations.key_value_pair"]}, "relaxed": ["x"],
    }),
    Valid("GET", f"/virtual-network/{NETWORK}", query={"fields": "display_name", "exclude_children": "true"}),
    Valid("GET", "/virtual-networks", query={
        "filters": "display_name==a", "parent_id": POLICY, "parent_type": "project", "back_ref_id": POLICY,
        "parent_fq_name_str": ":".join(PROJECT), "obj_uuids": NETWORK, "fields": "display_name", "page_limit": "2",
        "page_marker": NETWORK, "count": "false", "detail": "true", "shared": "true", "unreadable": "true",
    }),
    Valid("GET", "/prop-collection-get", query={"uuid": NETWORK, "fields": "annotations", "position": "a"}),
    Valid("DELETE", f"/network-policy/{POLICY}"), Valid("GET", "/readyz"), Valid("GET", "/livez"),
]  # fmt: skip
SIMPLE = [
    b"null", b"true", b"-1", b"0", b"7", b"1.5", b'""', b'"x"', b"[]", b"{}", b"[null]", b"[1]", b'[["x"]]', b'{"a":1}',
]  # fmt: skip
"""What has the wrong type in most places."""
ATOMS = [
    b"null", b"true", b"-1", b"0", b"9" * 5_000, b"9" * 30, b"1.5", b"1e400", b"1e-400", b'"\\ud800"',
    b'"\xed\xa0\x80"',
    b'"\xff"', b"NaN", b"Infinity", b"-Infinity", b'"\\u0000"', b'"a\\u0000b"', b'""', b'"a/b"',
    b'"' + b"a" * 3_000 + b'"',
    b"[]", b"[null]", b'["x"]', b"[[1]]", b"[{}]", b"{}", b'{"a":1}', b'{"":null}', b'{"a\\u0000":1}',
    b"18446744073709551616",
    b"9223372036854775808", b"{", b"]", '"²"'.encode(), b'["nonsense.x"]', b'["a' + b".a" * 5_000 + b'"]', b"[" * 9_000,
    b'"2026-99-99T25:61:61Z"', b'"2026-02-30"', b'"0001-01-01T00:00:00+99:99"', b'"1.2.3.4/99"', b'"::1%\xc3\xa9"',
    b'"' + b"9" * 5_000 + b'"', b'"/' + b"9" * 5_000 + b'"', b'"/spec/ports/' + b"9" * 50 + b'"', b'"/spec/~2"', b'"~"',
    b'"/a~"', b'["' + b"x" * 2_000 + b'"]',
]  # fmt: skip
TEXTS = [
    b"", b"-1", b"0", b"1", b"1.5", b"1e999", b"*", b'"1"', b"true", b"TRUE", b"maybe", b"9" * 5_000,
    b"9223372036854775807",
    b"9223372036854775808", "²".encode(), "٣".encode(), b"\xff\xfe", b"a/", b"a/1", b"a/" + b"9" * 40, b"../x", b"a==b",
    b"a==", b"x==" + b"[" * 3_000, b"[", b"a in (", b"a in (b", b"!", b"!!a", b"a=b=c", b" " * 3_000,
    b"(" * 3_000, b"1,2,,",
    b"text/plain", b"application/json;", b"application/json; charset=utf-16", b";", b"All,All", b"Exact",
    b"NotOlderThan",
    b"Strict", b"a" * 3_000, b"%00", b"a%00b", b"%", b"%zz", b"%ff%fe", b"metadata.name=", b"\x00", b"\x7f",
    base64.urlsafe_b64encode(b"[1," + b"9" * 40 + b"]"), base64.urlsafe_b64encode(b'[-1,"/"]'), b"W10=", b"W",
    b"=" * 50,
]  # fmt: skip
HEADERS = [
    "if-match", "if-none-match", "x-intentc-fence", "x-etcd-revision", "x-auth-token", "authorization",
    "origin", "host", "content-type", "accept", "user-agent", "content-length", "transfer-encoding",
    "content-encoding", "expect", "range", "accept-encoding",
]  # fmt: skip
PARAMETERS = sorted({name for one in VALID for name in one.query} | {"pretty", "resourceVersionMatch", "includeObject"})
PARAMETERS += ["sendInitialEvents", "propagationPolicy", "gracePeriodSeconds"]
YAML = [
    b"&a [*a]", b"&a x\nb: *a", b"*a", b"<<: x", b"? [a]\n: b", b"7: x", b"!!python/name:os x", b"---\n", b"\t",
    b"- " * 90, b"2026-02-30", b"0x" + b"f" * 90, b".inf", b".nan", b"1:1", b"on: x", b"~: x", b"|\n  a\n b",
    b"%YAML 9.9\n",
]  # fmt: skip
NAMES = ["", "x", "a\x00", "$patch", "$retainKeys", "uuid", "status", "9" * 50]
KINDS = ["parameter", "parameter", "parameter", "header", "header", "path", "method", "media"]
"""What of a request changes; where there is a body, mostly that."""
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "X"]
MEDIA = [JSON, MERGE, PATCH, STRATEGIC, APPLY, "application/vnd.kubernetes.protobuf", "text/plain", ""]


def made(seed: int) -> Iterator[Request]:
    """Requests without end."""
    source = random.Random(seed)
    while True:
        yield _one(source)


def _one(source: random.Random) -> Request:
    valid = source.choice(VALID)
    path, query = valid.path.encode(), {name: quote_plus(text).encode() for name, text in valid.query.items()}
    headers = {"content-type": valid.media.encode()} if valid.media else {}
    body = b"" if valid.body is None else json.dumps(valid.body).encode()
    request = Request(valid.method, path, b"", headers, body)
    # Some stay as they are, so that there is something to change.
    for _ in range(source.choice([0, 1, 1, 1, 2, 2, 3])):
        kind = source.choice(KINDS) if valid.body is None else source.choice([*KINDS, *["body"] * 10])
        if kind == "body":
            request = request._replace(body=_mutated_body(source, valid, request.body))
        elif kind == "parameter":
            query[source.choice(PARAMETERS)] = quote(source.choice(TEXTS), safe="%").encode()
        elif kind == "header":
            name = source.choice(HEADERS)
            text = source.choice(TEXTS).replace(b"\x00", b"").strip()
            request = request._replace(headers={**request.headers, name: text})
        elif kind == "path":
            parts = request.path.split(b"/")
            parts[source.randrange(1, len(parts))] = quote(source.choice(TEXTS), safe="%").encode()
            request = request._replace(path=b"/".join(parts))
        elif kind == "method":
            request = request._replace(method=source.choice(METHODS))
        else:
            media = source.choice(MEDIA).encode()
            request = request._replace(headers={**request.headers, "content-type": media})
    if source.random() < 0.01:
        request = request._replace(length=source.choice(TEXTS[1:12]).strip() or b"0")
    return request._replace(query=b"&".join(name.encode() + b"=" + text for name, text in query.items()))


def _mutated_body(source: random.Random, valid: Valid, body: bytes) -> bytes:
    if valid.media == APPLY and source.random() < 0.3:
        lines = b"\n".join(
            [b"apiVersion: v1", b"kind: Service", b"metadata: {name: s}", b"a: " + source.choice(YAML), b""]
        )
        return lines if source.random() < 0.5 else source.choice(YAML)
    if source.random() < 0.15 and body:
        at = source.randrange(len(body))
        piece = source.choice([b"", b"{", b"]", b'"', b"\xff", b",", b":", b"\\", b"\x00", source.choice(ATOMS)])
        return body[:at] + piece + body[at + source.randrange(3) :]
    changed = copy.deepcopy(valid.body)
    for _ in range(source.choice([1, 1, 2])):
        places = list(_places(changed))
        *steps, last = source.choice(places)
        target = changed
        for step in steps:
            target = target[step]
        if source.random() < 0.3:
            *others, key = source.choice(places)
            moved: Any = changed
            for step in [*others, key]:
                moved = moved[step]
            target[last] = copy.deepcopy(moved)
        elif isinstance(target, dict) and source.random() < 0.2:
            target[source.choice(["", "x", "a\x00", "$patch", "$retainKeys", "uuid", "status", "9" * 50])] = target.pop(
                last
            )
        else:
            target[last] = "here"
    raw = json.dumps(changed).encode()
    while b'"here"' in raw:
        raw = raw.replace(b'"here"', source.choice(ATOMS if source.random() < 0.5 else SIMPLE), 1)
    return raw


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield (*path, key)
        yield from _places(inner, (*path, key))
