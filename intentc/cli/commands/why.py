"""``intentc why``: explains why an object exists or does not, as a tree or as a document.

The running compiler answers (``GET /why``). The tree is coloured on a terminal, else plain and never wrapped. Names
come from anyone who may write resources: control characters are escaped, so that no name moves the cursor.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from intentc.loading.configuration import Loaded

from ..command_error import Exit
from ..command_options import configured, output_option
from ..diagnostics_client import asked
from ..output import print_document, span

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree


_PAGE = 500
"""Parts in one answer of the running compiler."""


@click.command(name="why")
@click.argument("kind")
@click.argument("name")
@click.option(
    "--part",
    default="",
    help="Only parts (fields, rules, references) with this text in their names or values.",
)
@click.option("--all", "everything", is_flag=True, help="Show every part, all reads, and the history.")
@output_option
@configured()
async def command(kind: str, name: str, part: str, everything: bool, output: str, loaded: Loaded) -> int:
    """Explain why the resource of KIND with NAME is as it is, or why there is none (queries the running compiler).

    NAME: the fq_name joined by ':', a unique end of it, or the uuid. For compiled resources: the resources and fields
    that each part follows from, the cause of the last evaluation, and the writer. For users' resources: what follows
    from them, and what they wait for. Exit code 1 if there is no such object, or no such part.

    Names of another program work, too, with the program in place of KIND: for Envoy
    `intentc why envoy cluster.NAME.upstream_rq_5xx`.
    """
    if not name:
        raise click.UsageError(
            "NAME is empty: give the fq_name, a unique end of it, or the uuid", click.get_current_context()
        )
    answer = await _answer(kind, name, part, everything, loaded)
    if output == "table":
        print_tree(answer, part=part, everything=everything)
    else:
        print_document(output, answer, (), ())
    found = answer["exists"] and (answer["parts"] or not part)
    return Exit.DONE if found else Exit.DIFFERENT


async def _answer(kind: str, name: str, part: str, everything: bool, loaded: Loaded) -> dict[str, Any]:
    """The compiler's answer; with all its parts if ``everything`` is set."""
    where = loaded.configuration.intentc.diagnostics
    parameters = {"kind": kind, "name": name, "part": part}
    answer = await asked(where, "/why", {**parameters, **({"limit": str(_PAGE)} if everything else {})})
    parts = answer["parts"]
    while everything and len(parts) < answer["parts_total"]:
        page = await asked(where, "/why", {**parameters, "limit": str(_PAGE), "offset": str(len(parts))})
        if not page["parts"]:
            break
        parts += page["parts"]
    return answer


Document = dict[str, Any]

_SHOWN = 10
"""Entries shown of each list, unless ``everything`` is set."""
_PARTS = 20
_LINE = 300
"""Characters shown of a part's value."""
_UNWRAPPED = 100_000
_CLAIMS = {"kept": "stays as it is", "dropped": "must not be there"}
"""What is claimed of a part other than a value."""
_GOOD, _BAD, _FAINT = "green", "yellow", "dim"


def print_tree(answer: Document, *, part: str = "", everything: bool = False) -> None:
    """Print the tree on stdout. ``everything``: lists are not cut. ``part``: as for ``tree_of``."""
    from rich.console import Console

    terminal = sys.stdout.isatty()
    console = Console(file=sys.stdout, width=None if terminal else _UNWRAPPED, highlight=False, soft_wrap=False)
    console.print(tree_of(answer, now=time.time(), part=part, everything=everything))


def tree_of(answer: Document, *, now: float, part: str = "", everything: bool = False) -> Tree:
    """The tree of an answer. ``now``: seconds since 1970, for ages. ``part``: the text that selected the parts."""
    from rich.tree import Tree

    tree = Tree(_head(answer))
    whole = [each for each in answer["parts"] if not each["part"]]
    deleted = answer.get("deleted")
    if deleted is not None and deleted["at"] is not None:
        tree.add(_text(f"deleted at revision {deleted['revision']}, {_age(deleted['at'], now)}", style=_BAD))
    waiting = answer["waiting_for"]
    if answer["state"] != "as desired" or not whole:
        tree.add(_text(_without_details(answer["summary"], waiting)))
    for waited in waiting:
        branch = tree.add(_text(f"waits for {waited['what']}", style=_BAD))
        if waited["command"]:
            branch.add(_text(f"see: {waited['command']}", style=_FAINT))
    said = [waited["what"] for waited in waiting]
    for problem in answer["problems"]:
        if not any(problem["message"] in what for what in said):
            about = f"{problem['kind']} {problem['name']}: {problem['message']}"
            tree.add(_text(f"problem {problem['reason']}: {about}", style=_BAD))
        if trace := problem.get("trace"):
            branch = tree.add(_text(f"where {problem['kind']} {problem['name']} failed"))
            for line in trace:
                branch.add(_text(line))
    if answer.get("candidates"):
        branch = tree.add("similar names")
        for name in answer["candidates"]:
            branch.add(_text(name))
    _parts(tree, answer, whole, part, everything=everything)
    _lists(tree, answer, everything=everything)
    for evaluation in _cut(answer["evaluations"], everything):
        tree.add(_text(_evaluated(evaluation, now, alone=len(answer["evaluations"]) == 1)))
    if answer["written"] is not None:
        tree.add(_text(_written(answer["written"], now)))
    if (everything or deleted is not None) and answer["history"]:
        branch = tree.add("history")
        for line in answer["history"]:
            branch.add(_text(_line(line, now)))
    return tree


