"""Names the kinds from which ``authorization`` reads tenants and their rules."""

from __future__ import annotations

ACCESS_LIST = "api_access_list"
"""Its resources hold the rules."""

EVERYBODY = "global_system_config"
"""Lists below it concern every caller."""

DOMAIN, PROJECT = "domain", "project"
"""Lists below one concern the callers whose token is for it."""

DEFAULT_DOMAIN = "default-domain"
"""The name of the domain that Keystone calls ``default``."""
