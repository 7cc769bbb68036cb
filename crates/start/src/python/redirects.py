"""Finds *redirects*: functions and classes of installed modules that change where modules are
searched for.

A program that calls such a function may import other modules than in the start that was learned.
Only the source file that defines the function is searched, so what that file calls in others is
not known.
"""

import ast
import os
import re
import sys

LISTS = {"path", "path_hooks", "meta_path"}
CHANGES = {"insert", "append", "extend", "remove", "pop", "clear", "sort", "reverse", "__setitem__"}

# Files without any of these define no redirect.
SEARCHES = re.compile(
    rb"sys\s*\.\s*(path|path_hooks|meta_path)\b"
    rb"|del\s+sys|attr\(\s*_?sys|addsitedir|from\s+sys\s+import.*path|import\s+sys\s+as\s+(?!_sys\b)"
)
# Aliases: `from a import b as c`, also in lines of a longer list, and `c = a.b`.
RENAMES = re.compile(
    rb"^(?:[ \t]*from [\w.]+ import .*|[ \t]+\w+ as \w+,?|\w+ = [\w.]*\.\w+)[ \t]*(?:[#;].*)?$", re.MULTILINE
)
RENAMED = re.compile(rb"(\w+) as (\w+)|^(\w+) = [\w.]*\.(\w+)")
WORD = re.compile(rb"\w+", re.ASCII)

# Packages re-export functions of their modules; longer chains are not followed.
MAX_STEPS = 8


class Redirects:
    """The definitions of the installed modules, by module name."""

    def __init__(self, is_own):
        """`is_own` returns True for names of the program's own modules."""
        self.is_own, self.sources, self.specs = is_own, {}, {}
        # The names of the arguments that a file passes.
        self.keywords = set()

    def used(self, tree, known):
        """Yields the uses of redirects in a syntax tree, as a node and a predicate. `known` is the tree with all its imports."""
        bound, inner = bindings(known, ""), set()
        self.keywords = {node.arg for node in ast.walk(known) if isinstance(node, ast.keyword)}
        for node in ast.walk(tree):
            parts = None if id(node) in inner else dotted(node)
            if not parts:
                continue
            inner.update(map(id, ast.walk(node)))
            if not isinstance(node.ctx, ast.Load) or parts[0] not in bound:
                continue
            module, attributes = bound[parts[0]]
            rest = attributes + parts[1:]
            place = self.find(module, rest)
            if place:
                what = "uses %s, which changes where modules are searched for (%s:%d)"
                yield node, what % (rest[-1], os.path.basename(place[0]), place[1])

    def find(self, module, parts, steps=0):
        """Follows these attributes of a module to a function. Returns the file and line where it
        changes the search path."""
        source = None if steps > MAX_STEPS or self.is_own(module) else self.source(module)
        if not source or not parts:
            return None
        name, rest = parts[0], parts[1:]
        if name in source.lines:
            return source.path, source.lines[name]
        for argument, line in source.guarded.get(name, ()):
            if argument in self.keywords:
                return source.path, line
        there, attributes = source.bound.get(name, (module, [name]))
        if (there, attributes) != (module, [name]):
            return self.find(there, attributes + rest, steps + 1)
        if source.is_package and self.spec(module + "." + name):
            return self.find(module + "." + name, rest, steps + 1)
        if name in source.defined:
            return None
        for star in source.stars:
            found = self.find(star, parts, steps + 1)
            if found:
                return found
        return None  # The module creates it when it is imported, as `cv2` does.

    def names(self, modules):
        """The names by which a program may use redirects of these modules. `modules` maps names to
        files."""
        found, renamed = set(), []
        for module, path in modules.items():
            if not path.endswith(".py") or not os.path.isfile(path):
                continue
            with open(path, "rb") as file:
                text = file.read()
            for line in RENAMES.findall(text):
                for old, new, other, value in RENAMED.findall(line):
                    renamed.append((old or value, new or other))
            source = self.source(module) if SEARCHES.search(text) else None
            if source:
                lines = source.lines.keys() | source.guarded.keys()
                found.update(name.encode() for name in lines & source.top_level_names)
        for _ in range(MAX_STEPS):
            more = {new for old, new in renamed if old in found} - found
            if not more:
                break
            found |= more
        return {name.decode() for name in found}

    def source(self, module):
        """The source of a module; None if there is none."""
        if module not in self.sources:
            spec = self.spec(module)
            self.sources[module] = None
            path = getattr(spec, "origin", None)
            if isinstance(path, str) and path.endswith(".py") and os.path.isfile(path):
                with open(path, "rb") as file:
                    text = file.read()
                try:
                    self.sources[module] = Source(text, path, module)
                except (SyntaxError, ValueError, RecursionError):
                    pass
        return self.sources[module]

    def spec(self, module):
        """The spec of a module, which is not imported; None if it does not exist."""
        if module not in self.specs:
            above, found = module.rpartition(".")[0], None
            package = self.spec(above) if above else None
            path = getattr(package, "submodule_search_locations", None)
            for finder in sys.meta_path if not above or path else ():
                try:
                    found = found or finder.find_spec(module, path)
                except Exception:
                    pass  # A finder that others have added.
            if getattr(found, "origin", None) in ("built-in", "frozen"):
                # The source of a frozen module is a file too.
                from importlib.machinery import PathFinder

                found = PathFinder.find_spec(module, path) or found
            self.specs[module] = found
        return self.specs[module]


