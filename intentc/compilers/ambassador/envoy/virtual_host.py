"""What stands before the routes of a virtual host: where requests that are not secure are sent
(docs/ambassador.md §4.5)."""

from __future__ import annotations

from typing import Any

ACME_CHALLENGE = "/.well-known/acme-challenge/"
"""Whoever gives out certificates asks for these in clear text."""
_NO_AUTHORIZATION = {
    "envoy.filters.http.ext_authz": {
        "@type": "type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute",
        "disabled": True,
    }
}


def insecure_requests(action: str, *, forwarded: bool) -> list[dict[str, Any]]:
    """The routes (v3 JSON; none or one) for requests that are not secure: for ``Redirect`` to the same URL by https,
    for ``Reject`` to 404, as if there was nothing; for ``Route`` none. ``forwarded``: X-Forwarded-Proto says which
    requests are meant; else all are."""
    if action == "Route":
        return []
    headers: list[dict[str, Any]] = [
        {"name": ":path", "string_match": {"prefix": ACME_CHALLENGE}, "invert_match": True}
    ]
    if forwarded:
        secure = {"name": "x-forwarded-proto", "string_match": {"exact": "https"}}
        headers.append({**secure, "invert_match": True, "treat_missing_header_as_empty": True})
    answer = {"redirect": {"https_redirect": True}} if action == "Redirect" else {"direct_response": {"status": 404}}
    # Nobody need prove who he is to be sent to where he can do it safely.
    return [
        {
            "name": f"insecure_{action.lower()}",
            "match": {"prefix": "/", "headers": headers},
            **answer,
            "typed_per_filter_config": _NO_AUTHORIZATION,
        }
    ]
