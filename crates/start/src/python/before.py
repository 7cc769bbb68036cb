"""Analyzes the code before the imports of the program, to decide which modules may be imported
ahead.

An import depends on what ran before it: warning filters, log handlers, `sys.path`, variables.
The program's source files are therefore searched for code that could influence an import. If
there is none, all modules that the program imported may be imported ahead. Otherwise only the
imports before such code may be: those that the files execute one after the other, with nothing
but definitions between them.

Some code influences only the imports that the files make later: a call whose result is not used
is made for its effect, which may be a setting of a library. Imports that the files make after
such calls, or in functions, are *late*; the trial leaves these modules out.
"""

import ast
import builtins
import os
import re
import sys

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


# Settings in `torch.backends` that training scripts often make: PyTorch reads them when it computes,
# not when one of its modules is imported.
SETTINGS = {"benchmark", "benchmark_limit", "deterministic", "allow_tf32", "fp32_precision"}
SETTINGS |= {"allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction"}

# Decorators without side effects.
DECORATORS = {"staticmethod", "classmethod", "property", "cached_property", "abstractmethod"}
DECORATORS |= {"dataclass", "contextmanager", "overload", "final", "cache", "lru_cache"}


# Names of functions that begin like this change a setting, also if their result is used.
CHANGING = ("set_", "register", "install", "enable", "disable", "configure", "patch", "add_hook")

NAMES = frozenset(dir(builtins))


# Code that sets variables.
SETS = re.compile(rb"environ\w*\s*(\[[^]]*\]\s*=[^=]|\.\s*(setdefault|update))|putenv")


