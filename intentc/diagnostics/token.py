"""Reads the present token of the diagnostics from its file; without a usable file nobody gets access.

Why it differs from a password: a password we send, and while its file is being replaced the former one is the best
guess. A token file is removed to lock out everybody who knows the token. ``access`` compares tokens.
"""

from __future__ import annotations

import logging

from intentc.loading.configuration import Secret
from intentc.loading.configuration.risks import SHORTEST_TOKEN

_LOG = logging.getLogger(__name__)


class PresentToken:
    """Returns the token, or an empty text, which grants nobody access. It logs each change between the two once."""

    def __init__(self, secret: Secret) -> None:
        self._secret = secret
        self._usable = True

    def __call__(self) -> str:
        text = self._secret.present(SHORTEST_TOKEN)
        if bool(text) is not self._usable:
            self._usable = bool(text)
            if text:
                _LOG.info("intentc.diagnostics.token_file: %s can be used again", self._secret.file)
            else:
                _LOG.error(
                    "intentc.diagnostics.token_file: %s is missing, unreadable, or has fewer than %d characters;"
                    " until it is fixed the diagnostics reject all requests",
                    self._secret.file,
                    SHORTEST_TOKEN,
                )
        return text
