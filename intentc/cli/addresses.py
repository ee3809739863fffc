"""The type of options that take an address to listen on.

A declaration.
"""

from __future__ import annotations

import click

_LONGEST_PORT = len("65535")


class ListenAddress(click.ParamType[tuple[str, int]]):
    """``host:port``; an IPv6 address stands in brackets."""

    name = "host:port"

    def convert(
        self, value: str | tuple[str, int], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        if isinstance(value, tuple):
            return value
        host, _, port = value.rpartition(":")
        if not host or not port.isdecimal() or len(port) > _LONGEST_PORT or int(port) > 65535:
            self.fail(f"{value!r} is not of the form host:port", param, ctx)
        return host.strip("[]"), int(port)
