"""The budget of random examples: profiles, and what share of a profile a test gets.

``tests/conftest.py`` loads one before tests are collected: ``ci`` (the default, the same examples every time), or
``HYPOTHESIS_PROFILE=long`` (``make properties``). No test names a number of examples of its own.
"""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings

_EXAMPLES = {"ci": 100, "long": 2000}
_HISTORIES = 0.6
"""Of the share of a test that lives through whole histories, in an ordinary run: such an example takes a quarter of a
second and more, and an ordinary run has the same ones every time."""


def load(name: str) -> None:
    """Make a profile the one in force. Raises ``KeyError`` for another than ``ci`` and ``long``."""
    settings.register_profile(
        name,
        max_examples=_EXAMPLES[name],
        derandomize=name == "ci",
        deadline=None,  # the machine may be busy; time is not what is tested
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    settings.load_profile(name)


def thorough() -> bool:
    """Whether there are examples enough that rare features can be demanded of them."""
    return int(settings().max_examples) >= _EXAMPLES["long"]


def share(part: float) -> settings:
    """So large a part of the profile's examples."""
    return settings(max_examples=max(1, round(settings().max_examples * part)))


def share_of_histories(part: float) -> settings:
    """As ``share``, for examples that are the history of a whole world."""
    return share(part if thorough() else part * _HISTORIES)


def unshrunk(part: float) -> settings:
    """As ``share_of_histories``, for what does not run the same way twice: a failure is shown as it was found."""
    return settings(share_of_histories(part), phases=[Phase.explicit, Phase.reuse, Phase.generate])
