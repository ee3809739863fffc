"""Rewrite sets from AzureApplicationGatewayRewrite (docs/appgw.md §6.9).

Pure functions of a resource.
"""

from __future__ import annotations

from typing import Any


def rewrite_set(rules: tuple[Any, ...]) -> dict[str, Any]:
    """The properties of a rewrite set; ``rules``: ``spec.rewriteRules``."""
    return {"rewriteRules": [_rule(rule) for rule in rules]}


def _rule(rule: Any) -> dict[str, Any]:
    conditions = [
        {"variable": one.variable, "pattern": one.pattern, "ignoreCase": one.ignoreCase, "negate": one.negate}
        for one in rule.conditions
    ]
    actions: dict[str, Any] = {
        "requestHeaderConfigurations": _headers(rule.actions.requestHeaderConfigurations),
        "responseHeaderConfigurations": _headers(rule.actions.responseHeaderConfigurations),
    }
    url = rule.actions.urlConfiguration
    if url:
        found: dict[str, Any] = {"reroute": url.reroute}
        if url.modifiedPath:
            found["modifiedPath"] = url.modifiedPath
        if url.modifiedQueryString:
            found["modifiedQueryString"] = url.modifiedQueryString
        actions["urlConfiguration"] = found
    return {"name": rule.name, "ruleSequence": rule.ruleSequence, "conditions": conditions, "actionSet": actions}


def _headers(headers: tuple[Any, ...]) -> list[dict[str, str]]:
    """A header without a value is deleted."""
    return [
        {"headerName": one.headerName, "headerValue": "" if one.actionType.lower() == "delete" else one.headerValue}
        for one in headers
    ]
