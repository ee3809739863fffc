"""Types and bounds of settings that plain strings and numbers can't represent safely, such as secrets and durations.

A printed configuration must not show a secret, and an invalid address, host name, URL, duration or prefix in etcd is
rejected where it is written, not where it is first used. A secret that a file holds is read again when it is asked for
and the file has changed.
"""

from __future__ import annotations

import errno
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from intentc.model.files import Stamp, read_regular, stamps

_OWN_PREFIX = "intentc"
"""The prefix of the leader's key, directives and heartbeats (``watch.keys``)."""
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h))+")
_LARGEST_SECRET = 64 * 1024
"""The size limit of a file with one secret; a larger file is not one."""
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")

_LONGEST_PORT = len("65535")
_HOST_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?")


class Secret:
    """A text that is printed as ``<secret>``; ``reveal()`` returns it. False if empty.

    A secret from a file of its own (``of_file``) is read again whenever that file has changed, so that a password can
    be rotated while the process runs.
    """

    __slots__ = ("_path", "_stamp", "_texts")

    def __init__(self, text: str = "") -> None:
        self._texts = [text]
        self._path: Path | None = None
        self._stamp: tuple[Stamp, ...] = ()

    @classmethod
    def of_file(cls, path: Path) -> Secret:
        """Read the text in ``path`` without trailing line ends. Raises ``OSError`` and ``UnicodeDecodeError``."""
        stamp = stamps([path])
        secret = cls(_content(path))
        secret._path, secret._stamp = path, stamp
        return secret

    def reveal(self) -> str:
        """The current text, for the code that sends it. A file that is being replaced counts as unchanged."""
        if self._path is not None and (stamp := stamps([self._path])) != self._stamp:
            with suppress(OSError, UnicodeDecodeError):
                text = _content(self._path)
                if text:
                    self._stamp = stamp
                    if text != self._texts[-1]:
                        self._texts.append(text)
        return self._texts[-1]

    def present(self, least: int = 1) -> str:
        """As ``reveal``, but empty while its file is absent, unreadable, or shorter than ``least`` characters.

        For secrets that grant access, which must end with the file.
        """
        text = self._texts[-1]
        if self._path is not None and (stamp := stamps([self._path])) != self._stamp:
            try:
                text = _content(self._path)
            except (OSError, UnicodeDecodeError):
                return ""
            if len(text) >= least:
                self._stamp = stamp
                if text != self._texts[-1]:
                    self._texts.append(text)
        return text if len(text) >= least else ""

    @property
    def file(self) -> Path | None:
        """The file that contains it, if it has one of its own."""
        return self._path

    @property
    def texts(self) -> tuple[str, ...]:
        """The current and all former texts: a former password must not be shown either."""
        return tuple(self._texts)

    def __repr__(self) -> str:
        return "<secret>" if self else "''"

    __str__ = __repr__

    def __bool__(self) -> bool:
        return bool(self._texts[-1])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._texts[-1] == other._texts[-1]

    __hash__ = None  # type: ignore[assignment]  # its text may change


def _content(path: Path) -> str:
    content = read_regular(path, _LARGEST_SECRET + 1)
    if len(content) > _LARGEST_SECRET:
        raise OSError(errno.EFBIG, f"it holds more than {_LARGEST_SECRET // 1024} KiB, which is no secret")
    return content.decode().rstrip("\r\n")


class Address(str):
    """``host:port`` to listen on; ``:9091`` means every interface, as Contrail writes it; IPv6 in brackets."""

    __slots__ = ()

    @property
    def host(self) -> str:
        """The host without brackets; ``0.0.0.0`` if none is given."""
        return self.rpartition(":")[0].strip("[]") or "0.0.0.0"  # noqa: S104 - the operator wrote it so

    @property
    def port(self) -> int:
        return int(self.rpartition(":")[2])

    @classmethod
    def parse(cls, text: str) -> Address:
        """Raises ``ValueError``."""
        host, colon, port = text.rpartition(":")
        is_port = port.isascii() and port.isdecimal() and len(port) <= _LONGEST_PORT and int(port) <= 65535
        if not colon or not is_port or (":" in host and not host.startswith("[")):
            raise ValueError(f"{text!r} is no address; write host:port, such as 127.0.0.1:8877")
        return cls(text)


class Url(str):
    """An ``http`` or ``https`` URL without a trailing slash; empty if none is set."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Url:
        """Raises ``ValueError``."""
        # This check comes first, since other messages quote the text.
        if "@" in text:
            raise ValueError("the URL holds a password or a user; set them under their own keys")
        parts = urlsplit(text)
        if text and (parts.scheme not in ("http", "https") or not parts.hostname):
            raise ValueError(f"{text!r} is no URL; write http://host:port or https://host:port")
        return cls(text.rstrip("/"))

    @property
    def is_remote(self) -> bool:
        """Whether it leads to another machine, by its host's name."""
        host = urlsplit(self).hostname
        return host is not None and not is_loopback(host)


