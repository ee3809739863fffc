"""The author's API and the description of a compiler."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import intentc
from intentc.evaluation import Compiler, Intent
from intentc.model import InvalidInput


class Red(Intent):
    kind = "red"


class OtherRed(Intent):
    kind = "red"


class Blue(Intent):
    kind = "blue"
    trust = "reactions"


class Nameless(Intent):
    pass


class Wrong(Intent):
    kind = "wrong"
    trust = "nobody"


def test_every_exported_name_is_there_and_the_list_is_sorted() -> None:
    assert intentc.__all__ == sorted(intentc.__all__)
    assert all(getattr(intentc, name) is not None for name in intentc.__all__)
    assert dir(intentc) == intentc.__all__


def test_an_unknown_name_is_rejected_with_what_there_is() -> None:
    with pytest.raises(AttributeError, match="the author's API is Claim, Compiled, Compiler"):
        intentc.Intnet  # noqa: B018


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys, intentc; print([m for m in sys.modules if m.startswith(('intentc.', 'msgspec'))])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_compiler_knows_its_intents_by_kind_and_what_they_trust() -> None:
    compiler = Compiler("toy", [Red, Blue])
    assert compiler.intents == {"red": Red, "blue": Blue}
    assert compiler.intent_kinds == {"red": False, "blue": True}


@pytest.mark.parametrize(
    ("intents", "words"),
    [([Red, OtherRed], "both compile red"), ([Nameless], "has no kind"), ([Wrong], "trust is 'nobody'")],
)
def test_a_compiler_that_contradicts_itself_is_rejected(intents: Any, words: Any) -> None:
    with pytest.raises(InvalidInput, match=words):
        Compiler("toy", intents)


class Misspelt(Intent):
    kind = "misspelt"

    def evalute(self, ctx: Any) -> Any:
        return ()


class Asynchronous(Intent):
    kind = "asynchronous"

    async def evaluate(self, ctx: Any) -> Any:  # type: ignore[override]
        return ()


@pytest.mark.parametrize(
    ("intent", "words"),
    [
        (Misspelt, "Misspelt has 'evalute' and no `evaluate`, so nothing would follow from a misspelt"),
        (Asynchronous, "Asynchronous.evaluate is async"),
    ],
)
def test_an_evaluate_that_would_never_run_is_rejected_with_its_line(intent: Any, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Compiler("toy", [intent])
    assert words in str(caught.value)
    assert caught.value.source.startswith(f"{__file__}:")


def test_a_helper_next_to_evaluate_may_have_a_similar_name() -> None:
    class Helped(Red):
        kind = "helped"

        def evaluate(self, ctx: Any) -> Any:
            return self.evaluated()

        def evaluated(self) -> Any:
            return ()

    assert Compiler("toy", [Helped]).intents == {"helped": Helped}


def test_an_intent_without_evaluate_only_takes_part_in_relations() -> None:
    nothing: Any = None
    assert list(Red.evaluate(nothing, nothing)) == []
