"""The backends of Ingresses in the naive compile of docs/appgw.md: ports, pools, settings and probes."""

from __future__ import annotations

import hashlib
from typing import Any

from tests.oracle.appgw_reading import backend_of, valid_host

Json = dict[str, Any]


def short(name: str) -> str:
    """At most 80 characters."""
    return name if len(name) <= 80 else name[:47] + "-" + hashlib.md5(name.encode()).hexdigest()


class Backends:
    """All backends of one compile. ``naive``: the compile, whose objects are added to."""

    def __init__(self, naive: Any) -> None:
        self.naive = naive
        self.found: dict[tuple[str, str, str], Json] = {}
        """(Ingress, Service, port as written) → what is known of it."""

    def add(self, item: Json) -> None:
        """The backends of an Ingress."""
        extension = item["a"].get("hostname-extension", [])
        for rule in item["spec"].get("rules", []):
            names = [name.lower() for name in [rule.get("host", ""), *extension] if name]
            names = [name for name in names if valid_host(name) and "*" not in name and "?" not in name]
            for path in rule.get("http", {}).get("paths", []):
                if backend := backend_of(path["backend"]):
                    entry = self.found.setdefault((item["name"], *backend), {"item": item, "paths": []})
                    text = path.get("path", "")
                    entry["paths"].append((text in ("", "/", "/*"), names[0] if names else "", text))
        spec = item["spec"]
        if spec.get("defaultBackend"):
            backend = backend_of(spec["defaultBackend"])
            if backend is None:
                self.naive.problems.add((item["name"], "UnsupportedBackend"))
                return
            entry = self.found.setdefault((item["name"], *backend), {"item": item, "paths": []})
            if not spec.get("rules"):
                entry["paths"].append((True, "", ""))

    def finish(self) -> None:
        for (_, service, port), entry in self.found.items():
            self.one(entry, service, port)

    def one(self, entry: Json, service: str, port: str) -> None:
        naive, item = self.naive, entry["item"]
        a, namespace, ingress = item["a"], item["key"][1], item["key"][2]
        found = naive.get("Service", namespace, service)
        number, wrong = self.number(found, namespace, service, port)
        if wrong:
            naive.problems.add((item["name"], "PortResolutionError"))
        protocol = a.get("backend-protocol") or ("Https" if number == 443 else "Http")
        said = self.pod_probe(namespace, found, number)
        about = any(name.startswith("health-probe-") for name in a)
        if found is not None and (entry["paths"] or about or said):
            probe = short(f"pb-{namespace}-{service}-{port}-{ingress}")
            naive.put("probes", probe, self.probe(a, entry["paths"], said or {}, protocol))
        else:
            probe = f"defaultprobe-{protocol}"
        roots = [naive.ref("trustedRootCertificates", one) for one in a.get("appgw-trusted-root-certificate", [])]
        host = a.get("backend-hostname")
        properties: Json = {
            "port": number,
            "protocol": protocol,
            "cookieBasedAffinity": "Enabled" if a.get("cookie-based-affinity") else "Disabled",
            "requestTimeout": a.get("request-timeout", 30),
            "pickHostNameFromBackendAddress": bool(protocol == "Https" and roots and not host),
            "probe": naive.ref("probes", probe),
        }
        if host:
            properties["hostName"] = host
        if a.get("backend-path-prefix"):
            properties["path"] = a["backend-path-prefix"]
        if a.get("cookie-based-affinity") and a.get("cookie-based-affinity-distinct-name"):
            mark = hashlib.md5(f"{namespace}-{service}".encode()).hexdigest()
            properties["affinityCookieName"] = f"appgw-affinity-{mark}"
        if a.get("connection-draining"):
            seconds = a.get("connection-draining-timeout", 30)
            properties["connectionDraining"] = {"enabled": True, "drainTimeoutInSec": seconds}
        if roots:
            properties["trustedRootCertificates"] = roots
        name = short(f"bp-{namespace}-{service}-{port}-{number}-{ingress}")
        naive.put("backendHttpSettingsCollection", name, properties)
        entry["settings"] = name
        addresses, reason = self.addresses(found, namespace, service, number)
        entry["pool"] = ""
        if reason:
            naive.problems.add((item["name"], reason))
        else:
            entry["pool"] = short(f"pool-{namespace}-{service}-{port}-bp-{number}")
            naive.put("backendAddressPools", entry["pool"], {"backendAddresses": addresses})

    def behind(self, namespace: str, service: str) -> list[tuple[dict[int, str], list[tuple[str, str]]]]:
        """For each slice or subset: the TCP ports with their names, and its addresses as (fqdn, ip)."""
        found = []
        for one in self.naive.of("EndpointSlice"):
            labels = one["metadata"].get("labels", {})
            if one["metadata"]["namespace"] != namespace or labels.get("kubernetes.io/service-name") != service:
                continue
            ports = {p["port"]: p.get("name", "") for p in one.get("ports", []) if p.get("protocol", "TCP") == "TCP"}
            addresses = [
                (address, "") if one["addressType"] == "FQDN" else ("", address)
                for endpoint in one.get("endpoints", [])
                if not endpoint.get("conditions", {}).get("terminating")
                for address in endpoint["addresses"]
            ]
            found.append((ports, addresses))
        if found:
            return found
        endpoints = self.naive.get("Endpoints", namespace, service)
        for subset in (endpoints or {}).get("subsets", []):
            ports = {p["port"]: p.get("name", "") for p in subset.get("ports", []) if p.get("protocol", "TCP") == "TCP"}
            both = [*subset.get("addresses", []), *subset.get("notReadyAddresses", [])]
            found.append((ports, [("", a["ip"]) if a.get("ip") else (a["hostname"], "") for a in both]))
        return found

    def addresses(self, found: Json | None, namespace: str, service: str, number: int) -> tuple[list[Json], str]:
        if found is None:
            return [], "EndpointsEmpty"
        if found["spec"].get("type") == "ExternalName":
            return [], "ExternalNameUnsupported"
        groups = self.behind(namespace, service)
        if not any(ports for ports, _ in groups):
            return [], "EndpointsEmpty"
        with_port = [addresses for ports, addresses in groups if number in ports]
        if not with_port:
            return [], "BackendPortTargetMatch"
        unique = sorted({one for addresses in with_port for one in addresses}, key=lambda one: f"{one[0]}-{one[1]}")
        if not unique:
            return [], "EndpointsEmpty"
        return [{"fqdn": name} if name else {"ipAddress": ip} for name, ip in unique], ""

    def number(self, found: Json | None, namespace: str, service: str, port: str) -> tuple[int, bool]:
        plain = int(port) if port.isdigit() else 80
        plain = plain if 0 < plain < 65536 else 80
        if found is None:
            return plain, True
        numbers: set[int] = set()
        for one in found["spec"].get("ports", []):
            target = one.get("targetPort") or ""
            if one.get("protocol", "TCP") != "TCP" or port not in (str(one["port"]), one.get("name", ""), str(target)):
                continue
            if not target:
                numbers.add(one["port"])
            elif str(target).isdigit():
                numbers.add(int(target))
            else:
                named = {
                    n
                    for ports, _ in self.behind(namespace, service)
                    for n, name in ports.items()
                    if name == one.get("name", "")
                }
                numbers |= named or self.container_ports(namespace, found, str(target))
        if not numbers:
            return plain, True
        smallest = min(numbers)
        return (smallest if smallest < 65536 else 80), len(numbers) > 1

    def pods(self, namespace: str, service: Json | None) -> list[Json]:
        selector = (service or {"spec": {}})["spec"].get("selector")
        if not selector:
            return []
        return [
            pod
            for pod in self.naive.of("Pod")
            if pod["metadata"]["namespace"] == namespace
            and all(pod["metadata"].get("labels", {}).get(key) == value for key, value in selector.items())
        ]

    def container_ports(self, namespace: str, service: Json, name: str) -> set[int]:
        return {
            port["containerPort"]
            for pod in self.pods(namespace, service)
            for container in pod["spec"]["containers"]
            for port in container.get("ports", [])
            if port.get("name") == name and port.get("protocol", "TCP") == "TCP"
        }

    def pod_probe(self, namespace: str, service: Json | None, number: int) -> Json | None:
        running = [pod for pod in self.pods(namespace, service) if not pod["metadata"].get("deletionTimestamp")]
        if not running:
            return None
        newest = max(pod["metadata"].get("creationTimestamp", "") for pod in running)
        pod = min(
            (pod for pod in running if pod["metadata"].get("creationTimestamp", "") == newest),
            key=lambda pod: str(pod["metadata"]["name"]),
        )
        for container in pod["spec"]["containers"]:
            ports = container.get("ports", [])
            if not any(p["containerPort"] == number and p.get("protocol", "TCP") == "TCP" for p in ports):
                continue
            for sort in ("readinessProbe", "livenessProbe"):
                probe = container.get(sort, {})
                if get := probe.get("httpGet"):
                    port = get.get("port", 0)
                    if isinstance(port, str) and not port.isdigit():
                        port = next((p["containerPort"] for p in ports if p.get("name") == port), 0)
                    return {
                        "host": get.get("host"), "path": get.get("path"), "port": int(port),
                        "interval": probe.get("periodSeconds"), "timeout": probe.get("timeoutSeconds"),
                        "failures": min(probe.get("failureThreshold", 0), 20),
                    }  # fmt: skip
            return None
        return None

    def probe(self, a: Json, paths: list[Any], said: Json, protocol: str) -> Json:
        chosen = next((path for path in paths if path[0]), paths[0] if paths else (False, "", ""))
        host, path = "localhost", "/"
        interval, timeout, failures, port = 30, 30, 3, 0
        for value in (chosen[1], a.get("backend-hostname"), said.get("host"), a.get("health-probe-hostname")):
            host = value or host
        for value in (a.get("backend-path-prefix") or chosen[2], said.get("path"), a.get("health-probe-path")):
            path = value or path
        for source, name in ((said, "interval"), (a, "health-probe-interval")):
            interval = source.get(name) or interval
        for source, name in ((said, "timeout"), (a, "health-probe-timeout")):
            timeout = source.get(name) or timeout
        for source, name in ((said, "failures"), (a, "health-probe-unhealthy-threshold")):
            failures = source.get(name) or failures
        for source, name in ((said, "port"), (a, "health-probe-port")):
            port = source.get(name) or port
        codes = a.get("health-probe-status-codes")
        found = {
            "protocol": protocol, "host": host, "path": path.removesuffix("*") or "/", "interval": interval,
            "timeout": timeout, "unhealthyThreshold": failures, "pickHostNameFromBackendHttpSettings": False,
            "minServers": 0, "match": {"statusCodes": codes} if codes else {},
        }  # fmt: skip
        if port and self.naive.content["sku"]["tier"] not in ("Standard", "WAF"):
            found["port"] = port
        return found

    # References

    def target(self, item: Json, backend: tuple[str, str]) -> Json:
        entry = self.found[item["name"], *backend]
        pool = entry["pool"] or self.default_pool()
        return {
            "backendAddressPool": self.naive.ref("backendAddressPools", pool),
            "backendHttpSettings": self.naive.ref("backendHttpSettingsCollection", entry["settings"]),
        }

    def default_pool(self) -> str:
        self.naive.put("backendAddressPools", "defaultaddresspool", {"backendAddresses": []})
        return "defaultaddresspool"

    def default_target(self) -> Json:
        properties = {
            "port": 80, "protocol": "Http", "cookieBasedAffinity": "Disabled", "requestTimeout": 30,
            "pickHostNameFromBackendAddress": False, "probe": self.naive.ref("probes", "defaultprobe-Http"),
        }  # fmt: skip
        self.naive.put("backendHttpSettingsCollection", "defaulthttpsetting", properties)
        return {
            "backendAddressPool": self.naive.ref("backendAddressPools", self.default_pool()),
            "backendHttpSettings": self.naive.ref("backendHttpSettingsCollection", "defaulthttpsetting"),
        }

    def defaults(self) -> None:
        """The default probes to which settings refer."""
        for settings in self.naive.made["backendHttpSettingsCollection"].values():
            name = settings["properties"]["probe"]["id"].split("/")[-1]
            if name.startswith("defaultprobe-"):
                self.naive.put("probes", name, self.probe({}, [], {}, name.removeprefix("defaultprobe-")))
