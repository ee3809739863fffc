"""Which function or class a name of a package's source means, from imports and annotations, without running anything.

It follows imports to where a name is defined, and infers what a value may be an instance of: from annotations of
parameters, attributes and results, from calls of classes, and from assignments. Containers count as their elements:
after ``for each in boxes``, with ``boxes: dict[str, Box]``, ``each`` may be a ``str`` or a ``Box``.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from .source_nodes import children, walk

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Scope: TypeAlias = dict[str, set[str]]
"""A function's parameters and variables → the dotted names of the classes of which each may be an instance."""

FORMS = ("typing.", "enum.", "msgspec.", "collections.", "builtins.", "dataclasses.", "abc.")
"""Where the classes are from that never call back."""
OF_CONTAINERS = frozenset(("copy", "get", "items", "pop", "popitem", "popleft", "setdefault", "values"))
"""Methods of containers that return elements."""


class Source:
    """The modules below ``folder``, a package. Names of other packages are kept as they are: ``time.monotonic``."""

    def __init__(self, folder: Path) -> None:
        self.modules: dict[str, ast.Module] = {}
        self.imports: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self.definitions: dict[str, tuple[str, ast.stmt]] = {}
        """Dotted name → its module, and the function, class or assignment there."""
        self.methods: defaultdict[str, dict[str, Function]] = defaultdict(dict)
        """Class → its methods, properties included."""
        self.children: defaultdict[str, set[str]] = defaultdict(set)
        """Class → itself, the classes that inherit from it and, of a protocol, those that have all its methods."""
        self._attributes: dict[tuple[str, str], set[str]] = {}
        self._to_self: dict[Function, dict[str, list[ast.AST]]] = {}
        self._scopes: dict[ast.AST, Scope] = {}
        self._resolving: set[str] = set()
        for path in sorted(folder.rglob("*.py")):
            if not path.name.endswith("_pb2.py"):
                parts = path.relative_to(folder.parent).with_suffix("").parts
                self._read(".".join(parts).removesuffix(".__init__"), path)
        self.ancestors = {name: self._ancestors(name) for name in self.definitions if self.is_class(name)}
        for name, ancestors in self.ancestors.items():
            for each in ancestors:
                self.children[each].add(name)
        for protocol in [name for name in self.ancestors if "typing.Protocol" in self._bases(name)]:
            wanted = self._all_methods(protocol)
            self.children[protocol] |= {each for each in self.ancestors if wanted and self._has_all(each, wanted)}

    def _read(self, module: str, path: Path) -> None:
        tree = self.modules[module] = ast.parse(path.read_text())
        package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
        for node in walk(tree):
            if isinstance(node, ast.Import):
                for name in node.names:
                    top = name.name.partition(".")[0]
                    self.imports[module][name.asname or top] = name.name if name.asname else top
            elif isinstance(node, ast.ImportFrom):
                above = package[: len(package) - node.level + 1] if node.level else []
                for name in node.names:
                    full = ".".join([*above, *([node.module] if node.module else []), name.name])
                    self.imports[module][name.asname or name.name] = full
        self._define(module, module, tree.body)

    def _define(self, module: str, inside: str, body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, Function | ast.ClassDef):
                self.definitions[f"{inside}.{node.name}"] = (module, node)
                if isinstance(node, ast.ClassDef):
                    self._define(module, f"{inside}.{node.name}", node.body)
                elif inside != module:
                    self.methods[inside][node.name] = node
            elif isinstance(node, ast.Assign | ast.AnnAssign) and inside == module:
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if isinstance(target, ast.Name):
                        self.definitions[f"{module}.{target.id}"] = (module, node)
            elif isinstance(node, ast.If | ast.Try | ast.With):
                self._define(module, inside, node.body)

    def is_class(self, name: str) -> bool:
        return name in self.definitions and isinstance(self.definitions[name][1], ast.ClassDef)

    def _ancestors(self, name: str) -> list[str]:
        found = [name]
        for above in self._bases(name):
            found += self._ancestors(above) if self.is_class(above) else [above]
        return found

    def _bases(self, name: str) -> Iterator[str]:
        module, node = self.definitions[name]
        assert isinstance(node, ast.ClassDef)
        for base in node.bases:
            if found := self.dotted(module, base.value if isinstance(base, ast.Subscript) else base):
                yield found

    def _all_methods(self, name: str) -> dict[str, Function]:
        return {key: method for each in reversed(self.ancestors[name]) for key, method in self.methods[each].items()}

    def _has_all(self, name: str, wanted: dict[str, Function]) -> bool:
        """Whether a class has all these methods of a protocol, with the same parameters; one of them at least, where
        an attribute would do as well."""
        own = self._all_methods(name)
        return not own.keys().isdisjoint(wanted) and all(
            _fits(own[key], method) if key in own else self._has_attribute(name, key) for key, method in wanted.items()
        )

    def _has_attribute(self, name: str, attribute: str) -> bool:
        bodies = [part for each in self.ancestors[name] if self.is_class(each) for part in self._body(each)]
        return any(
            attribute in self._assignments_to_self(part)
            if isinstance(part, Function)
            else any(isinstance(target, ast.Name) and target.id == attribute for target in _targets(part))
            for part in bodies
        )

    def _body(self, name: str) -> list[ast.stmt]:
        node = self.definitions[name][1]
        assert isinstance(node, ast.ClassDef)
        return node.body

    def original(self, name: str) -> str:
        """Where ``name`` is defined, if packages import it from there."""
        while name not in self.definitions and name not in self.modules:
            above, _, last = name.rpartition(".")
            if last in self.imports.get(above, {}):
                name = self.imports[above][last]
            elif above and (there := self.original(above)) != above:
                name = f"{there}.{last}"
            else:
                break
        return name

    def dotted(self, module: str, node: ast.expr) -> str | None:
        """The full name that ``a`` or ``a.b`` means in a module, unless ``a`` is a variable of a function."""
        if isinstance(node, ast.Attribute):
            above = self.dotted(module, node.value)
            return self.original(f"{above}.{node.attr}") if above else None
        if not isinstance(node, ast.Name):
            return None
        if node.id in self.imports[module]:
            return self.original(self.imports[module][node.id])
        return f"{module}.{node.id}" if f"{module}.{node.id}" in self.definitions else None

    def inherits_from_others(self, name: str) -> bool:
        """Whether a class of ours inherits from one of another package, which then calls its methods; other than
        those that only give a class its form."""
        return any(each not in self.ancestors and not each.startswith(FORMS) for each in self.ancestors.get(name, ()))

    def members(self, name: str, member: str) -> set[str]:
        """What ``.member`` of an instance may be: of its class or an ancestor, and of each class below."""
        ancestors = self.ancestors.get(name, [name])
        own = [f"{each}.{member}" for each in ancestors if f"{each}.{member}" in self.definitions][:1]
        below = {f"{each}.{member}" for each in self.children[name]} & self.definitions.keys()
        return below.union(own) or {f"{each}.{member}" for each in ancestors if each not in self.ancestors}

    def inherited(self, name: str, member: str) -> set[str]:
        """What ``super().member`` may be in a method of a class."""
        above = self.ancestors[name][1:]
        own = {f"{each}.{member}" for each in above if f"{each}.{member}" in self.definitions}
        return own or {f"{each}.{member}" for each in above if each not in self.ancestors}

    def annotated(self, module: str, node: ast.expr | None) -> set[str]:
        """All classes that an annotation names, through aliases."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = ast.parse(node.value, mode="eval").body
        if isinstance(node, ast.Subscript) and (self.dotted(module, node.value) or "").endswith("Literal"):
            return set()  # its texts are values, and name no classes
        if isinstance(node, ast.Name | ast.Attribute):
            return self._alias(name) if (name := self.dotted(module, node)) else set()
        parts = children(node) if node else ()
        return set().union(*(self.annotated(module, part) for part in parts if isinstance(part, ast.expr)))

    def _alias(self, name: str) -> set[str]:
        where, node = self.definitions.get(name, ("", None))
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            return {name}
        if name in self._resolving:
            return set()
        self._resolving.add(name)
        try:
            return self.annotated(where, node.value)
        finally:
            self._resolving.discard(name)

    def attribute(self, name: str, attribute: str) -> set[str]:
        """Of which classes ``.attribute`` of an instance of class ``name`` may be an instance; empty: unknown."""
        if (name, attribute) not in self._attributes:
            self._attributes[name, attribute] = set()
            known = (self._attribute_here(each, attribute) for each in self.ancestors[name] if each in self.definitions)
            self._attributes[name, attribute] = next((found for found in known if found), set())
        return self._attributes[name, attribute]

    def _attribute_here(self, name: str, attribute: str) -> set[str]:
        module, node = self.definitions[name]
        assert isinstance(node, ast.ClassDef)
        found: set[str] = set()
        for part in node.body:
            if isinstance(part, Function):
                if part.name == attribute:
                    found |= self.annotated(module, part.returns)
                for each in self._assignments_to_self(part).get(attribute, ()):
                    found |= self._assigned(module, each, self.scope(module, part, name, {}))
            elif any(isinstance(target, ast.Name) and target.id == attribute for target in _targets(part)):
                found |= self._assigned(module, part, {})
        return found

    def _assignments_to_self(self, method: Function) -> dict[str, list[ast.AST]]:
        if method not in self._to_self:
            found = self._to_self[method] = defaultdict(list)
            for node in walk(method):
                for target in _targets(node):
                    match target:
                        case ast.Attribute(value=ast.Name(id="self"), attr=attribute):
                            found[attribute].append(node)
        return self._to_self[method]

    def _assigned(self, module: str, node: ast.AST, scope: Scope) -> set[str]:
        if isinstance(node, ast.AnnAssign):
            return self.annotated(module, node.annotation)
        assert isinstance(node, ast.Assign)
        return self.types(module, node.value, scope)

    def scope(self, module: str, function: Function, inside: str | None, outer: Scope) -> Scope:
        """The variables of a function; ``inside``: the class whose method it is."""
        if function in self._scopes:
            return self._scopes[function]
        scope = self._scopes[function] = dict(outer)
        arguments = function.args
        for each in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]:
            if each:
                own = inside and each.arg in ("self", "cls")
                scope[each.arg] = {inside} if inside and own else self.annotated(module, each.annotation)
        bindings = [(node, *pair) for node in walk(function) for pair in _bindings(node)]
        for node, target, value in bindings * 2:  # twice, since a loop may use a variable above its assignment
            names = [each.id for each in walk(target) if isinstance(each, ast.Name)]
            if isinstance(node, ast.AnnAssign) and isinstance(target, ast.Name):
                scope[target.id] = self.annotated(module, value)
            elif names and not isinstance(target, ast.Attribute | ast.Subscript):
                found = self.types(module, value, scope)
                scope.update({name: scope.get(name, set()) | found for name in names})
        return scope

    def types(self, module: str, node: ast.expr, scope: Scope) -> set[str]:
        """Of which classes the value of an expression may be an instance. A call of a function of another package
        counts as an instance of the function: ``asyncio.get_running_loop`` has ``asyncio.get_running_loop.time``; and
        as one of each class of ours of which it is handed an instance, if that class inherits from another package's:
        after ``client = httpx2.AsyncClient(transport=Rotating())``, ``client.get`` calls ``Rotating``."""
        match node:
            case ast.Name(id=name) if name in scope:
                return scope[name]
            case ast.Name() | ast.Attribute() if full := self.named(module, node, scope):
                return self._types_of_global(full)
            case ast.Attribute(value=value, attr=attribute):
                found: set[str] = set()
                for each in self.types(module, value, scope):
                    known = self.attribute(each, attribute) if each in self.ancestors else {f"{each}.{attribute}"}
                    found |= known or ({each} if attribute in OF_CONTAINERS else set())
                return found
            case ast.Call(func=value, args=arguments, keywords=keywords):
                called = self.types(module, value, scope)
                if called and called.isdisjoint(self.ancestors):
                    given = [*arguments, *(each.value for each in keywords)]
                    handed = set().union(*(self.types(module, each, scope) for each in given))
                    return called | {each for each in handed if self.inherits_from_others(each)}
                return called
            case ast.Await(value=value) | ast.Starred(value=value) | ast.Subscript(value=value):
                return self.types(module, value, scope)
            case ast.NamedExpr(value=value) | ast.DictComp(value=value):
                return self.types(module, value, scope)
            case ast.ListComp(elt=value) | ast.SetComp(elt=value) | ast.GeneratorExp(elt=value):
                return self.types(module, value, scope)
            case ast.IfExp(body=first, orelse=second):
                return self.types(module, first, scope) | self.types(module, second, scope)
            case ast.BoolOp(values=values) | ast.Tuple(elts=values) | ast.List(elts=values) | ast.Set(elts=values):
                return set().union(*(self.types(module, value, scope) for value in values))
        return set()

    def named(self, module: str, node: ast.expr, scope: Scope) -> str | None:
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        hidden = isinstance(root, ast.Name) and root.id in scope
        return None if hidden else self.dotted(module, node)

    def _types_of_global(self, name: str) -> set[str]:
        module, node = self.definitions.get(name, ("", None))
        if isinstance(node, ast.AnnAssign):
            return self.annotated(module, node.annotation)
        if isinstance(node, ast.Assign):
            return self.types(module, node.value, {})
        return self.annotated(module, node.returns) if isinstance(node, Function) else {name}


def _is_property(method: Function) -> bool:
    names = ("property", "cached_property")
    return any(isinstance(each, ast.Name) and each.id in names for each in method.decorator_list)


def _fits(method: Function, wanted: Function) -> bool:
    """Whether ``method`` can be called as a protocol's method ``wanted``."""
    names, own = (
        [each.arg for each in [*one.args.posonlyargs, *one.args.args, *one.args.kwonlyargs]] for one in (wanted, method)
    )
    unnamed = len(wanted.args.posonlyargs)
    given = len(own) - len(method.args.defaults) - sum(each is not None for each in method.args.kw_defaults)
    fits = len(own) >= len(names) >= given and own[unnamed : len(names)] == names[unnamed:]
    return fits and _is_property(method) == _is_property(wanted)


def _targets(node: ast.AST) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []


def _bindings(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Targets of assignments, and the values that they get; of ``a: T``, the annotation."""
    match node:
        case ast.Assign(targets=targets, value=value):
            yield from ((target, value) for target in targets)
        case ast.AnnAssign(target=target, annotation=value) | ast.NamedExpr(target=target, value=value):
            yield target, value
        case ast.For(target=target, iter=value) | ast.AsyncFor(target=target, iter=value):
            yield target, value
        case ast.comprehension(target=target, iter=value):
            yield target, value
        case ast.withitem(optional_vars=ast.expr() as target, context_expr=value):
            yield target, value
