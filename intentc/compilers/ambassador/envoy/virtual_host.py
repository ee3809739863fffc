"""The first routes of a virtual host, which redirect or reject insecure requests (docs/ambassador.md §4.5).

``ambassador/virtual_host.py`` claims the virtual host.

Pure functions of values.
"""

from __future__ import annotations

from typing import Any

ACME_CHALLENGE = "/.well-known/acme-challenge/"
"""Certificate authorities request these paths in clear text."""
_NO_AUTHORIZATION = {
    "envoy.filters.http.ext_authz": {
        "@type": "type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute",
        "disabled": True,
    }
}


def insecure_requests(action: str, *, forwarded: bool) -> list[dict[str, Any]]:
    """The routes (v3 JSON; none or one) for insecure requests.

    ``Redirect``: to the same URL by https. ``Reject``: 404. ``Route``: no such route. ``forwarded``: X-Forwarded-Proto
    says which requests are insecure; otherwise all are.
    """
    if action == "Route":
        return []
    headers: list[dict[str, Any]] = [
        {"name": ":path", "string_match": {"prefix": ACME_CHALLENGE}, "invert_match": True}
    ]
    if forwarded:
        secure = {"name": "x-forwarded-proto", "string_match": {"exact": "https"}}
        headers.append({**secure, "invert_match": True, "treat_missing_header_as_empty": True})
    answer = {"redirect": {"https_redirect": True}} if action == "Redirect" else {"direct_response": {"status": 404}}
    # A redirect to https needs no authorization.
    return [
        {
            "name": f"insecure_{action.lower()}",
            "match": {"prefix": "/", "headers": headers},
            **answer,
            "typed_per_filter_config": _NO_AUTHORIZATION,
        }
    ]
