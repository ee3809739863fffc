"""The whole document of an Application Gateway, computed at once from manifests, as docs/appgw.md says.

It imports nothing of intentc: a second program for the same rules, in the mode ``total``.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from tests.oracle.appgw_backends import Backends, short
from tests.oracle.appgw_priorities import priorities
from tests.oracle.appgw_reading import (
    PREFIX,
    backend_of,
    challenges,
    covered_by,
    covering,
    parsed,
    read_path,
    rewrite_rules,
    tags_of,
    valid_host,
    wrong_with,
)

Json = dict[str, Any]
Problems = set[tuple[str, str]]
COLLECTIONS = (
    "probes", "backendHttpSettingsCollection", "backendAddressPools", "sslCertificates", "frontendPorts",
    "httpListeners", "redirectConfigurations", "rewriteRuleSets", "urlPathMaps", "requestRoutingRules",
)  # fmt: skip


def md5(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()


class Naive:
    """One compile. ``world``: manifests; ``gateway``: as Azure gives it."""

    def __init__(self, world: list[Json], gateway: Json) -> None:
        self.world, self.gateway = world, gateway
        self.id: str = gateway["id"]
        self.problems: Problems = set()
        self.made: dict[str, dict[str, Json]] = {collection: {} for collection in COLLECTIONS}
        self.owners: dict[tuple[str, str], tuple[Any, tuple[str, ...]]] = {}
        self.content: Json = gateway["properties"]

    def of(self, kind: str) -> list[Json]:
        return [one for one in self.world if one["kind"] == kind]

    def get(self, kind: str, namespace: str, name: str) -> Json | None:
        for one in self.of(kind):
            if (one["metadata"].get("namespace", ""), one["metadata"]["name"]) == (namespace, name):
                return one
        return None

    def installed(self, collection: str, name: str) -> bool:
        return any(one["name"] == name for one in self.content.get(collection, []))

    def ref(self, collection: str, name: str) -> Json:
        return {"id": f"{self.id}/{collection}/{name}"}

    def put(self, collection: str, name: str, properties: Json) -> None:
        entry = {"id": f"{self.id}/{collection}/{name}", "name": name, "properties": properties}
        self.made[collection][name] = entry

    # Ingresses

    def ingresses(self) -> list[Json]:
        """Those that take part, the oldest first, with what is said about them."""
        found = []
        for one in self.of("Ingress"):
            meta, spec = one["metadata"], one.get("spec", {})
            name = f"{meta['namespace']}:{meta['name']}"
            given = meta.get("annotations", {})
            if not self.is_ours(given, spec) or not (spec.get("rules") or spec.get("defaultBackend")):
                continue
            annotations, wrong = parsed(given)
            self.problems |= {(name, reason) for reason in wrong}
            key = (meta.get("creationTimestamp", ""), meta["namespace"], meta["name"])
            item = {"name": name, "key": key, "a": annotations, "spec": spec}
            if spec.get("rules") and not any(rule.get("http", {}).get("paths") for rule in spec["rules"]):
                self.problems.add((name, "NoHTTPRules"))
                continue
            if reason := self.reason_against(item):
                self.problems.add((name, reason))
                continue
            found.append(item)
        return sorted(found, key=lambda item: item["key"])

    def is_ours(self, annotations: Json, spec: Json) -> bool:
        if given := annotations.get("kubernetes.io/ingress.class"):
            return bool(given == "azure/application-gateway")
        cls = next((c for c in self.of("IngressClass") if c["metadata"]["name"] == "azure-application-gateway"), None)
        if cls is None or cls["spec"].get("controller") != "azure/application-gateway":
            return False
        if spec.get("ingressClassName"):
            return bool(spec["ingressClassName"] == "azure-application-gateway")
        flag = "ingressclass.kubernetes.io/is-default-class"
        return bool(cls["metadata"].get("annotations", {}).get(flag) == "true")

    def reason_against(self, item: Json) -> str:
        a, spec, namespace = item["a"], item["spec"], item["key"][1]
        public = [bool(one["properties"].get("publicIPAddress")) for one in self.content["frontendIPConfigurations"]]
        if a.get("use-private-ip") and all(public):
            return "NoPrivateIP"
        if not a.get("use-private-ip") and not any(public):
            return "NoPublicIP"
        if a.get("ssl-redirect") and not spec.get("tls") and not a.get("appgw-ssl-certificate"):
            return "RedirectWithNoTLS"
        if (one := a.get("appgw-ssl-certificate")) and not self.installed("sslCertificates", one):
            return "NoPreInstalledSslCertificate"
        if (one := a.get("appgw-ssl-profile")) and not self.installed("sslProfiles", one):
            return "NoPreInstalledSslProfile"
        if any(
            not self.installed("trustedRootCertificates", one) for one in a.get("appgw-trusted-root-certificate", [])
        ):
            return "NoPreInstalledRootCertificate"
        own, resource = a.get("rewrite-rule-set"), a.get("rewrite-rule-set-custom-resource")
        if own and resource:
            self.problems.add((item["name"], "RewriteConflict"))
        elif (own and not self.installed("rewriteRuleSets", own)) or (
            resource and not self.get("AzureApplicationGatewayRewrite", namespace, resource)
        ):
            return "RewriteRuleSetNotFound"
        return ""

    # Rules

    def rules(self, item: Json) -> list[Json]:
        """The rules of an Ingress: names and paths."""
        found = []
        spec, extension = item["spec"], item["a"].get("hostname-extension", [])
        for i, rule in enumerate(spec.get("rules", [])):
            if not rule.get("http", {}).get("paths"):
                continue
            names = self.names(item, rule.get("host", ""), extension)
            read = [read_path(j, path) for j, path in enumerate(rule["http"]["paths"])]
            self.problems |= {(item["name"], reason) for _, reasons in read for reason in reasons}
            paths = [path for path, _ in read]
            found.append({"i": i, "host": rule.get("host", "").lower(), "names": names, "paths": paths})
        if not spec.get("rules"):
            path, _ = read_path(0, {"path": "", "backend": spec["defaultBackend"]})
            if path["backend"]:
                found.append({"i": -1, "host": "", "names": self.names(item, "", extension), "paths": [path]})
        return found

    def names(self, item: Json, host: str, extension: list[str]) -> list[str]:
        """The names of a rule; one empty one for all names."""
        names = list(dict.fromkeys(name.lower() for name in [host, *extension] if name))
        valid = [name for name in names if valid_host(name)]
        if valid != names:
            self.problems.add((item["name"], "HostInvalid"))
        return valid if names else [""]

    def certificate(self, item: Json, name: str, host: str) -> tuple[str, bool]:
        """(certificate, whether the name has an entry in tls)"""
        own = item["a"].get("appgw-ssl-certificate", "")
        entry = covering(item["spec"].get("tls", []), name)
        if entry is None and host and host != name:
            entry = covering(item["spec"].get("tls", []), host)
        if entry is None:
            return own, False
        namespace, secret = item["key"][1], entry.get("secretName", "")
        if reason := wrong_with(self.get("Secret", namespace, secret) if secret else None, namespace):
            self.problems.add((item["name"], reason))
            return own, True
        return f"{namespace}/{secret}", True

    def claims(self, items: list[Json]) -> dict[tuple[str, int, str, str], list[Json]]:
        """(frontend, port, protocol, name) → what claims the site, the oldest first."""
        found: dict[tuple[str, int, str, str], list[Json]] = {}
        for item in items:
            a = item["a"]
            frontend = "Private" if a.get("use-private-ip") else "Public"
            for rule in self.rules(item):
                everything = any(path["all"] and path["backend"] for path in rule["paths"])
                for position, name in enumerate(rule["names"]):
                    base = {"item": item, "rule": rule, "position": position, "mode": "serve", "alone": False}
                    base |= {"paths": rule["paths"], "waf": a.get("waf-policy-for-path", "") if everything else ""}
                    certificate, covered = self.certificate(item, name, rule["host"])
                    redirect = a.get("ssl-redirect", False)
                    if redirect and certificate and ("*" in name or "?" in name):
                        self.problems.add((item["name"], "RedirectWildcardHost"))
                        redirect = False
                    override = a.get("override-frontend-port")
                    if certificate:
                        port = override or 443
                        more = {
                            "certificate": certificate,
                            "profile": a.get("appgw-ssl-profile", ""),
                            "alone": redirect,
                        }
                        found.setdefault((frontend, port, "Https", name), []).append({**base, **more})
                        if redirect:
                            more = {"mode": "redirect", "target": port, "alone": True}
                            found.setdefault((frontend, 80, "Http", name), []).append({**base, **more})
                    elif covered:
                        paths = challenges(rule["paths"])
                        if paths:
                            more = {"mode": "challenge", "paths": paths, "waf": ""}
                            found.setdefault((frontend, 80, "Http", name), []).append({**base, **more})
                    elif redirect:
                        self.problems.add((item["name"], "RedirectWithNoTLS"))
                    else:
                        found.setdefault((frontend, override or 80, "Http", name), []).append(base)
        return self.possible(self.closed(found))

    def covered(self) -> set[str]:
        """The names that an Ingress has in tls, whether it takes part or not."""
        found = set()
        for one in self.of("Ingress"):
            spec, given = one.get("spec", {}), one["metadata"].get("annotations", {})
            if not self.is_ours(given, spec) or not (spec.get("rules") or spec.get("defaultBackend")):
                continue
            found |= covered_by(spec, parsed(given)[0].get("hostname-extension", []))
        return found

    def closed(self, sites: dict[tuple[str, int, str, str], list[Json]]) -> dict[Any, list[Json]]:
        """Without what would be served in the clear though some Ingress has the name in tls."""
        covered = self.covered()
        found = {}
        for (frontend, port, protocol, name), claims in sites.items():
            kept = claims
            wildcard = "*" + name[name.index(".") :] if "." in name else name
            if protocol == "Http" and {name, wildcard} & covered:
                kept = []
                for claim in claims:
                    paths = challenges(claim["paths"]) if claim["mode"] == "serve" else claim["paths"]
                    if claim["mode"] == "serve":
                        # Who solves a challenge is asked on port 80.
                        paths = paths if port == 80 else []
                        if not paths or len(paths) < sum(path["backend"] is not None for path in claim["paths"]):
                            self.problems.add((claim["item"]["name"], "CoveredByTLS"))
                        claim = {**claim, "mode": "challenge", "paths": paths, "waf": ""}
                    if paths or claim["mode"] == "redirect":
                        kept.append(claim)
            if kept:
                found[frontend, port, protocol, name] = kept
        return found

    def possible(self, sites: dict[tuple[str, int, str, str], list[Json]]) -> dict[Any, list[Json]]:
        """Without the sites whose protocol loses, and redirects to them."""
        first: dict[tuple[str, int], tuple[Any, bool, str]] = {}
        for (frontend, port, protocol, _), claims in sites.items():
            mine = (min(claim["item"]["key"] for claim in claims), protocol == "Http", protocol)
            first[frontend, port] = min(mine, first.get((frontend, port), mine))
        found = {}
        for (frontend, port, protocol, name), claims in sites.items():
            if first[frontend, port][2] != protocol:
                self.problems |= {(claim["item"]["name"], "PortProtocolConflict") for claim in claims}
                continue
            kept = [c for c in claims if c["mode"] != "redirect" or first[frontend, c["target"]][2] == "Https"]
            if kept:
                found[frontend, port, protocol, name] = kept
        return found

    def listeners(self, sites: dict[Any, list[Json]]) -> list[Json]:
        """The sites of each listener, with what they have in common."""
        groups: dict[str, list[Json]] = {}
        for (frontend, port, protocol, name), claims in sites.items():
            site = {"frontend": frontend, "port": port, "protocol": protocol, "name": name, "claims": claims}
            for field, reason in (
                ("certificate", "CertificateConflict"),
                ("profile", "SslProfileConflict"),
                ("waf", "WafPolicyConflict"),
            ):
                given = [claim for claim in claims if claim.get(field)]
                site[field] = given[0][field] if given else ""
                losers = [claim["item"]["name"] for claim in given if claim[field] != given[0][field]]
                self.problems |= {(loser, reason) for loser in losers}
            common = [frontend, port, protocol, "*" in name or "?" in name, bool(name)]
            common += [site["certificate"], site["profile"], site["waf"]]
            common.append(
                [
                    [
                        c["item"]["name"],
                        c["rule"]["i"],
                        c["mode"],
                        [p["j"] for p in c["paths"] if p["backend"]],
                        c.get("target"),
                    ]
                    for c in claims
                ]
            )
            common.append(name if any(claim["alone"] for claim in claims) else None)
            groups.setdefault(json.dumps(common), []).append(site)
        found = []
        for group in groups.values():
            group.sort(key=lambda site: site["claims"][0]["position"])
            for start in range(0, len(group), 5):
                part = group[start : start + 5]
                found.append({**part[0], "hosts": [site["name"] for site in part if site["name"]]})
        return found

    # Objects

    def compile(self) -> Json:
        """The document."""
        items = self.ingresses()
        backends = Backends(self)
        for item in items:
            backends.add(item)
        sites = self.claims(items)
        backends.finish()
        self.rewrites(items)
        requests: list[Json] = []
        listeners = self.listeners(sites)
        for listener in listeners:
            requests.append(self.listener(listener, backends))
        if not listeners:
            requests.append(self.default_listener())
        backends.defaults()
        numbers, troubles = priorities(requests, self)
        self.problems |= troubles
        for name, number in numbers.items():
            self.made["requestRoutingRules"][name]["properties"]["priority"] = number
        return self.document()

    def h(self, frontend: str, port: int, hosts: list[str]) -> str:
        slots = (hosts + [""] * 5)[:5]
        return md5(
            json.dumps({"FrontendPort": port, "HostNames": slots, "FrontendType": frontend}, separators=(",", ":"))
        )

    def listener(self, site: Json, backends: Backends) -> Json:
        mark = self.h(site["frontend"], site["port"], site["hosts"])
        frontend = next(
            one["id"]
            for one in self.content["frontendIPConfigurations"]
            if bool(one["properties"].get("publicIPAddress")) == (site["frontend"] == "Public")
        )
        properties: Json = {
            "frontendIPConfiguration": {"id": frontend},
            "frontendPort": self.port(site["port"]),
            "protocol": site["protocol"],
            "hostNames": site["hosts"],
            "requireServerNameIndication": False,
        }
        if site["protocol"] == "Https":
            properties["sslCertificate"] = self.certificate_ref(site)
            if site["profile"]:
                properties["sslProfile"] = self.ref("sslProfiles", site["profile"])
        if site["waf"]:
            properties["firewallPolicy"] = {"id": site["waf"]}
        self.put("httpListeners", f"fl-{mark}", properties)
        rules, default = self.routes(site)
        rule: Json = {"httpListener": self.ref("httpListeners", f"fl-{mark}")}
        target = self.target(site, default, backends)
        if rules:
            entries: list[Json] = []
            for claim, path, patterns in rules:
                ns, name = claim["item"]["key"][1:]
                full = short(f"pr-{ns}-{name}-rule-{claim['rule']['i']}-path-{path['j']}")
                assert full not in [entry["name"] for entry in entries]
                members = {"paths": patterns, **self.target(site, (claim, path["backend"]), backends)}
                if waf := claim["item"]["a"].get("waf-policy-for-path"):
                    members["firewallPolicy"] = {"id": waf}
                identity = f"{self.id}/urlPathMaps/url-{mark}/pathRules/{full}"
                entries.append({"id": identity, "name": full, "properties": members})
            defaults = {f"default{key[0].upper()}{key[1:]}": value for key, value in target.items()}
            self.put("urlPathMaps", f"url-{mark}", {**defaults, "pathRules": entries})
            rule |= {"ruleType": "PathBasedRouting", "urlPathMap": self.ref("urlPathMaps", f"url-{mark}")}
        else:
            rule |= {"ruleType": "Basic", **target}
        self.put("requestRoutingRules", f"rr-{mark}", rule)
        first = next((c for c in site["claims"] if c["item"]["a"].get("rule-priority")), None)
        asked: Json = {"name": f"rr-{mark}", "hosts": site["hosts"], "place": (site["frontend"], site["port"])}
        if first:
            order = (first["rule"]["i"], site["protocol"] == "Http")
            asked |= {"by": first["item"], "wanted": first["item"]["a"]["rule-priority"], "order": order}
        return asked

    def port(self, number: int) -> Json:
        own = [one["name"] for one in self.content.get("frontendPorts", []) if one["properties"]["port"] == number]
        name = own[0] if own else f"fp-{number}"
        self.put("frontendPorts", name, {"port": number})
        return self.ref("frontendPorts", name)

    def certificate_ref(self, site: Json) -> Json:
        if "/" not in site["certificate"]:
            return self.ref("sslCertificates", site["certificate"])
        namespace, name = site["certificate"].split("/")
        secret = self.get("Secret", namespace, name)
        assert secret is not None
        chain, key = (base64.b64decode(secret["data"][one]) for one in ("tls.crt", "tls.key"))
        digest = hashlib.sha256(b"%d:%s%d:%s" % (len(chain), chain, len(key), key)).hexdigest()
        full = short(f"cert-{namespace}-{name}")
        self.put("sslCertificates", full, {"digest": digest, "secret": f"{namespace}:{name}"})
        return self.ref("sslCertificates", full)

    def routes(self, site: Json) -> tuple[list[Any], Any]:
        """(path rules in order, the default as (claim, backend), None for the default pool)"""
        claims = site["claims"]
        wanted = [(c, p) for c in claims for p in c["paths"] if p["backend"] and not p["all"]]
        strong: dict[str, int] = {}
        weak: dict[str, int] = {}
        for number, (_, path) in enumerate(wanted):
            for place, pattern in enumerate(path["patterns"]):
                (weak if path["weak"] and place == 0 else strong).setdefault(pattern.lower(), number)
        rules = []
        for number, (claim, path) in enumerate(wanted):
            kept = []
            for place, pattern in enumerate(path["patterns"]):
                bare = path["weak"] and place == 0
                holder = strong.get(pattern.lower(), weak.get(pattern.lower()))
                if holder == number:
                    kept.append(pattern)
                elif not (bare and pattern.lower() in strong):
                    self.problems.add((claim["item"]["name"], "PathConflict"))
            if kept:
                stars = [len(one) - 1 for one in kept if one.endswith("*")]
                rank = (1, -max(stars)) if stars else (0, -max(map(len, kept)))
                rules.append((rank, number, (claim, path, kept)))
        rules.sort(key=lambda one: one[:2])
        return [one[2] for one in rules], self.default(claims)

    def default(self, claims: list[Json]) -> Any:
        redirects = [(c, "redirect", None) for c in claims if c["mode"] == "redirect"]
        serving = [c for c in claims if c["mode"] == "serve"]
        catching = [(c, "path", p["backend"]) for c in serving for p in c["paths"] if p["all"] and p["backend"]]
        own = [(c, "own", backend_of(c["item"]["spec"].get("defaultBackend"))) for c in serving if c["rule"]["i"] >= 0]
        found = [*redirects, *catching, *[one for one in own if one[2]]]
        if not found:
            return None
        for claim, sort, _ in found[1:]:
            same = claim["item"] is found[0][0]["item"]
            if sort == "redirect" or (sort == "own" and same):
                continue
            self.problems.add((claim["item"]["name"], "DefaultBackendConflict"))
        return (found[0][0], found[0][2])

    def target(self, site: Json, route: Any, backends: Backends) -> Json:
        if route is None:
            return backends.default_target()
        claim, backend = route
        if claim["mode"] == "redirect":
            listener = f"fl-{self.h(site['frontend'], claim['target'], [site['name']] if site['name'] else [])}"
            name = short(f"sslr-{listener}")
            properties = {
                "redirectType": "Permanent", "targetListener": self.ref("httpListeners", listener),
                "includePath": True, "includeQueryString": True,
            }  # fmt: skip
            self.put("redirectConfigurations", name, properties)
            return {"redirectConfiguration": self.ref("redirectConfigurations", name)}
        found = backends.target(claim["item"], backend)
        a, namespace = claim["item"]["a"], claim["item"]["key"][1]
        own, resource = a.get("rewrite-rule-set"), a.get("rewrite-rule-set-custom-resource")
        if bool(own) != bool(resource):
            found["rewriteRuleSet"] = self.ref("rewriteRuleSets", own or f"crd-{namespace}-{resource}")
        return found

    def rewrites(self, items: list[Json]) -> None:
        for item in items:
            name, namespace = item["a"].get("rewrite-rule-set-custom-resource"), item["key"][1]
            if not name or item["a"].get("rewrite-rule-set"):
                continue
            resource = self.get("AzureApplicationGatewayRewrite", namespace, name)
            assert resource is not None
            rules = rewrite_rules(resource)
            self.put("rewriteRuleSets", f"crd-{namespace}-{name}", {"rewriteRules": rules})

    def default_listener(self) -> Json:
        public = any(one["properties"].get("publicIPAddress") for one in self.content["frontendIPConfigurations"])
        frontend = "Public" if public else "Private"
        wafs = []
        for one in self.of("Ingress"):
            meta, spec = one["metadata"], one.get("spec", {})
            waf = meta.get("annotations", {}).get(PREFIX + "waf-policy-for-path")
            if waf and self.is_ours(meta["annotations"], spec) and (spec.get("rules") or spec.get("defaultBackend")):
                wafs.append(((meta.get("creationTimestamp", ""), meta["namespace"], meta["name"]), waf))
        site = {"frontend": frontend, "port": 80, "protocol": "Http", "hosts": [], "claims": [], "name": ""}
        backends = Backends(self)
        result = self.listener({**site, "waf": min(wafs)[1] if wafs else "", "profile": ""}, backends)
        backends.defaults()
        return result

    def document(self) -> Json:
        found = json.loads(json.dumps(self.gateway))
        for collection in COLLECTIONS:
            entries: list[Json] = list(self.made[collection].values())
            entries.sort(key=lambda entry: entry["name"])
            theirs = self.content.get(collection, [])
            if collection == "sslCertificates":
                entries += [one for one in theirs if not one["name"].startswith("cert-")]
                entries.sort(key=lambda entry: entry["name"])
            if collection == "rewriteRuleSets":
                entries = [one for one in theirs if not one["name"].startswith("crd-")] + entries
            found["properties"][collection] = entries
        tags = tags_of(self.of("Node"))
        found["tags"] = {**found.get("tags", {}), **tags}
        return dict(found)
