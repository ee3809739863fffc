"""Encrypts secrets in resources where they are stored, and hides them in answers (docs/security.md, docs/adr/0032).

Why it exists: a password of a device in etcd is in each of its backups, and in each answer to whoever may read the
device. Texts in fields that a schema declares sensitive are *sealed*: ``$intentc$1$<key id>$<base64>``. The same text
under the same key gives the same sealed text (AES-SIV), so a write that changes nothing stays one, and compilers, which
read etcd, copy and compare sealed texts as any others.

``intentc.api.secret_keys`` has one key a line: the first one seals, all of them open. Without any, texts stay as they
are. Manifests keep Kubernetes' rules (who may read a Secret sees it), and what compilers make is read from etcd by
bridges: both are stored as they are.
"""

from __future__ import annotations

import base64
import enum
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from intentc.loading.configuration import secret_key_lines
from intentc.model import Kind, kebab
from intentc.model.sensitive import CONCEALED, secret_texts_changed

from .documents import Document
from .errors import BadRequest, Malformed

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

PREFIX = "$intentc$1$"


class Sight(enum.Enum):
    """How a caller sees secrets: not at all, opened, or as they are stored."""

    HIDDEN = "hidden"
    OPEN = "open"
    STORED = "stored"


class _Key(NamedTuple):
    id: str
    cipher: AESSIV


class Secrets:
    """Seals and opens the secrets of resources. ``keys``: gives the text of ``intentc.api.secret_keys``."""

    def __init__(self, keys: Callable[[], str] = str) -> None:
        self._text = keys
        self._known: tuple[str, tuple[_Key, ...]] = ("", ())

    @property
    def newest(self) -> str:
        """The id of the key that seals; empty without one."""
        keys = self._keys()
        return keys[0].id if keys else ""

    def sealed(self, kind: Kind, document: Document) -> Document:
        """``document`` with all of its secrets under the newest key; as far as they can be opened."""
        keys = self._keys()
        return secret_texts_changed(kind, document, lambda text: _seal(keys, text)) if keys else document

    def lost(self, kind: Kind, document: Document) -> frozenset[str]:
        """The ids of keys that are needed for secrets in ``document``, and not known."""
        keys = self._keys()
        return frozenset(_key_id(text) for text in _texts(kind, document) if _open(keys, text) is None)

    def shown(self, kind: Kind, document: Document, sight: Sight) -> Document:
        """``document`` as a caller sees it. Raises ``Malformed`` for a secret whose key is not known any more."""
        if sight is Sight.STORED:
            return document
        if sight is Sight.HIDDEN:
            return secret_texts_changed(kind, document, lambda text: CONCEALED)
        keys = self._keys()

        def opened(text: str) -> str:
            plain = _open(keys, text)
            if plain is None:
                raise Malformed(
                    f"{kebab(kind.name)} {document.get('uuid', '')} has a secret under the key {_key_id(text)}, which "
                    f"is not among intentc.api.secret_keys; add that key behind the others"
                )
            return plain

        return secret_texts_changed(kind, document, opened)

    def received(self, kind: Kind, before: Document | None, after: Document, *, trusted: bool) -> Document:
        """``after``, which a client sent, with its secrets sealed, and the stored ones in place of ``CONCEALED``.

        ``trusted``: the client may send sealed texts, as compilers do. Raises ``BadRequest`` for a sealed text of
        others, and for ``CONCEALED`` where nothing is stored."""
        old = before or {}
        sent = set(_texts(kind, after))
        if not trusted and any(text.startswith(PREFIX) for text in sent.difference(_texts(kind, old))):
            raise BadRequest(f"{kebab(kind.name)}: a secret can't begin with {PREFIX}; send it as it is")
        if CONCEALED in sent:
            hidden = self.shown(kind, old, Sight.HIDDEN)
            fields = kind.secret_fields & after.keys()
            after = after | {
                field: _restored(after[field], old.get(field), hidden.get(field), field) for field in fields
            }
        return self.sealed(kind, after)

    def _keys(self) -> tuple[_Key, ...]:
        text = self._text()
        if text != self._known[0]:
            self._known = (text, tuple(map(_key, secret_key_lines(text))))
        return self._known[1]


