"""What Ingresses say, for the naive compile of docs/appgw.md: annotations, backends, hosts, entries of tls."""

from __future__ import annotations

import base64
import re
from typing import Any

Json = dict[str, Any]
PREFIX = "appgw.ingress.kubernetes.io/"


def parsed(annotations: Json) -> tuple[Json, set[str]]:
    """Annotation → value, and the reasons of those that are wrong."""
    found: Json = {}
    wrong: set[str] = set()
    numbers = {
        "health-probe-port": (1, 65535), "health-probe-interval": (1, 86400), "health-probe-timeout": (1, 86400),
        "health-probe-unhealthy-threshold": (1, 20), "request-timeout": (1, 86400),
        "connection-draining-timeout": (1, 3600), "override-frontend-port": (1, 64999), "rule-priority": (1, 20000),
    }  # fmt: skip
    booleans = (
        "cookie-based-affinity", "cookie-based-affinity-distinct-name", "connection-draining", "ssl-redirect",
        "use-private-ip",
    )  # fmt: skip
    texts = (
        "backend-path-prefix", "backend-hostname", "health-probe-hostname", "health-probe-path",
        "appgw-ssl-certificate", "appgw-ssl-profile", "waf-policy-for-path", "rewrite-rule-set",
        "rewrite-rule-set-custom-resource",
    )  # fmt: skip
    for key, text in annotations.items():
        if not key.startswith(PREFIX):
            continue
        name = key[len(PREFIX) :]
        if name in numbers:
            low, high = numbers[name]
            if re.fullmatch(r"\d+", text) and low <= int(text) <= high:
                found[name] = int(text)
            else:
                wrong.add("InvalidAnnotation")
        elif name in booleans:
            if text in ("1", "t", "T", "TRUE", "true", "True"):
                found[name] = True
            elif text not in ("0", "f", "F", "FALSE", "false", "False"):
                wrong.add("InvalidAnnotation")
        elif name == "backend-protocol":
            if text.lower() in ("http", "https"):
                found[name] = text.lower().capitalize()
            else:
                wrong.add("InvalidAnnotation")
        elif name in ("hostname-extension", "appgw-trusted-root-certificate", "health-probe-status-codes"):
            found[name] = [item.strip() for item in text.split(",") if item.strip()]
        elif name in texts:
            found[name] = text
        else:
            wrong.add("UnknownAnnotation")
    return found, wrong


def covering(entries: list[Json], name: str) -> Json | None:
    ordered = [[host.lower() for host in entry.get("hosts", [])] for entry in entries]
    for entry, hosts in zip(entries, ordered, strict=True):
        if name and name in hosts:
            return entry
    for entry, hosts in zip(entries, ordered, strict=True):
        if "." in name and "*" + name[name.index(".") :] in hosts:
            return entry
    for entry, hosts in zip(entries, ordered, strict=True):
        if not hosts or "" in hosts:
            return entry
    return None


def covered_by(spec: Json, extension: list[str]) -> set[str]:
    """The names that an Ingress has in tls: those that it lists, and those of its rules that an entry covers."""
    entries = spec.get("tls", [])
    found = {host.lower() for entry in entries for host in entry.get("hosts", []) if host}
    for host in [rule.get("host", "").lower() for rule in spec.get("rules", [])] or [""]:
        names = [name.lower() for name in [host, *extension] if name]
        for name in [name for name in names if valid_host(name)] if names else [""]:
            if covering(entries, name) or (host and covering(entries, host)):
                found.add(name)
    return found


def valid_host(name: str) -> bool:
    labels = name.split(".")
    good = all(re.fullmatch(r"[a-z0-9_*?-]{1,63}", one) and one[0] != "-" and one[-1] != "-" for one in labels)
    return bool(good) and len(name) < 254 and name.count("*") + name.count("?") <= 4


def backend_of(backend: Json | None) -> tuple[str, str] | None:
    """(Service, port as written)"""
    if not backend or not backend.get("service", {}).get("name"):
        return None
    port = backend["service"].get("port", {})
    return backend["service"]["name"], str(port.get("name") or port.get("number") or 0)


def read_path(j: int, path: Json) -> tuple[Json, list[str]]:
    """(a path of a rule: what it matches and where it leads, the reasons of its problems)"""
    text, kind = path.get("path", ""), path.get("pathType", "")
    backend, reasons = backend_of(path["backend"]), []
    found = {"j": j, "text": text, "patterns": [], "weak": False, "all": False, "backend": backend}
    if backend is None:
        reasons.append("UnsupportedBackend")
    if text in ("", "/", "/*"):
        found["all"] = True
        if kind == "Exact":
            reasons.append("ExactRootNotSupported")
    elif not re.fullmatch(r"/[A-Za-z0-9._~!$()'+,;=:@/-]*\*?", text):
        reasons.append("PathInvalid")
        found["backend"] = None
    elif kind == "Exact":
        found["patterns"] = [text.removesuffix("*")]
    elif kind == "Prefix" and not text.endswith("*"):
        bare = text.rstrip("/")
        found |= {"patterns": [bare, bare + "/*"], "weak": True} if bare else {"all": True}
    else:
        found["patterns"] = [text]
    return found, reasons


def challenges(paths: list[Json]) -> list[Json]:
    """The paths that are served without a certificate, with the patterns below that of challenges alone."""
    below = "/.well-known/acme-challenge/"
    kept = [path for path in paths if path["backend"] and path["text"].startswith(below)]
    return [{**p, "weak": False, "patterns": [one for one in p["patterns"] if one.startswith(below)]} for p in kept]


def wrong_with(secret: Json | None, namespace: str) -> str:
    """The reason for which a Secret can't serve; empty if it can."""
    if secret is None or secret.get("type") != "kubernetes.io/tls" or namespace in ("kube-system", "kube-public"):
        return "SecretNotFound"
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        chain = base64.b64decode(secret["data"].get("tls.crt", ""))
        key = base64.b64decode(secret["data"].get("tls.key", ""))
        certificate = x509.load_pem_x509_certificate(chain)
        same = load_pem_private_key(key, None).public_key() == certificate.public_key()
    except ValueError:
        return "SecretInvalid"
    return "" if same else "SecretInvalid"


def rewrite_rules(resource: Json) -> list[Json]:
    """The rules of a rewrite set."""
    rules = []
    for rule in resource["spec"]["rewriteRules"]:
        actions = rule["actions"]
        headers = {
            sort: [
                {
                    "headerName": one["headerName"],
                    "headerValue": "" if one.get("actionType") == "delete" else one["headerValue"],
                }
                for one in actions.get(sort, [])
            ]
            for sort in ("requestHeaderConfigurations", "responseHeaderConfigurations")
        }
        rules.append(
            {
                "name": rule["name"],
                "ruleSequence": rule["ruleSequence"],
                "conditions": rule.get("conditions", []),
                "actionSet": headers,
            }
        )
    return rules


def tags_of(nodes: list[Json]) -> Json:
    """The tags of the gateway."""
    tags = {"managed-by-k8s-ingress": "intentc"}
    first: Json = min(nodes, key=lambda node: str(node["metadata"]["name"]), default={"spec": {}})
    path = r"/subscriptions/([^/]+)/resourceGroups/MC_([^_/]+)_([^_/]+)_[^_/]+/"
    if match := re.search(path, first["spec"].get("providerID", ""), re.IGNORECASE):
        clusters = "providers/Microsoft.ContainerService/managedClusters"
        cluster = f"/subscriptions/{match[1]}/resourcegroups/{match[2]}/{clusters}/{match[3]}"
        tags["ingress-for-aks-cluster-id"] = cluster
    return tags
