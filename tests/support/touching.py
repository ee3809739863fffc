"""What each module of a package touches outside memory, read from its source without running it.

A module touches what its code names (``time.monotonic``, ``Path.open``: ``MEANINGS``), and, through others, what the
functions touch that its code calls. A call of a protocol's method may be one of each class that has all its methods;
but what stands behind ``Store`` is etcd, and behind ``WriteService`` the API server. A class that is named counts as
constructed. A method that a class inherits from another package may call each method of the class. A function that is
handed over counts as called where it is handed over; imports call nothing.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

from .source_nodes import children
from .source_types import Scope, Source

MEANINGS = {
    "API server": "intentc.writing.service.ReadService intentc.writing.service.WriteService",
    "HTTP": "azure.core.AsyncPipelineClient azure.identity h11 http.client httpx2 starlette urllib.request uvicorn",
    "clock": "anyio.current_time anyio.fail_after anyio.move_on_after anyio.sleep asyncio.get_running_loop.call_later"
    " asyncio.get_running_loop.time asyncio.sleep asyncio.timeout asyncio.wait_for datetime.date.today"
    " datetime.datetime.now intentc.queue.keyed.Clock signal.setitimer time.localtime time.monotonic"
    " time.perf_counter time.process_time time.sleep time.thread_time time.time",
    "environment": "os.environ os.getpid os.getuid platform resource socket.getfqdn socket.gethostname sys.argv"
    " sys.executable sys.prefix",
    "etcd": "intentc.watch.protocol.Store intentc.watch.protocol.Watch",
    "files": "builtins.open click.Path fcntl importlib.metadata importlib.resources jinja2.FileSystemLoader mmap"
    " os.fdopen os.fstat os.fsync os.ftruncate os.open os.pread os.read os.write pathlib.Path.chmod pathlib.Path.cwd"
    " pathlib.Path.exists pathlib.Path.expanduser pathlib.Path.glob pathlib.Path.is_dir pathlib.Path.is_file"
    " pathlib.Path.is_symlink pathlib.Path.iterdir pathlib.Path.lstat pathlib.Path.mkdir pathlib.Path.open"
    " pathlib.Path.read_bytes pathlib.Path.read_text pathlib.Path.rename pathlib.Path.replace pathlib.Path.resolve"
    " pathlib.Path.rglob pathlib.Path.rmdir pathlib.Path.samefile pathlib.Path.stat pathlib.Path.touch"
    " pathlib.Path.unlink pathlib.Path.write_bytes pathlib.Path.write_text pkgutil.walk_packages shutil"
    " ssl.create_default_context sysconfig tempfile",
    "gRPC": "grpc",
    "logs": "logging",
    "metrics": "prometheus_client",
    "processes": "anyio.open_process anyio.run_process faulthandler gc os._exit os.execv os.kill os.killpg os.nice"
    " os.waitid signal subprocess sys.exit",
    "randomness": "os.urandom random secrets tempfile uuid.uuid1 uuid.uuid4",
    "sockets": "select socket ssl.SSLContext ssl.create_default_context",
    "terminal": "builtins.input builtins.print click.confirm click.echo click.prompt click.secho rich sys.stderr"
    " sys.stdin sys.stdout",
    "threads": "_thread anyio.to_thread asyncio.to_thread concurrent.futures threading",
}
"""Word → the names that mean it, with all names below each but those of ``EXCEPT``."""
EXCEPT = {"socket.getfqdn": "sockets", "socket.gethostname": "sockets"}
"""Name → the word of a name above it that it does not mean."""
WAITS = frozenset(("anyio.sleep", "asyncio.sleep", "time.sleep"))
"""Called with 0, they only give others a turn: no clock is read, and no time is waited for."""
ENTERED = ("__init__", "__post_init__", "__new__", "__enter__", "__aenter__", "__exit__", "__aexit__")
"""What naming a class calls, beside its body; its other methods are called by name."""

DEFINED_APART = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@cache
def meaning(name: str) -> frozenset[str]:
    """The words that a dotted name means: ``os.environ.get`` → environment."""
    parts = name.split(".")
    names = {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
    return frozenset(
        word for word, meant in MEANINGS.items() if not names.isdisjoint(meant.split()) and EXCEPT.get(name) != word
    )


class Touching:
    """``own[module]``: the words that its code names; ``all[module]``: with those of the functions that it calls."""

    def __init__(self, folder: Path) -> None:
        self._source = Source(folder)
        self._meant: dict[str, set[str]] = {}
        """Function, class or module → the names with a meaning in its code."""
        self._called: dict[str, set[str]] = {}
        self.own: dict[str, set[str]] = {module: set() for module in self._source.modules}
        self.all: dict[str, set[str]] = {module: set() for module in self._source.modules}
        for name in [*self._source.modules, *self._source.definitions]:
            self._meant[name], self._called[name] = set(), set()
        for name, (module, node) in self._source.definitions.items():
            above = name.rpartition(".")[0]
            self._scan(name, module, node, {}, above if self._source.is_class(above) else None)
        for module, tree in self._source.modules.items():
            for node in tree.body:
                if not isinstance(node, DEFINED_APART):
                    self._scan(module, module, node, {})
        own = {name: {word for each in meant for word in meaning(each)} for name, meant in self._meant.items()}
        touched = self._with_called(own)
        for name in own:
            self.own[self._module(name)] |= own[name]
            self.all[self._module(name)] |= touched[name]

    def docstring(self, module: str) -> str:
        """Empty if it has none."""
        return ast.get_docstring(self._source.modules[module]) or ""

    def example(self, module: str, word: str) -> str:
        """The calls by which a module touches ``word``: ``a.f > b.g > time.time``."""
        seen = {name for name in self._called if self._module(name) == module}
        paths = [[name] for name in sorted(seen)]
        for path in paths:
            if found := sorted(name for name in self._meant[path[-1]] if word in meaning(name)):
                return " > ".join([*path, found[0]])
            paths += [[*path, called] for called in sorted(self._called[path[-1]] - seen)]
            seen |= self._called[path[-1]]
        raise ValueError(f"{module} does not touch {word}")

    def _module(self, name: str) -> str:
        return self._source.definitions[name][0] if name in self._source.definitions else name

    def _with_called(self, own: dict[str, set[str]]) -> dict[str, set[str]]:
        touched = {name: set(words) for name, words in own.items()}
        callers: defaultdict[str, set[str]] = defaultdict(set)
        for name, called in self._called.items():
            for each in called:
                callers[each].add(name)
        waiting = set(touched)
        while waiting:
            name = waiting.pop()
            for caller in callers[name]:
                if not touched[name] <= touched[caller]:
                    touched[caller] |= touched[name]
                    waiting.add(caller)
        return touched

    def _use(self, user: str, name: str) -> None:
        if meaning(name):
            self._meant[user].add(name)
        elif name in self._source.definitions:
            self._called[user].add(name)
            if self._source.is_class(name):
                constructors = set().union(*(self._source.members(name, each) for each in ENTERED))
                self._called[user] |= constructors & self._source.definitions.keys()

    def _use_member(self, user: str, owners: set[str], member: str) -> None:
        for owner in owners:
            found = {f"{owner}.{member}"} if meaning(owner) else self._source.members(owner, member)
            if self._source.inherits_from_others(owner) and found.isdisjoint(self._source.definitions):
                found |= {f"{owner}.{method}" for method in self._source.methods[owner]}
            for each in found:
                self._use(user, each)

    def _scan(self, user: str, module: str, node: ast.AST, scope: Scope, inside: str | None = None) -> None:
        source = self._source
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for default in [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]:
                    self._scan(user, module, default, scope)
                scope = source.scope(module, node, inside, scope)
            case ast.Name(id=name, ctx=ast.Load()) if name not in scope:
                self._use(user, source.dotted(module, node) or f"builtins.{name}")
            case ast.Call(func=ast.Name(id="cls")):
                for each in scope.get("cls", ()):
                    self._use(user, each)
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=attribute):
                for each in scope.get("self", scope.get("cls", ())):
                    for inherited in source.inherited(each, attribute):
                        self._use(user, inherited)
            case ast.Attribute(value=owner, attr=attribute):
                full = source.named(module, node, scope) or ""
                self._use(user, full)
                if full not in source.definitions:
                    self._use_member(user, source.types(module, owner, scope), attribute)
            case ast.Subscript(value=owner):
                self._use_member(user, source.types(module, owner, scope), "__getitem__")
            case ast.withitem(context_expr=entered):
                for each in source.types(module, entered, scope):
                    self._use(user, each)
        for part in self._parts(module, node, scope):
            self._scan(user, module, part, scope)

    def _parts(self, module: str, node: ast.AST, scope: Scope) -> list[ast.AST]:
        """What runs of a node: no annotations, and no classes with which a value is only compared."""
        match node:
            case ast.Import() | ast.ImportFrom() | ast.If(test=ast.Name(id="TYPE_CHECKING")):
                return []
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ExceptHandler():
                return [*node.body]
            case ast.AnnAssign():
                return [part for part in (node.target, node.value) if part]
            case ast.Call(func=called, args=[ast.Constant(value=0)]) if self._source.dotted(module, called) in WAITS:
                return []
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass")):
                return [*node.args[:1]]
            case ast.MatchClass():
                return [*node.patterns, *node.kwd_patterns]
            case ast.Attribute() if self._source.named(module, node, scope) in EXCEPT:
                return []
            case ast.Attribute() if self._source.is_class(self._source.named(module, node.value, scope) or ""):
                return []
        parts = children(node)
        return (
            [part for part in parts if not isinstance(part, DEFINED_APART)] if isinstance(node, ast.ClassDef) else parts
        )
