"""A server may open as many files as the system grants the process, however few the shell allows at first."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import resource
from intentc.listening.connections import most_connections, raise_file_limit
before = most_connections()
raise_file_limit()
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
print(before, soft, hard, most_connections())
"""


def test_a_server_raises_its_limit_of_open_files() -> None:
    # The hard limit is lowered as well, so that the test needs no rights.
    shell = 'ulimit -Sn 200 && ulimit -Hn 2000 && exec "$0" -c "$1"'
    done = subprocess.run(["sh", "-c", shell, sys.executable, CODE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["50", "2000", "2000", "256"]
