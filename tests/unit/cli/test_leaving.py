"""A process ends with its code though a thread of it hangs for ever."""

from __future__ import annotations

import subprocess
import sys
import textwrap

from tests.support.waiting import PATIENCE

_HANGING = textwrap.dedent("""
    import sys, threading
    from intentc.cli import entry, process_edges

    process_edges.leave_hanging_threads.__defaults__ = (0.2 if sys.argv[1] == "hang" else 3600.0,)

    def run(arguments):
        print("printed")
        if arguments == ["hang"]:
            threading.Thread(target=threading.Event().wait, name="reader").start()
        if arguments == ["late"]:
            threading.Timer(0.05, print, ["late"]).start()
        return 5

    entry.run = run
    entry.main()
""")


def _ended(argument: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _HANGING, argument]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)


def test_a_thread_that_hangs_keeps_no_process_from_ending() -> None:
    done = _ended("hang")
    assert (done.returncode, done.stdout) == (5, "printed\n")
    assert "ending without waiting for what hangs: reader" in done.stderr


def test_a_thread_that_is_about_to_end_is_waited_for() -> None:
    done = _ended("late")
    assert (done.returncode, done.stdout, done.stderr) == (5, "printed\nlate\n", "")
