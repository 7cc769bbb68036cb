"""Writes down which modules a program had, and which variables it has changed.

At its end, and, for programs that are killed, whenever many more have come. Imports go
through a function of ours for that, which has the name and the file of the one that it
stands for: tracebacks leave it out as they leave out that one.
"""

import os
import sys

# A module that came in another way may not be what an ordinary import would give.
ORDINARY = {
    "BuiltinImporter",
    "FrozenImporter",
    "SourceFileLoader",
    "SourcelessFileLoader",
    "ExtensionFileLoader",
    "NamespaceLoader",
    "_NamespaceLoader",
}

# A process's own.
PROCESS = {"__main__", "__mp_main__", "sitecustomize", "usercustomize"}


# So many modules more are worth another writing.
MANY = 50


def begin(path, learning=None):
    """Has `path` written when the program ends, and before. `learning` is the recorder of
    the use of GPUs, in a start that learns it."""
    import _thread

    process = os.getpid()
    before = dict(os.environ._data)
    one = _thread.allocate_lock()

    def tell():
        # A child that was forked has our function, but is not the program.
        if os.getpid() == process and one.acquire(False):
            try:
                write(path, lines(before))
            except Exception:
                pass
            finally:
                one.release()

    at_exit(tell)
    if learning:
        at_exit(learning.end)
    watch_imports(tell, _thread._local, learning)


# So many installed modules that were not known are worth a new parent.
WORTHWHILE = 10


def add(path, known, end, last):
    """In a child of a warm parent: has what more it has imported added at its end, and then
    calls `end`, also in processes that it has forked. Functions in `last` are called last."""
    process = os.getpid()

    def tell():
        try:
            add_new()
        finally:
            end()

    def add_new():
        if os.getpid() != process or len(sys.modules) < len(known) + WORTHWHILE:
            return
        try:
            inside = tuple(root + os.sep for root in roots(sys.path))
            new = [
                fields
                for fields in lines({})
                if fields[0] == "module" and fields[1] not in known
            ]
            if sum(fields[2].startswith(inside) for fields in new) >= WORTHWHILE:
                with open(path, "rb") as file:
                    old = file.read().decode("utf-8", "surrogateescape")
                write(path, new, old)
        except Exception:
            pass

    last.append(tell)


def at_exit(tell):
    """The first that is registered is the last that is called."""
    known = "atexit" in sys.modules
    import atexit

    atexit.register(tell)
    # Before 3.10 the functions are the module's, which must stay.
    if not known and sys.version_info >= (3, 10):
        sys.modules.pop("atexit", None)


def watch_imports(tell, local, learning):
    """Calls `tell` after an import by the program that has brought many modules."""
    import _frozen_importlib as bootstrap

    class Depth(local):
        value = 0

    depth, modules, told = Depth(), sys.modules, [len(sys.modules)]

    def ended():
        if learning:
            learning.see_imports()
        if len(modules) >= told[0] + MANY:
            told[0] = len(modules)
            tell()

    scope = {"__name__": bootstrap.__name__, "__builtins__": __builtins__}
    exec(compile(WRAPPER, "<frozen importlib._bootstrap>", "exec"), scope)
    # Python calls this by its name for every import that is not loaded yet.
    bootstrap._find_and_load = scope["make"](bootstrap._find_and_load, depth, ended)


WRAPPER = """
def make(original, depth, ended):
    def _find_and_load(name, import_):
        if depth.value:
            return original(name, import_)
        depth.value = 1
        try:
            return original(name, import_)
        finally:
            depth.value = 0
            ended()
    return _find_and_load
"""

def lines(before):
    """What is told: a kind, a name and what belongs to it, each ended by a NUL."""
    for name, module in list(sys.modules.items()):
        if name in PROCESS or not isinstance(name, str):
            continue
        spec = getattr(module, "__spec__", None)
        loader = type(getattr(spec, "loader", None))
        kind = loader.__name__
        if kind == "type":  # Those of built-in modules are classes themselves.
            kind = getattr(spec.loader, "__name__", "")
        origin = getattr(module, "__file__", None) or getattr(spec, "origin", None) or ""
        if spec is not None and isinstance(origin, str):
            yield "module", name, origin, "" if kind in ORDINARY else kind
    for root in roots(sys.path):
        yield "root", root, "", ""
    # Of a script Python has forgotten the file by now, but whoever started it knows.
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    main = getattr(spec, "origin", None)
    if isinstance(main, str):
        yield "main", os.path.abspath(main), "", ""
    for kind, value in facts():
        yield "fact", kind, value, ""
    after = os.environ._data
    for name in set(before) | set(after):
        if before.get(name) != after.get(name):
            yield "changed", os.fsdecode(name), "", ""


def facts():
    """What a program can change that later imports depend on, beside its environment. What
    is here at the end of a program, and not after the same imports, it has changed."""
    for path in sys.path:
        if isinstance(path, str):
            yield "sys.path", path
    for finder in sys.meta_path:
        yield "sys.meta_path", getattr(finder, "__name__", type(finder).__name__)
    warnings, logging = sys.modules.get("warnings"), sys.modules.get("logging")
    for each in list(getattr(warnings, "filters", ())):
        yield "the filters of warnings", repr(each)
    root = getattr(logging, "root", None)
    if root is not None:
        yield "the level of log messages", str(root.level)
        for handler in root.handlers:
            yield "the handlers of log messages", type(handler).__name__
    try:
        yield "the current directory", os.getcwd()
    except OSError:
        pass


def roots(paths):
    """Where what is installed lies; whatever else there is, is the program's own."""
    found = {os.path.dirname(os.__file__)}
    for path in paths:
        if os.path.basename(path) in ("site-packages", "dist-packages", "lib-dynload"):
            found.add(path)
    return sorted(found | set(map(os.path.realpath, found)))


def write(path, told, before=""):
    text = before + "".join(field + "\0" for fields in told for field in fields)
    new = "%s.new-%d" % (path, os.getpid())
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        data = text.encode("utf-8", "surrogateescape")
        while data:
            data = data[os.write(fd, data) :]
        os.rename(new, path)
    except BaseException:
        os.unlink(new)
        raise
    finally:
        os.close(fd)
