"""Finds the programs that some tests need and that no wheel brings; without one, its tests are skipped.

Each reason names the command that brings the program, and the last lines of a run count the skipped tests by reason
(``tests/conftest.py``). With ``INTENTC_TEST_PROGRAMS=required``, which ``.ci/run`` sets, a missing program fails the
test; only kube-apiserver may be missing then, since it takes 11 minutes to build.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from typing import NoReturn

import pytest

from intentc.dev.etcd_server import find_binary

_PACKAGES = {
    "chromium": "apt-get install chromium",
    "curl": "apt-get install curl",
    "etcdctl": "apt-get install etcd-client",
    "kube-apiserver": "make kubernetes",
    "kubectl": "apt-get install kubernetes-client",
    "openssl": "apt-get install openssl",
}


def needed(program: str, found: str | None = None) -> str:
    """The path of ``program``: ``found``, else where PATH has it. Skips the test where it is in neither place."""
    path = found or shutil.which(program)
    if path is None:
        missing(program)
    return path


def missing(program: str) -> NoReturn:
    """Skip the test for lack of ``program``; fail it where all programs are required."""
    reason = f"{program} is missing: `{_PACKAGES[program]}` brings it"
    if os.environ.get("INTENTC_TEST_PROGRAMS") == "required" and program != "kube-apiserver":
        pytest.fail(reason)
    pytest.skip(reason)


def etcdctl() -> str:
    """The etcdctl next to the etcd that the tests run, else that of PATH."""
    beside = find_binary().resolve().with_name("etcdctl")
    return needed("etcdctl", str(beside) if beside.is_file() else None)


def skipped_lines(reports: Sequence[pytest.TestReport]) -> list[str]:
    """One line per reason for which tests were skipped, with their number."""
    counts: dict[str, int] = {}
    for report in reports:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reason = reason.removeprefix("Skipped: ")
        counts[reason] = counts.get(reason, 0) + 1
    return [f"{count} tests: {reason}" for reason, count in sorted(counts.items())]