def _without_details(summary: str, waiting: Sequence[Document]) -> str:
    """The summary without what the lines below it repeat."""
    for waited in waiting[:1]:
        for link in (f", and waits for {waited['what']}", f"; it waits for {waited['what']}"):
            if link in summary:
                return f"{summary.partition(link)[0]}."
    return summary


def _head(answer: Document) -> Text:
    words = [answer["state"], *([answer["ownership"]] if answer["ownership"] and answer["role"] != "input" else [])]
    if answer["revision"]:
        words.append(f"revision {answer['revision']}")
    head = _text(_words(answer), style="bold")
    return head.append("   ").append(", ".join(words), style=_GOOD if answer["state"] == "as desired" else _BAD)


def _parts(tree: Tree, answer: Document, whole: Sequence[Document], part: str, *, everything: bool) -> None:
    for each in whole:
        _reasons(tree, "because of", each, inline=True)
    others = [each for each in answer["parts"] if each["part"]]
    alike = [_label(each) for each in others if whole and each["reasons"] == whole[0]["reasons"]]
    if alike:
        more = f" and {len(alike) - _SHOWN} more" if len(alike) > _SHOWN and not everything else ""
        tree.add(_text(f"for the same reason: {', '.join(_cut(alike, everything))}{more}"))
    own = [each for each in others if _label(each) not in alike]
    shown = own if everything else own[:_PARTS]
    for each in shown:
        _reasons(tree, _label(each), each, inline=False)
    if part and not answer["parts"] and answer["exists"]:
        tree.add(_text(f"no part has {part!r} in its name or in what it holds", style=_BAD))
    left = answer["parts_total"] - len(whole) - len(alike) - len(shown)
    if left > 0:
        tree.add(_text(f"… {left} more parts: --all shows them, --part TEXT chooses", style=_FAINT))


def _label(part: Document) -> str:
    claim = _CLAIMS.get(part.get("claim", ""))
    return f"{part['part']}  ({claim})" if claim else str(part["part"])


def _reasons(tree: Tree, label: str, part: Document, *, inline: bool) -> None:
    """Add the reasons of one part: the sources of the only one, or each reason with its sources."""
    reasons = part["reasons"]
    alone = [reason["sources"][0] for reason in reasons if len(reason["sources"]) == 1]
    if inline and len(reasons) == len(alone) == 1:
        tree.add(_text(f"{label} {_source(alone[0])}"))
        return
    if len(reasons) > 1:
        label = f"{label} any of these" if inline else f"{label}: any of these suffices"
    branch = tree.add(_text(label))
    if not inline and part.get("value"):
        branch.add(_text(f"holds {_compact(part['value'])}", style=_FAINT))
    if len(reasons) == 1:
        alone = reasons[0]["sources"]
    if len(reasons) == 1 or len(alone) == len(reasons):
        for source in alone:
            branch.add(_text(_source(source)))
    else:
        for reason in reasons:
            each = branch.add(_text(f"contributed by {_words(reason['intent'])}", style=_FAINT))
            for source in reason["sources"]:
                each.add(_text(_source(source)))
    if part.get("reasons_total", 0) > len(reasons):
        branch.add(_text(f"… {part['reasons_total'] - len(reasons)} more reasons", style=_FAINT))