class Source:
    """The definitions of a module."""

    def __init__(self, text, path, module):
        tree = ast.parse(text)
        self.text = text
        self.path, self.is_package = path, os.path.basename(path) == "__init__.py"
        package = module if self.is_package else module.rpartition(".")[0]
        self.bound, self.stars = bindings(tree, package), stars(tree, package)
        # The lines at which redirects change where modules are searched for.
        self.lines = {}
        # Those that do so only if they get an argument: its name, and the line.
        self.guarded = {}
        defined = list(all_definitions(tree))
        self.defined = {name for name, _ in defined}
        self.top_level_names = set(top_level_names(tree))
        if not any(each.encode() in text for each in LISTS | {"addsitedir"}):
            return
        of_sys = {name: what for name, (of, what) in self.bound.items() if of == "sys"}
        names = {name for name, what in of_sys.items() if not what}
        lists = aliases(tree.body, names)
        lists.update(
            each.asname or each.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "sys"
            for each in node.names
            if each.name in LISTS
        )
        left = []
        for name, node in defined:
            nodes = list(ast.walk(node))
            known = lists | aliases(nodes, names)
            found = [each for each in nodes if changes(each, names, known)]
            guards = optional_arguments(node) if found else {}
            lines = [each.lineno for each in found if id(each) not in guards]
            if lines:
                self.lines.setdefault(name, min(lines))
            elif found:
                self.guarded[name] = [(guards[id(each)], each.lineno) for each in found]
            else:
                left.append((name, mentioned(node, self.defined)))
        count = -1
        while count != len(self.lines):
            count = len(self.lines)
            for name, others in left:
                common = others & self.lines.keys()
                if common and name not in self.lines:
                    self.lines[name] = self.lines[min(common)]


def aliases(nodes, names):
    """Variables that are bound to a list of `sys` by one of these nodes. `names` are aliases of the
    module."""
    return {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign)
        for parts in [dotted(node.value)]
        if parts and len(parts) == 2 and parts[0] in names and parts[1] in LISTS
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def bindings(tree, package):
    """Names that are bound by imports, with a module and a list of attributes that lead on."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                top = each.name.partition(".")[0]
                found[each.asname or top] = (each.name if each.asname else top), []
        elif isinstance(node, ast.ImportFrom):
            module = source_of(node, package)
            for each in node.names if module else ():
                if each.name != "*":
                    found[each.asname or each.name] = module, [each.name]
    # Aliases of these names.
    for node in ast.walk(tree):
        parts = dotted(node.value) if isinstance(node, ast.Assign) else None
        if parts and parts[0] in found:
            module, attributes = found[parts[0]]
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, (module, attributes + parts[1:]))
    return found


def stars(tree, package):
    """The modules of which a module has all names."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    nodes = [node for node in nodes if node.names[0].name == "*"]
    return [each for each in (source_of(node, package) for node in nodes) if each]


