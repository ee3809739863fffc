"""Wherever a kill tears a file of the journal, what was whole before is found, and what comes later, too."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from intentc.journal import Entry
from intentc.journal.records import encoded, mark_of_object, record
from intentc.journal.ring import JournalFiles, newest_first, search, this_process
from intentc.model import Key, Name

RULES = Name("rules", ("a", 'b "quoted", not the end', "ü\n"))


def line(revision: int) -> bytes:
    entry = Entry(revision, Key("group", "g"), (), "done", 1, (RULES,), 1.0)
    return encoded(record(entry, lambda key: key.uuid, lambda entry: False))


def ring(directory: Path) -> JournalFiles:
    return JournalFiles(directory, files=3, file_bytes=100_000, process=this_process("lab", "host-1", 1.0))


@given(st.integers(1, 12), st.floats(0, 1))
def test_a_file_that_is_torn_anywhere_keeps_what_was_whole(lines: int, share: float) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        files = ring(directory)
        files.append(b"".join(map(line, range(lines))))
        files.close()
        (path,) = newest_first(directory)
        whole = path.read_bytes()
        path.write_bytes(whole[: round(share * len(whole))])
        expected = list(range(max(0, path.read_bytes().count(b"\n") - 1)))

        again = ring(directory)
        again.append(line(1_000))
        again.close()
        found = [one.record.revision for one in search(directory, [mark_of_object(RULES)])]
        assert found == [1_000, *reversed(expected)] or found == [1_000, len(expected), *reversed(expected)]