def is_loopback(host: str) -> bool:
    """Whether ``host`` (a name, or an address without brackets) is this machine alone."""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host.lower().removesuffix(".") == "localhost"


class HostName(str):
    """A host name or address that ``Host`` may have, without port, in canonical form.

    That is lower case, without a dot at the end, IPv6 in brackets.
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> HostName:
        """Raises ``ValueError``, also for ``*`` and other patterns: a page of any site could send requests then."""
        host = canonical_host(text)
        if host.startswith("["):
            with suppress(ValueError):
                ip_address(host.strip("[]"))
                return cls(host)
        elif "*" in host:
            raise ValueError(f"{text!r} is a pattern, and any web page could send requests then; write each name")
        elif _HOST_NAME.fullmatch(host):
            return cls(host)
        raise ValueError(f"{text!r} is no host; write a name or an address without scheme and port, api.example say")


def canonical_host(host: str) -> str:
    """Normalize ``host`` (IPv6 with or without brackets) for comparison."""
    with suppress(ValueError):
        address = ip_address(host[1:-1] if host.startswith("[") and host.endswith("]") else host)
        return f"[{address}]" if address.version == 6 else str(address)
    return host.lower().removesuffix(".")


class Seconds(float):
    """A duration in seconds, written as a number of seconds or as Go writes it: ``500ms``, ``10s``, ``1m30s``."""

    __slots__ = ()

    @classmethod
    def parse(cls, value: Any) -> Seconds:
        """Raises ``ValueError``."""
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf:
            return cls(value)
        if isinstance(value, str) and _DURATION.fullmatch(value):
            return cls(sum(float(amount) * _UNITS[unit] for amount, unit in _PART.findall(value)))
        if isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)?", value):
            return cls(value)
        raise ValueError(f"{value!r} is no duration; write seconds, or a number with its unit, such as 10s or 1m30s")


class AtLeast(NamedTuple):
    """A minimum, in the number's own unit; ``or_zero``: zero is allowed as well, and means never."""

    least: float
    or_zero: bool = False

    def lack(self, value: float) -> str:
        """What is wrong with ``value``; empty if nothing is."""
        if value >= self.least or (self.or_zero and value == 0):
            return ""
        return f"must be {'0 (never) or ' if self.or_zero else ''}{self.least:g} s or more, is {value:g} s"


class PrefixInEtcd:
    """The bound of a prefix of keys in etcd, written without slashes around it."""

    def lack(self, value: str) -> str:
        """What is wrong with ``value``; empty if nothing is."""
        if not value or value != value.strip("/") or "//" in value or not value.isprintable() or " " in value:
            return f"{value!r} is no path; write one without slashes around it or spaces, such as contrail"
        if value.split("/")[0] == _OWN_PREFIX:
            return f"below {_OWN_PREFIX!r} the compiler keeps its own keys; choose another, such as contrail"
        return ""


class FilePath(str):
    """The path of a file that is read when it is used; empty if none is set.

    ``key`` and ``source``: the setting, and its place in the configuration.
    """

    key: str = ""
    source: str = ""

    def lack(self) -> str:
        """Why the file can't be read, for people; empty if it can, or if none is set."""
        if not self:
            return ""
        try:
            read_regular(str(self), 1)
        except OSError as error:
            return f"{self.key}: {self} can't be read: {error.strerror}"
        return ""


class Settings(dict[str, Any]):
    """Values that evaluations read, by name. ``sources``: name → its place in the configuration."""

    sources: Mapping[str, str] = {}


def decode_setting(wanted: type, value: Any) -> Any:
    """``msgspec``'s hook: builds the types of this module from values of a file. Raises ``ValueError``."""
    if wanted is Seconds:
        return Seconds.parse(value)
    if wanted is Settings:
        if not isinstance(value, dict):
            raise ValueError("expected a mapping of names to values")
        return Settings({str(name): one for name, one in value.items()})
    if isinstance(value, bool | dict | list):
        raise ValueError("expected text")
    if wanted is Secret:
        return Secret(str(value))
    if wanted is Address:
        return Address.parse(str(value))
    if wanted is Url:
        return Url.parse(str(value))
    if wanted is HostName:
        return HostName.parse(str(value))
    if wanted is FilePath:
        return FilePath(value)
    raise NotImplementedError(wanted)