def _lists(tree: Tree, answer: Document, *, everything: bool) -> None:
    made = [f"{_words(output)}   {output['state']}{_with(output)}" for output in answer["outputs"]]
    _list(tree, "what follows from it", made, answer["outputs_total"], everything=everything)
    needing = [f"{_words(each)}  {each['part']}".rstrip() for each in answer.get("needed_by", ())]
    among = "" if answer.get("needed_by_whole", True) else ", and perhaps more"
    _list(tree, f"others that need it{among}", needing, answer.get("needed_by_total", 0), everything=everything)
    if answer["exists"] and answer["role"] in ("input", "both"):
        command = f"intentc plan --delete --kind {answer['kind']} {shlex.quote(answer['name'])}"
        tree.add(_text(f"`{command}` shows what deleting it would change", style=_FAINT))
    lacking = [f"{each['relation']}: {each['target']}" for each in answer["missing"]]
    _list(tree, "missing targets of its references", lacking, len(lacking), everything=everything)
    naming = [f"{_words(each)}   {each['relation']}" for each in answer.get("named_by", ())]
    _list(tree, "dangling references to it", naming, answer.get("named_by_total", 0), everything=everything)
    _list(tree, "who reads it", map(_words, answer["concerns"]), answer["concerns_total"], everything=everything)
    if everything:
        read = [f"{_words(each)}  (revision {each['revision']})" for each in answer["reads"]]
        _list(tree, "what was read for it", read, answer["reads_total"], everything=True)
    elif answer["reads_total"]:
        count = _counted(answer["reads_total"], "resource was", "resources were")
        tree.add(_text(f"{count} read for it: --all shows them", style=_FAINT))


def _list(tree: Tree, label: str, texts: Iterable[str], total: int, *, everything: bool) -> None:
    shown = _cut(list(texts), everything)
    if not shown:
        return
    branch = tree.add(_text(f"{label} ({total})"))
    for text in shown:
        branch.add(_text(text))
    if total > len(shown):
        branch.add(_text(f"… {total - len(shown)} more", style=_FAINT))


def _counted(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


def _with(output: Document) -> str:
    others = output.get("with_others", 0)
    return f", with {_counted(others, 'other', 'others')}" if others else ""


def _compact(value: str) -> str:
    """A part's value on one line, without empty fields."""
    with contextlib.suppress(ValueError):  # it may have been cut
        value = json.dumps(_without_empty(json.loads(value)), ensure_ascii=False, separators=(",", ":"))
    return value if len(value) <= _LINE else f"{value[:_LINE]}…"


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        inner = ((name, _without_empty(one)) for name, one in value.items())
        return {name: one for name, one in inner if one not in (None, {}, [], "")}
    return [_without_empty(one) for one in value] if isinstance(value, list) else value


def _source(source: Document) -> str:
    field = f"  {source['field']}" if source["field"] else ""
    revision = f"revision {source['revision']}" if source["revision"] else "not there"
    return f"{_words(source)}{field}  ({revision})"


def _evaluated(evaluation: Document, now: float, *, alone: bool) -> str:
    who = "" if alone else f" {_words(evaluation['intent'])}"
    status = f" ({evaluation['status']})" if evaluation["status"] else ""
    if evaluation["path"] is None or evaluation["revision"] is None:
        return f"last evaluated{who}: {evaluation['recorded_in']}{status}"
    path = " → ".join(map(_words, evaluation["path"]))
    by = f": {path}" if path else ""
    source = ", from its journal files" if evaluation["recorded_in"] == "files" else ""
    return (
        f"last evaluated{who} at revision {evaluation['revision']}, {_age(evaluation['at'], now)}{by}{status}{source}"
    )


def _written(written: Document, now: float) -> str:
    operation = f"{written['operation']} " if written["operation"] else ""
    revision = f"at revision {written['revision']}" if written["revision"] else ""
    if written["at"] is None:
        return f"written: {operation}{revision}, {written['by']}"
    return f"written: {operation}{revision} by {written['by']}, {_age(written['at'], now)}"


def _line(line: Document, now: float) -> str:
    if line["sort"] == "write":
        drift = " (somebody else had changed it)" if line["drift"] else ""
        fields = f": {', '.join(line['fields'])}" if line.get("fields") else ""
        return f"{_age(line['at'], now)}: {line['operation']} {_words(line['object'])}{fields}{drift}{_by(line)}"
    path = " → ".join(map(_words, line["path"])) or _words(line["intent"])
    return f"{_age(line['at'], now)}: evaluated at revision {line['revision']}: {path} ({line['status']}){_by(line)}"


def _by(line: Document) -> str:
    """The process of a line, if it is another one."""
    return f", by {line['by']}" if line.get("by") else ""


def _age(at: float, now: float) -> str:
    return f"{span(max(0.0, now - at))} ago"


def _words(resource: Document) -> str:
    return f"{resource['kind']} {resource['name'] or resource['uuid']}"


def _cut(items: list[Any], everything: bool) -> list[Any]:
    return items if everything else items[:_SHOWN]


def _text(text: str, style: str = "") -> Text:
    """Plain text: markup is not interpreted, and control characters are escaped."""
    from rich.text import Text

    return Text("".join(_printable(text)), style=style)


def _printable(text: str) -> Iterator[str]:
    return (sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
