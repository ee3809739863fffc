"""The token of the diagnostics as its file has it now; without a usable file there is none, and nobody is let in.

Why it differs from a password: that one *we* show, and while its file is being replaced the former is the best guess.
Here somebody takes the file away so that those who know the token come in no more. Who is asked for it is ``access``'s
business.
"""

from __future__ import annotations

import logging

from intentc.loading.configuration import Secret
from intentc.loading.configuration.risks import SHORTEST_TOKEN

_LOG = logging.getLogger(__name__)


class PresentToken:
    """Gives the token, or an empty text, which lets nobody in. Each change between both is said once in the log."""

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
                    "intentc.diagnostics.token_file: %s is not there, can't be read, or has fewer than %d characters;"
                    " until that is mended the diagnostics let nobody in",
                    self._secret.file,
                    SHORTEST_TOKEN,
                )
        return text
