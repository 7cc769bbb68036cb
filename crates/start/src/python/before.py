"""Analyzes the code before the imports of the program, to decide which modules may be imported
ahead.

An import depends on what ran before it: warning filters, log handlers, `sys.path`, variables.
The program's source files are therefore searched for code that could influence an import. If
there is none, all modules that the program imported may be imported ahead. Otherwise only the
imports before such code may be: those that the files execute one after the other, with nothing
but definitions between them.
"""

import ast
import os
import re

VARIABLE = re.compile("[A-Z][A-Z0-9_]{2,}")

# Attributes of `sys` and `os` that may be read, but not modified.
KEPT = {"path", "modules", "argv", "environ", "environb", "flags", "warnoptions", "stdout", "stderr"}

# Methods that modify the object they are called on.
CHANGES = {"insert", "append", "extend", "remove", "pop", "clear", "update", "setdefault", "sort"}

# Functions that execute a module of this name or path; it may be one of the program's own that no
# file mentions.
BY_NAME = {"import_module", "__import__", "run_path", "run_module", "spec_from_file_location"}

# Functions without side effects that are often called between imports.
PLAIN = {"getLogger", "Path", "join", "dirname", "abspath", "realpath", "resolve", "namedtuple"}
PLAIN |= {"TypeVar", "NewType", "getenv", "get", "compile", "frozenset", "set", "dict", "list"}
PLAIN |= {"tuple", "int", "float", "str", "len", "range", "bool", "object", "expanduser"}


class Own:
    """The program's source files."""

    def __init__(self, main, code, files, names, ran):
        """`ran` maps files to the line up to which they have already run."""
        self.main, self.code, self.files, self.names = main, code, files, names
        # Code that may influence an import: line, path, predicate.
        self.influences = []
        self.trees = []
        for path in files:
            tree = parsed(path)
            line = ran.get(path, 0)
            tree.body = [each for each in tree.body if is_left(each, line)]
            self.search(path, tree)
        if code is not None:
            self.search("<string>", parse(code))

    def search(self, path, tree):
        self.trees.append(tree)
        bound = imported(tree)
        for node in ast.walk(tree):
            what = influence(node, bound, self.names)
            if what:
                self.influences.append((node.lineno, path, what))

    def variables(self):
        """Words that look like names of variables."""
        found = set()
        for tree in self.trees:
            for node in ast.walk(tree):
                for _, value in ast.iter_fields(node):
                    for each in value if isinstance(value, list) else [value]:
                        if isinstance(each, bytes):
                            each = each.decode("latin-1")
                        if isinstance(each, str):
                            found.update(VARIABLE.findall(each))
        return found

    def first(self):
        """The first influence in the main file, or else in another."""
        found = min(self.influences, key=lambda each: (each[1] != self.main, each[0]))
        line, path, what = found
        return "%s:%d %s" % (os.path.basename(path), line, what)

    def imports(self):
        """Names that are imported before anything else runs."""
        order = Order(self.files)
        if self.code is not None:
            order.follow(parse(self.code).body)
        elif self.main:
            order.run(self.main)
        return order.names


def is_left(node, line):
    """Returns True for a top-level statement that may still run, in a file that has run up to
    this line: functions that it defines may be called later."""
    if node.end_lineno >= line:
        return True
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    return any(isinstance(each, functions) for each in ast.walk(node))


def parse(text):
    """The syntax tree; empty for code that Python could not run."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def parsed(path):
    """The syntax tree of a file; empty for missing files and compiled modules."""
    if not os.path.exists(path) or not path.endswith((".py", ".pyw")) and not is_text(path):
        return ast.Module([], [])
    with open(path, "rb") as file:
        return parse(file.read())


def is_text(path):
    """Returns True for text files: scripts need no suffix, so the content decides."""
    with open(path, "rb") as file:
        return b"\0" not in file.read(4096)


def imported(tree):
    """Names that are bound by imports."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for each in node.names:
                found.add(each.asname or each.name.partition(".")[0])
    return found


