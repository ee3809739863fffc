"""The kinds by which authorization knows tenants and finds their rules; what it decides stands in ``authorization``."""

from __future__ import annotations

ACCESS_LIST = "api_access_list"
"""Its resources hold the rules."""

EVERYBODY = "global_system_config"
"""Lists below it concern every caller."""

DOMAIN, PROJECT = "domain", "project"
"""Lists below one concern the callers whose token is for it."""

DEFAULT_DOMAIN = "default-domain"
"""The name of the domain that Keystone calls ``default``."""