def source_of(node, package):
    """The module that names are imported from."""
    if not node.level:
        return node.module
    parts = package.split(".")
    above = ".".join(parts[: len(parts) - node.level + 1])
    return ".".join(each for each in (above, node.module) if each)


def all_definitions(tree):
    """Yields functions, classes, and variables outside functions, with their nodes."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    left = [(tree, False)]
    for node, is_inside in left:
        if isinstance(node, kinds):
            yield node.name, node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and not is_inside and node.value:
            for target in getattr(node, "targets", None) or [node.target]:
                if isinstance(target, ast.Name):
                    yield target.id, node.value
        is_inside = is_inside or isinstance(node, kinds)
        left += [(each, is_inside) for each in ast.iter_child_nodes(node)]


def top_level_names(tree):
    """Yields the names of functions, classes and variables that are defined outside others."""
    left = [tree]
    for node in left:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        else:
            left += ast.iter_child_nodes(node)


def uses(path, names):
    """The lines of a file that contain one of these names, without punctuation. The format equals
    the one in `warm_parent/influence.rs`."""
    try:
        with open(path, "rb") as file:
            lines = file.read().split(b"\n")
    except OSError:
        lines = []
    found = [[word.decode() for word in WORD.findall(line)] for line in lines]
    return ";".join(" ".join(words) for words in found if not names.isdisjoint(words))


def optional_arguments(function):
    """The nodes that run only if an argument is passed by name (`run(app_dir=…)`), with that name."""
    found, arguments = {}, getattr(function, "args", None)
    defaults = zip(arguments.kwonlyargs, arguments.kw_defaults) if arguments else ()
    names = {each.arg for each, value in defaults if getattr(value, "value", "") is None}
    for node in ast.walk(function):
        test = node.test if isinstance(node, ast.If) else None
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.IsNot):
            test = test.left
        if isinstance(test, ast.Name) and test.id in names:
            for each in node.body:
                found.update((id(inner), test.id) for inner in ast.walk(each))
    return found


def mentioned(node, defined):
    """Names of the same module that code mentions."""
    found = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            found.add(each.id)
        elif isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name):
            if each.value.id in ("self", "cls") or each.value.id in defined:
                found.add(each.attr)
    return found


def changes(node, names, lists):
    """Returns True for code that changes where modules are searched for. `names` are aliases of the
    module `sys`, `lists` aliases of its lists."""

    def is_list(each):
        if isinstance(each, ast.Subscript):
            each = each.value
        if isinstance(each, ast.Attribute):
            return each.attr in LISTS and getattr(each.value, "id", None) in names
        return isinstance(each, ast.Name) and each.id in lists

    if isinstance(node, ast.Call):
        function, values = node.func, node.args
        name = getattr(function, "attr", getattr(function, "id", None))
        if name in ("setattr", "delattr") and len(values) > 1:
            is_known = getattr(values[1], "value", None) in LISTS
            return is_known and getattr(values[0], "id", None) in names
        if name == "addsitedir":
            return True
        return isinstance(function, ast.Attribute) and name in CHANGES and is_list(function.value)
    targets = []
    if isinstance(node, (ast.Assign, ast.Delete)):
        targets = list(node.targets)
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        targets = [node.target]
    for target in targets:
        targets += getattr(target, "elts", [])
    return any(
        is_list(target) and not (isinstance(target, ast.Name) and isinstance(node, ast.Assign))
        for target in targets
    )


def dotted(node):
    """The parts of a name with attributes; None for anything else."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id] + parts[::-1] if isinstance(node, ast.Name) else None
