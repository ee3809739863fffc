"""Finds the version of the package, and the commit that it was built from.

Why it exists: a version alone does not identify the code of a checkout, or of a wheel between two releases. A wheel
contains the commit in a file, which ``hatch_build.py`` writes with the functions below; a checkout queries git. Else
the commit is ``unknown``. This module imports only the standard library, since the build runs it by itself.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

UNKNOWN = "unknown"
COMMIT_FILE = "data/commit"
"""The file with a wheel's commit, below the package."""

_PACKAGE = Path(__file__).resolve().parent.parent
_GIT_SECONDS = 10.0


def version_line() -> str:
    """What ``intentc --version`` prints, such as ``intentc 0.1.0 (commit 573d44c09abb)``."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        number = version("intentc")
    except PackageNotFoundError:
        number = UNKNOWN
    return f"intentc {number} (commit {commit()})"


def commit(package: Path = _PACKAGE) -> str:
    """The commit of the installed package, or of the checkout around it; with ``-dirty`` if files differ from it.
    ``unknown`` if neither is known."""
    recorded = package / COMMIT_FILE
    if recorded.is_file():
        return recorded.read_text().strip() or UNKNOWN
    return commit_of_checkout(package.parent) or UNKNOWN


def commit_of_checkout(folder: Path) -> str | None:
    """The commit of a checkout, from git. None if ``folder`` is not the top of one, or git fails."""
    # Without this check git would name the commit of any repository around an unpacked archive.
    if not (folder / ".git").exists():
        return None
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        asked = subprocess.run(  # noqa: S603 - the words are all ours
            command, capture_output=True, text=True, check=True, timeout=_GIT_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return asked.stdout.strip() or None
