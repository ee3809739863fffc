"""Proves that the process that holds the leader's key has ended, so that its successor need not wait for its lease.

A lease ends seconds after its holder. A successor in the same pid namespace of the same boot can ask the kernel
instead, by ``/proc`` and signal 0. It proves an end only if every step is certain; anything unknown counts as "may
still run", and the lease decides. The fence covers a wrong proof: the key of the former holder is deleted, so the API
server rejects whatever that holder still sends.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
_STATE, _THREADS, _STARTED = 0, 17, 19
"""Fields 3, 20 and 22 of proc_pid_stat(5), counted after the name of the program."""
_ENDED = {"Z", "X"}


class ProcessIdentity(NamedTuple):
    """Identifies one process among all processes of its machine.

    ``boot``: the kernel's boot id. ``pid_namespace`` and ``time_namespace``: their inodes (the latter 0 on a kernel
    without). An inode is used again only after its namespace is gone, with all its processes. ``pid``: in that
    namespace. ``started``: in clock ticks since the boot, as that time namespace counts.
    """

    boot: str
    pid_namespace: int
    time_namespace: int
    pid: int
    started: int


def this_process(proc: Path = _PROC) -> ProcessIdentity | None:
    """The identity of the running process; None if any of it is unknown (no Linux, no ``/proc``, or that of another pid
    namespace)."""
    try:
        pid, stat = _read_stat(proc / "self" / "stat")
        if pid != os.getpid():
            return None
        return ProcessIdentity(
            boot=(proc / "sys/kernel/random/boot_id").read_text().strip(),
            pid_namespace=(proc / "self/ns/pid").stat().st_ino,
            time_namespace=_inode_or_zero(proc / "self/ns/time"),
            pid=pid,
            started=int(stat[_STARTED]),
        )
    except (OSError, ValueError, IndexError):
        return None


def can_be_judged(other: ProcessIdentity | None, own: ProcessIdentity | None) -> bool:
    """Whether ``own``, the running process, can learn from its kernel that ``other`` has ended: they share the boot and
    the namespaces, and differ."""
    if other is None or own is None or other == own or not own.boot:
        return False
    return other[:3] == own[:3]


def is_dead(other: ProcessIdentity | None, own: ProcessIdentity | None, proc: Path = _PROC) -> bool:
    """Whether ``other`` has certainly ended: it ``can_be_judged`` by ``own``, the running process, and its process id
    is unused, or belongs to a process that started at another time, or to a zombie without other threads. False if
    unknown."""
    if other is None or not can_be_judged(other, own):
        return False
    try:
        # Ask the kernel first: with the mount option hidepid, /proc hides processes of other users.
        os.kill(other.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    except OverflowError:
        return False
    try:
        _, stat = _read_stat(proc / str(other.pid) / "stat")
        if int(stat[_STARTED]) != other.started:
            return True
        # The last thread of a killed process may still be in a system call while its first thread is a zombie.
        return stat[_STATE] in _ENDED and int(stat[_THREADS]) <= 1
    except (OSError, ValueError, IndexError):
        return False


def read_identity(value: bytes) -> ProcessIdentity | None:
    """The holder's identity in a leader's key; None if the key has none, or it can't be read."""
    try:
        found = json.loads(value)["identity"]
        identity = ProcessIdentity(**found)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    numbers = identity[1:]
    plain = isinstance(identity.boot, str) and all(type(number) is int for number in numbers)
    return identity if plain and identity.boot and identity.pid > 0 else None


def _read_stat(path: Path) -> tuple[int, list[str]]:
    """The process id, and the fields after the program's name, which may contain spaces and brackets."""
    before, _, behind = path.read_text(errors="replace").rpartition(")")
    return int(before.split()[0]), behind.split()


def _inode_or_zero(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0
