"""``intentc`` as real processes that cost no imports: forked from one that has loaded the whole program.

Each start of Python with ``intentc`` takes most of a second of CPU, nearly all of it for imports, and the tests start
some hundreds. A forked process has its own pid, standard streams, working directory, environment and signals, and ends
as any Python does. What tests the start itself (imports, ``python -m``, variables that the interpreter reads) runs
``sys.executable``.
"""

from __future__ import annotations

from .client import PROGRAM, ROOT, Ended, Running, ended, run, start

__all__ = ["PROGRAM", "ROOT", "Ended", "Running", "ended", "run", "start"]