def influence(node, bound, names):
    """Describes how a node may influence imports, as a predicate; None if it does not."""
    used = getattr(node, "attr", getattr(node, "id", None))
    if used in names:
        return "uses " + used
    if isinstance(node, ast.ImportFrom):
        used = [each.name for each in node.names if each.name in names]
        if used:
            return "uses " + used[0]
    if isinstance(node, ast.Call) and used_by(node) in BY_NAME:
        if not all(isinstance(each, ast.Constant) for each in node.args[:1]):
            return "computes the name of a module"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        inner = node.func.value
        if node.func.attr in CHANGES and isinstance(inner, ast.Attribute) and inner.attr in KEPT:
            return "changes " + inner.attr
        if node.func.attr == "use" and root(node.func) in bound:
            return "uses use"  # Selects a matplotlib backend.
    targets = []
    if isinstance(node, (ast.Assign, ast.Delete)):
        targets = node.targets
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        targets = [node.target]
    for target in targets:
        if isinstance(target, (ast.Attribute, ast.Subscript)) and root(target) in bound:
            return "changes " + shown(target)
    return None


def used_by(call):
    """The name of the function that is called."""
    return getattr(call.func, "attr", getattr(call.func, "id", None))


def root(node):
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return getattr(node, "id", None)


def shown(node):
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "something")


class Stop(Exception):
    """Raised at a statement that does more than import and define."""


class Order:
    """Follows the execution, as long as it only imports and defines."""

    def __init__(self, files):
        self.files, self.names, self.done = files, [], set()

    def run(self, path):
        self.done.add(path)
        try:
            self.statements(parsed(path).body)
        except Stop:
            pass

    def follow(self, body):
        try:
            self.statements(body)
        except Stop:
            pass

    def statements(self, body):
        for node in body:
            self.statement(node)

    def statement(self, node):
        if isinstance(node, ast.Import):
            for each in node.names:
                self.module(each.name)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise Stop  # A relative import, whose package is not known.
            self.module(node.module)
            for each in node.names:
                self.names.append(node.module + "." + each.name)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            values = node.args.defaults + [each for each in node.args.kw_defaults if each]
            self.plain(node.decorator_list + values)
        elif isinstance(node, ast.ClassDef):
            self.plain(node.decorator_list + node.bases)
            if node.keywords or node.bases:
                raise Stop  # Base classes and metaclasses may run code.
            self.statements(node.body)
        elif isinstance(node, ast.Assign):
            if not all(isinstance(target, ast.Name) for target in node.targets):
                raise Stop
            self.plain([node.value])
        elif isinstance(node, ast.AnnAssign):
            if not isinstance(node.target, ast.Name):
                raise Stop
            self.plain([node.value] if node.value else [])
        elif isinstance(node, ast.If):
            self.plain([node.test])
            self.statements(node.body)
            self.statements(node.orelse)
        elif isinstance(node, ast.Try):
            self.statements(node.body)
            for handler in node.handlers:
                self.statements(handler.body)
            self.statements(node.orelse + node.finalbody)
        elif isinstance(node, ast.Expr):
            self.plain([node.value])
        elif not isinstance(node, (ast.Pass, ast.Global)):
            raise Stop

    def module(self, name):
        """Follows an import into a file of the program, or records the name."""
        path = self.own(name)
        if path is None:
            self.names.append(name)
        elif path not in self.done:
            self.done.add(path)
            self.statements(parsed(path).body)

    def own(self, name):
        """The program's file of a module, found by the end of its path."""
        end = os.sep + name.replace(".", os.sep)
        for path in self.files:
            if path.endswith((end + ".py", end + os.sep + "__init__.py")):
                return path
        return None

    def plain(self, nodes):
        """Stops at calls of functions that are not known to be harmless."""
        for each in nodes:
            for node in ast.walk(each):
                if isinstance(node, ast.Call):
                    if used_by(node) not in PLAIN:
                        raise Stop
                elif isinstance(node, (ast.Await, ast.Yield, ast.NamedExpr)):
                    raise Stop