def _texts(kind: Kind, document: Document) -> list[str]:
    """The texts at the places of secrets."""
    found: list[str] = []

    def noted(text: str) -> str:
        found.append(text)
        return text

    secret_texts_changed(kind, document, noted)
    return found


def _key(line: str) -> _Key:
    # Imported where there are keys: commands compile in process without any.
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    return _Key(_derived(line, b"intentc secrets: id", 4).hex(), AESSIV(_derived(line, b"intentc secrets: key", 64)))


def _derived(line: str, purpose: bytes, length: int) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA512
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA512(), length, None, purpose).derive(line.encode())


def _seal(keys: Sequence[_Key], text: str) -> str:
    plain = _open(keys, text)
    if not plain or text.startswith(f"{PREFIX}{keys[0].id}$"):
        # Empty, under the newest key already, or under a key that is not known.
        return text
    body = keys[0].cipher.encrypt(plain.encode("utf-8", "surrogatepass"), None)
    return f"{PREFIX}{keys[0].id}${base64.urlsafe_b64encode(body).decode()}"


def _open(keys: Sequence[_Key], text: str) -> str | None:
    """The plain text; None if its key is not known."""
    if not text.startswith(PREFIX):
        return text
    from cryptography.exceptions import InvalidTag

    for key in keys:
        if key.id == _key_id(text):
            try:
                body = base64.urlsafe_b64decode(text.rpartition("$")[2].encode("ascii"))
                return key.cipher.decrypt(body, None).decode("utf-8", "surrogatepass")
            except (ValueError, InvalidTag):
                return None
    return None


def _key_id(text: str) -> str:
    return text.removeprefix(PREFIX).partition("$")[0]


def _restored(new: Any, old: Any, hidden: Any, place: str) -> Any:
    """``new`` with what is stored in place of ``CONCEALED``. ``old``, ``hidden``: the same place in the stored
    document, and as the client saw it."""
    if new == CONCEALED:
        if not isinstance(old, str):
            raise BadRequest(
                f"{place}: {CONCEALED} stands for a stored secret, and none is stored here; send the secret"
            )
        return old
    if isinstance(new, dict):
        fields, shown = (value if isinstance(value, dict) else {} for value in (old, hidden))
        return {
            name: _restored(value, fields.get(name), shown.get(name), f"{place}.{name}") for name, value in new.items()
        }
    if isinstance(new, list):
        stored, seen = (value if isinstance(value, list) else [] for value in (old, hidden))
        return [
            _restored(
                value,
                stored[partner] if partner is not None else None,
                seen[partner] if partner is not None else None,
                f"{place}[{position}]",
            )
            for position, (value, partner) in enumerate(zip(new, _partners(new, seen), strict=True))
        ]
    return new


def _partners(new: list[Any], hidden: list[Any]) -> Iterator[int | None]:
    """For each element of a list, the stored one that it was: the equal one, that with the same uuid, otherwise that at
    the same place of a list that is as long. A reference to another target must not get the secret of the former."""
    found: dict[int, int] = {}
    free = set(range(len(hidden)))
    for identity in (_content, _target):
        places: dict[bytes, list[int]] = {}
        for place in sorted(free, reverse=True):
            places.setdefault(identity(hidden[place]), []).append(place)
        for position, value in enumerate(new):
            if position not in found and (same := identity(value)) and places.get(same):
                found[position] = places[same].pop()
                free.discard(found[position])
    for position, value in enumerate(new):
        is_free = len(new) == len(hidden) and position in free and not _target(value)
        yield found.get(position, position if is_free else None)


def _content(element: Any) -> bytes:
    return msgspec.json.encode(element, order="sorted")


def _target(element: Any) -> bytes:
    """The uuid of a reference; empty for others."""
    return str(element.get("uuid") or "").encode() if isinstance(element, dict) else b""