class Own:
    """The program's source files."""

    def __init__(self, main, code, files, names, harmless, ran, redirects):
        """`harmless` are names of functions that change no setting of a library; `ran` maps files
        to the line up to which they have already run; `redirects` is the class that finds
        functions which change where modules are searched for."""
        self.main, self.code, self.files, self.names = main, code, files, names
        self.harmless = harmless
        self.redirects = redirects(lambda name: Order(files).own(name) is not None)
        # The main file is started by `python -m`.
        self.is_module = False
        # Code that may influence an import: line, path, predicate.
        self.influences = []
        # Code that may influence a late import: line, path, predicate, the package that it may
        # change, if that is known, and a kind: calls for their effect, classes that derive from
        # those of a library, changes of objects that a library has returned.
        self.effects = []
        # Code that may write a file that a module reads: the same, with the path if it is known.
        self.writes = []
        self.trees = []
        for path in files:
            if path not in ran and is_opaque(path):
                self.influences.append((0, path, "cannot be analyzed"))
            tree = parsed(path)
            line = ran.get(path, 0)
            left = [each for each in tree.body if is_left(each, line)]
            self.search(path, ast.Module(left, []), tree)
        if code is not None:
            tree = parse(code)
            self.search("<string>", tree, tree)

    def search(self, path, tree, whole):
        """Searches the code that may still run. Names are bound by the whole file."""
        self.trees.append(tree)
        bound, paths = imported(whole), Paths(whole, last_import(path))
        libraries = self.libraries(whole)
        returned = {
            target.id
            for node in ast.walk(whole)
            if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr))
            and is_call_of(node.value, libraries)
            for target in getattr(node, "targets", None) or [node.target]
            if isinstance(target, ast.Name)
        }
        for node, what in self.redirects.used(tree, whole):
            self.influences.append((node.lineno, path, what))
        for node in ast.walk(tree):
            what = influence(node, bound, self.names) or changed(node, libraries)
            if what:
                self.influences.append((node.lineno, path, what))
            for what, package in effects(node, libraries, self.harmless):
                kind = "classes" if package else "calls"
                self.effects.append((node.lineno, path, what, package, kind))
            for what, file in writes(node, libraries, paths):
                self.writes.append((node.lineno, path, what, file, "writes"))
            what = changed_object(node, returned)
            if what:
                self.effects.append((node.lineno, path, what, None, "objects"))

    def libraries(self, tree):
        """Names that are bound to what is imported, unless that is the program's."""
        found, order = {}, Order(self.files)
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for each in node.names:
                    if order.own(each.name) is None:
                        top = each.name.partition(".")[0]
                        found[each.asname or top] = top
            elif isinstance(node, ast.ImportFrom) and not node.level:
                if order.own(node.module) is None:
                    for each in node.names:
                        found[each.asname or each.name] = node.module.partition(".")[0]
        modules = {
            each.asname or each.name.partition(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for each in node.names
        }
        # Other names of the same.
        copies = [node for node in ast.walk(tree) if isinstance(node, ast.Assign) and is_chain(node.value)]
        for _ in copies:
            known = len(found)
            for node in copies:
                for target in node.targets:
                    if isinstance(target, ast.Name) and root(node.value) in found:
                        found.setdefault(target.id, found[root(node.value)])
            if len(found) == known:
                break
        return Libraries(found, modules)

    def late(self, kind):
        """Names that the files import after code of this kind that may influence them, or in
        functions; and those that they import before. Objects of libraries are often changed, so
        functions do not count there."""
        early = Early(self.files, self, {kind} if kind == "writes" else {"calls", kind})
        if self.code is not None:
            early.follow(parse(self.code).body)
        elif self.main:
            early.run(self.main, self.is_module)
        found = {}
        for tree in self.trees:
            for node in at_import(tree) if kind == "objects" else ast.walk(tree):
                for name in imports(node):
                    if early.own(name) is None and name not in early.names:
                        found[name] = None
        return list(found), early.names

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

    def limits(self, learned, ending):
        """Variables with this ending that a module may set which the files may import, and which
        an earlier start has not: pairs of a module and a variable. What these modules import in
        turn is not searched."""
        names = {name for tree in self.trees for node in ast.walk(tree) for name in imports(node)}
        for name in list(names):
            parts = name.split(".")
            names.update(".".join(parts[:count]) for count in range(1, len(parts)))
        for name in names.difference(learned):
            source = self.redirects.source(name)
            if source and not self.redirects.is_own(name) and SETS.search(source.text):
                for word in set(re.findall(rb"\w+", source.text)):
                    if word.endswith(ending.encode()):
                        yield name, word.decode()

    def first(self):
        """The first influence in the main file, or else in another: where it is, a line end, and what
        it does."""
        found = min(self.influences, key=lambda each: (each[1] != self.main, each[0]))
        line, path, what = found
        place = "%s:%d" % (os.path.basename(path), line) if line else os.path.basename(path)
        return "%s\n%s" % (place, what)

    def shown_effects(self):
        """The code that may influence late imports: where it is, a predicate, a package, a kind."""
        for line, path, what, package, kind in sorted(self.effects, key=lambda each: each[:3]):
            yield "%s:%d" % (os.path.basename(path), line), what, package or "", kind

    def shown_writes(self):
        """The code that may write a file: where it is, a predicate, the path if it is known."""
        for line, path, what, file, _ in sorted(self.writes):
            yield "%s:%d" % (os.path.basename(path), line), what, file

    def imports(self):
        """Names that are imported before anything else runs."""
        order = Order(self.files)
        if self.code is not None:
            order.follow(parse(self.code).body)
        elif self.main:
            order.run(self.main, self.is_module)
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


def is_opaque(path):
    """Returns True for code that is not a source file: a compiled module, or one in an archive."""
    if not os.path.exists(path):
        above = os.path.dirname(path)
        while above and not os.path.exists(above):
            above = os.path.dirname(above)
        return os.path.isfile(above)
    return os.path.isfile(path) and not path.endswith((".py", ".pyw")) and not is_text(path)


def is_text(path):
    """Returns True for text files: scripts need no suffix, so the content decides."""
    with open(path, "rb") as file:
        return b"\0" not in file.read(4096)


def imported(tree):
    """Names that are bound by imports, with what they stand for."""
    found = {}
    for node in ast.walk(tree):
        for each in node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else ():
            top = each.name.partition(".")[0]
            if isinstance(node, ast.ImportFrom):
                found[each.asname or top] = "%s.%s" % (node.module, each.name)
            else:
                found[each.asname or top] = each.name if each.asname else top
    return found


def is_harmless_setting(target, bound):
    """Returns True for a setting that no import reads."""
    parts = []
    while isinstance(target, ast.Attribute):
        parts.insert(0, target.attr)
        target = target.value
    if not parts or parts[-1] not in SETTINGS or not isinstance(target, ast.Name):
        return False
    return ".".join([bound[target.id], *parts]).startswith("torch.backends.")


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
    if isinstance(node, ast.Call):
        is_computed = not all(isinstance(each, ast.Constant) for each in node.args[:1])
        is_builtin = isinstance(node.func, ast.Name) or root(node.func) == "builtins"
        name = used_by(node) if is_builtin else None
        if name == "exec" or name == "eval" and is_computed:
            return "executes other code"
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
            if not is_harmless_setting(target, bound):
                return "changes " + shown(target)
    return None


def imports(node):
    """The modules that a statement imports; members of a package may be modules."""
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level:
        return [node.module] + [node.module + "." + each.name for each in node.names]
    return []


def is_chain(node):
    """Returns True for a name, and attributes and elements of one."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return isinstance(node, ast.Name)


def changed(node, libraries):
    """Describes how a node changes an object of a library, as a predicate; None if it does not."""
    if not isinstance(node, ast.Call):
        return None
    function, values = node.func, node.args
    if isinstance(function, ast.Name) and function.id in ("setattr", "delattr") and values:
        return "calls " + function.id if root(values[0]) in libraries else None
    if not isinstance(function, ast.Attribute) or function.attr not in CHANGES:
        return None
    inner = function.value
    if isinstance(inner, ast.Call) and used_by(inner) == "vars" and inner.args:
        return "calls vars" if root(inner.args[0]) in libraries else None
    if is_chain(inner) and root(inner) in libraries:
        if isinstance(inner, ast.Name) and inner.id in libraries.modules:
            return None  # A function of a module, such as `os.remove`.
        return "changes " + shown(inner)
    return None


def effects(node, libraries, harmless):
    """Yields what a node may change in a library, as predicates, with the package."""
    calls = []
    if isinstance(node, ast.Expr):
        value = node.value.value if isinstance(node.value, ast.Await) else node.value
        calls = [value]
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        calls = [each.context_expr for each in node.items]
    for call in calls:
        if isinstance(call, ast.Call) and used_by(call) not in harmless:
            if root(call.func) in libraries:
                yield "calls " + str(used_by(call)), None
    if isinstance(node, ast.Call) and str(used_by(node)).startswith(CHANGING):
        if used_by(node) not in harmless and root(node.func) in libraries:
            yield "calls " + used_by(node), None
    if isinstance(node, ast.Call) and used_by(node) == "getattr" and len(node.args) > 1:
        if root(node.args[0]) in libraries and not isinstance(node.args[1], ast.Constant):
            yield "computes the name of an attribute", None
    if isinstance(node, ast.ClassDef):
        for base in node.bases:
            if is_chain(base) and root(base) in libraries:
                yield "derives a class of " + shown(base), libraries[root(base)]


# Functions that write a file, make, move or remove one, or a directory; by which arguments name it.
# `open` depends on its mode.
BY_FIRST = {"makedirs", "mkdir", "remove", "unlink", "rmdir", "rmtree", "truncate", "chmod", "utime"}
BY_FIRST |= {"save", "savez", "savez_compressed", "savetxt", "to_csv", "to_json", "to_pickle"}
BY_FIRST |= {"to_parquet", "to_excel", "to_feather", "mkfifo", "tofile"}
BY_FIRST |= {"FileHandler", "RotatingFileHandler", "TimedRotatingFileHandler"}
BY_SECOND = {"dump", "urlretrieve", "symlink", "link"}
BY_BOTH = {"copy", "copy2", "copyfile", "copytree", "move", "rename", "renames", "replace"}
BY_RECEIVER = {"write_text", "write_bytes", "touch", "mkdir", "unlink", "rmdir", "symlink_to"}
BY_RECEIVER |= {"hardlink_to", "rename", "replace", "chmod"}
# Methods that only paths have.
OF_PATHS = {"write_text", "write_bytes", "touch", "symlink_to", "hardlink_to"}
UNKNOWN = {"extractall", "unpack_archive", "save_pretrained", "set_key", "unset_key"}
WRITES = BY_FIRST | BY_SECOND | BY_BOTH | BY_RECEIVER | UNKNOWN

# Libraries of which these functions write only to files that are open, or to none.
NO_WRITERS = {"json", "pickle", "marshal", "yaml", "copy", "re", "toml", "dataclasses"}

# Functions that run a program, which may write anything.
RUNS = {"system", "popen", "getoutput", "getstatusoutput", "Popen", "check_call", "check_output"}
RUNS |= {"posix_spawn", "posix_spawnp", "spawnv", "spawnl", "spawnvp", "spawnlp", "fork"}
RUNS |= {"create_subprocess_exec", "create_subprocess_shell"}
OF_SUBPROCESS = {"run", "call"}
# The modules that have these functions; `platform.system` runs nothing.
RUNNERS = {None, "asyncio", "os", "posix", "pty", "subprocess"}
# Modules of which the function that opens a database may write several files.
DATABASES = {"dbm": "open", "shelve": "open", "sqlite3": "connect"}
# Modules of which a class opens a file like `open`.
CLASSES = {"zipfile": "ZipFile", "h5py": "File"}
# Flags of `os.open` with which it cannot write.
READS = {"O_RDONLY", "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_PATH", "O_NOCTTY"}


def writes(node, libraries, paths):
    """Yields how a call may write a file, as a predicate, with the path; that is empty if it cannot
    be known."""
    if not isinstance(node, ast.Call):
        return
    known = lambda path: paths.known(path, node.func.end_lineno) or ""
    name, package = used_by(node), libraries.get(root(node.func))
    receiver = getattr(node.func, "value", None)
    is_method = receiver and (package in (None, "pathlib") or isinstance(receiver, ast.Call))
    is_method = is_method or name in OF_PATHS
    if name in RUNS and package in RUNNERS or name in OF_SUBPROCESS and package == "subprocess":
        yield "runs another program", ""
    elif name and name == DATABASES.get(package):
        if getattr((node.args or [None])[0], "value", None) != ":memory:":
            yield "writes a database", ""
    elif name == "open" or name and name == CLASSES.get(package):
        if may_write(node, is_method):
            path = node.func.value if is_method else (node.args or [None])[0]
            yield "writes a file", known(path)
    elif name == "copy" and package not in (None, "shutil", "pathlib"):
        return  # A function that copies an array, or the like.
    elif name in WRITES and package not in NO_WRITERS:
        named = written(name, node, is_method)
        for path in named:
            yield "writes, moves or removes a file", known(path)


def may_write(call, is_method):
    """Returns False for `open` with a constant mode that only reads."""
    modes = call.args[:1] if is_method else call.args[1:2]
    modes += [each.value for each in call.keywords if each.arg in ("mode", "flags", None)]
    if not modes:
        return any(isinstance(each, ast.Starred) for each in call.args)
    flags = {getattr(each, "attr", None) for each in ast.walk(modes[0]) if is_flag(each)}
    if flags:
        return not flags <= READS
    text = getattr(modes[0], "value", None)
    return not isinstance(text, str) or not set(text) <= set("rbtU")


def written(name, call, is_method):
    """The expressions of the paths that a call names; None stands for an unknown one."""
    values, receiver = call.args, getattr(call.func, "value", None)
    if name in UNKNOWN or any(isinstance(each, ast.Starred) for each in values):
        return [None]
    if is_method and name in ("replace", "rename", "remove", "copy", "copy2"):
        # Texts, tables and containers have methods of these names too.
        if name == "remove" or len(values) != 1:
            return []
    if is_method and name in BY_RECEIVER:
        return [receiver] + (values[:1] if name in ("rename", "replace") else [])
    if name in BY_BOTH:
        return (values + [None, None])[:2]
    if name in BY_SECOND:
        return (values[1:2] + [None])[:1]
    return (values[:1] + [None])[:1]


def is_flag(node):
    return isinstance(node, ast.Attribute) and node.attr.startswith("O_")


def last_import(path):
    """The line of the last import outside functions; below it, a start compares only some lines
    (`skeleton` in `influence.rs`, which searches in the same way). Code that is an argument is
    compared as a whole."""
    if path == "<string>":
        return sys.maxsize
    try:
        with open(path, "rb") as file:
            lines = file.read().split(b"\n")
    except OSError:
        return 0
    found = [at for at, line in enumerate(lines, 1) if line.startswith((b"import ", b"from "))]
    return max(found, default=0)


class Paths:
    """The paths in a file that are constant, as far as each start compares the lines on which they
    are: all up to the last import, and later ones with the name of a function that writes."""

    def __init__(self, tree, last):
        self.last, self.names, counts = last, {}, {}
        for node in ast.walk(tree):
            for name in bindings(node):
                counts[name] = counts.get(name, 0) + 1
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                if len(node.targets) == 1 and counts.get(name) == 1 and "*" not in counts:
                    self.names[name] = self.known(node.value, 0)

    def known(self, node, line):
        """The path that an expression names, if it is constant. `line` is compared too."""
        if isinstance(node, ast.Constant):
            if node.end_lineno > self.last and not node.lineno == node.end_lineno == line:
                return None
            is_path = isinstance(node.value, str) and node.value.isprintable()
            return node.value if is_path else None
        if isinstance(node, ast.Name):
            return self.names.get(node.id)
        parts = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            parts = [node.left, node.right]
        elif isinstance(node, ast.Call) and not node.keywords:
            if used_by(node) in ("Path", "PosixPath", "join", "expanduser", "str", "abspath"):
                parts = node.args
        parts = [self.known(each, line) for each in parts]
        if not parts or not all(parts):
            return None
        path = os.path.join(*parts)
        is_of_home = isinstance(node, ast.Call) and used_by(node) == "expanduser"
        return os.path.expanduser(path) if is_of_home else path


def bindings(node):
    """The names that a node binds. `*` stands for any."""
    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Load) else [node.id]
    if isinstance(node, ast.alias):
        return [node.asname or node.name.partition(".")[0]]
    # Parameters, functions and classes, exceptions, patterns.
    names = [getattr(node, field, None) for field in ("arg", "name", "rest")]
    return [name for name in names if isinstance(name, str)]


# Methods with which an object of a library changes something else.
STARTS = {"start", "stop", "activate", "apply", "patch", "install", "enable", "disable", "begin"}
STARTS |= {"setup", "configure", "init", "use", "push", "enter"}


def is_call_of(node, libraries):
    """Returns True for a call of a function of a library."""
    return isinstance(node, ast.Call) and root(node) in libraries


def changed_object(node, returned):
    """Describes how a node changes one of these objects, or makes it act, as a predicate."""
    targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete)):
        for target in targets:
            if isinstance(target, (ast.Attribute, ast.Subscript)) and root(target) in returned:
                return "changes " + shown(target)
    value = node.value if isinstance(node, ast.Expr) else None
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if used_by(value) in STARTS | CHANGES and root(value.func) in returned:
            return "calls " + used_by(value)
    return None


def at_import(tree):
    """The nodes of a tree outside functions."""
    left = [tree]
    for node in left:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield node
            left += ast.iter_child_nodes(node)


def used_by(call):
    """The name of the function that is called."""
    return getattr(call.func, "attr", getattr(call.func, "id", None))


def root(node):
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        if isinstance(node, ast.Call):
            is_inner = used_by(node) in ("vars", "getattr") and node.args
            node = node.args[0] if is_inner else node.func
        else:
            node = node.value
    return getattr(node, "id", None)


def shown(node):
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "something")


class Libraries(dict):
    """Names that are bound to modules, functions and classes, with the top-level name of the module
    that each comes from."""

    def __init__(self, names, modules):
        dict.__init__(self, names)
        # Those that are bound to modules.
        self.modules = modules


class Stop(Exception):
    """Raised at a statement that does more than import and define."""


class Order:
    """Follows the execution, as long as it only imports and defines."""

    def __init__(self, files):
        self.files, self.names, self.done = files, [], set()
        # The file that is followed.
        self.path = "<string>"

    def run(self, path, is_module):
        try:
            # `python -m` imports the packages of a module first.
            for above in reversed(self.packages(path)) if is_module else ():
                self.enter(above)
            self.enter(path)
        except Stop:
            pass

    def enter(self, path):
        """Follows a file, unless it was followed before."""
        if path not in self.done:
            self.done.add(path)
            if is_opaque(path):
                raise Stop
            above, self.path = self.path, path
            self.statements(parsed(path).body)
            self.path = above

    def packages(self, path):
        """The files of the packages of a module, the innermost first."""
        found, above = [], os.path.dirname(path)
        while os.path.join(above, "__init__.py") in self.files:
            found.append(os.path.join(above, "__init__.py"))
            above = os.path.dirname(above)
        return found

    def follow(self, body):
        try:
            self.statements(body)
        except Stop:
            pass

    def statements(self, body):
        for node in body:
            self.statement(node)

    def statement(self, node):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self.import_of(node)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            values = node.args.defaults + [each for each in node.args.kw_defaults if each]
            self.decorators(node)
            self.plain(values)
        elif isinstance(node, ast.ClassDef):
            self.decorators(node)
            self.plain(node.bases)
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

    def import_of(self, node):
        for name in imports(node):
            self.module(name)
        if getattr(node, "level", 0):
            self.relative(node)

    def relative(self, node):
        """Follows an import from the package of the present file."""
        above = self.path
        for _ in range(node.level):
            above = os.path.dirname(above)
        if os.path.join(above, "__init__.py") not in self.files:
            raise Stop
        parts = (node.module or "").split(".") if node.module else []
        names = [parts[:count] for count in range(1, len(parts) + 1)]
        for name in names + [parts + [each.name] for each in node.names]:
            path = os.path.join(above, *name)
            beginnings = path + ".", os.path.join(path, "__init__.")
            found = [file for file in self.files if file.startswith(beginnings)]
            if not found and name in names:
                raise Stop  # It is neither a file of the program nor an attribute.
            for file in found:
                self.enter(file)

    def module(self, name):
        """Follows an import into files of the program, or records the name."""
        if self.own(name) is None and self.own(name.partition(".")[0]) is None:
            self.names.append(name)
            return
        # The packages of a module come first.
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            path = self.own(".".join(parts[:count]))
            if path is not None:
                self.enter(path)

    def own(self, name):
        """The program's file of a module, found by the end of its path."""
        end = os.sep + name.replace(".", os.sep)
        for path in self.files:
            if path.endswith((end + ".py", end + os.sep + "__init__.py")):
                return path
        # Compiled modules have longer suffixes.
        for path in self.files:
            above, file = os.path.split(path)
            whole = os.path.join(above, file.partition(".")[0])
            if file.endswith(".so") and whole.endswith((end, end + os.sep + "__init__")):
                return path
        return None

    def decorators(self, node):
        """A decorator is called, too."""
        self.plain(node.decorator_list)
        for each in node.decorator_list:
            name = getattr(each, "attr", getattr(each, "id", None))
            if not isinstance(each, ast.Call) and name not in DECORATORS:
                raise Stop

    def plain(self, nodes):
        """Stops at calls of functions that are not known to be harmless."""
        for each in nodes:
            for node in ast.walk(each):
                if isinstance(node, ast.Call):
                    if used_by(node) not in PLAIN:
                        raise Stop
                elif isinstance(node, (ast.Await, ast.Yield, ast.NamedExpr)):
                    raise Stop


class Early(Order):
    """Follows the execution until a statement may change a setting of a library."""

    def __init__(self, files, own, kinds):
        Order.__init__(self, files)
        self.program, self.known = own, {}
        code = own.effects + own.writes
        self.places = {(path, line) for line, path, _, _, kind in code if kind in kinds}

    def statement(self, node):
        if (self.path, node.lineno) in self.places:
            raise Stop
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self.import_of(node)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self.plain(node.decorator_list)
        elif isinstance(node, ast.ClassDef):
            self.plain(node.decorator_list + node.bases)
            self.statements(node.body)
        else:
            for field in ("test", "iter", "value", "items", "subject"):
                value = getattr(node, field, None)
                self.plain(value if isinstance(value, list) else [value] if value else [])
            for field in ("body", "handlers", "orelse", "finalbody", "cases"):
                for each in getattr(node, field, ()):
                    if isinstance(each, ast.ExceptHandler):
                        self.statements(each.body)
                    elif field == "cases":
                        self.plain([each.guard] if each.guard else [])
                        self.statements(each.body)
                    else:
                        self.statement(each)

    def plain(self, nodes):
        """Stops at calls of the program's own functions, which may call any other."""
        if not self.places:
            return
        for each in nodes:
            for node in ast.walk(each):
                if (self.path, getattr(node, "lineno", 0)) in self.places:
                    raise Stop
                if isinstance(node, ast.Call) and used_by(node) not in PLAIN | NAMES:
                    if root(node.func) not in self.bound():
                        raise Stop

    def bound(self):
        if self.path not in self.known:
            tree = parse(self.program.code) if self.path == "<string>" else parsed(self.path)
            self.known[self.path] = self.program.libraries(tree)
        return self.known[self.path]
