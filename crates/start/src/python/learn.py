"""Records the modules of a program, and the variables that it has changed.

They are written when the program exits and, for programs that are killed, whenever many
modules were added. To notice imports, a function of importlib is wrapped; the wrapper has the
same name and file name, so that tracebacks omit it too.
"""

import os
import sys

is_known = "_contextvars" in sys.modules
from _contextvars import copy_context  # noqa: E402

if not is_known:
    del sys.modules["_contextvars"]

# A module with another loader may differ from what an ordinary import would return.
ORDINARY = {
    "BuiltinImporter",
    "FrozenImporter",
    "SourceFileLoader",
    "SourcelessFileLoader",
    "ExtensionFileLoader",
    "NamespaceLoader",
    "_NamespaceLoader",
}

# Modules that differ between processes.
PROCESS = {"__main__", "__mp_main__", "sitecustomize", "usercustomize"}


# The number of new modules after which the file is written again.
MANY = 50


def begin(path, learning=None):
    """Arranges for `path` to be written when the program exits, and before. `learning` records
    the use of GPUs, in a start that learns it."""
    import _thread

    process = os.getpid()
    before = dict(os.environ._data)
    one = _thread.allocate_lock()

    def record():
        # A forked child has this function too, but is not the program.
        if os.getpid() == process and one.acquire(False):
            try:
                write(path, lines(before))
            except Exception:
                pass
            finally:
                one.release()

    at_exit(record)
    if learning:
        at_exit(learning.end)
    watch_imports(record, _thread._local, learning)


# The number of unknown installed modules that justifies a new parent.
WORTHWHILE = 10


def add(path, known, hidden, end, last):
    """In a child of a warm parent: arranges for further imports to be recorded when it exits,
    and then calls `end`, also in forked processes. Functions in `last` are called last. Modules
    that were hidden until then are modules like all others from then on."""
    process = os.getpid()

    def record():
        try:
            hidden.show_at_end()
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

    last.append(record)


# A fact about programs that have changed where modules are searched for after an import (`stop`).
SEARCHES_ELSEWHERE = "where modules are searched for"


def stop(path, socket, name):
    """In a child: ends a program that cannot go on. It searches for modules elsewhere, which it did
    not do when it was learned, and a native module that was imported ahead cannot be loaded again.
    Its next parent imports less ahead."""
    try:
        with open(path, "rb") as file:
            old = file.read().decode("utf-8", "surrogateescape")
        write(path, [("fact", SEARCHES_ELSEWHERE, "", "")], old)
        os.unlink(socket)  # A parent without its socket exits.
        sys.stdout.flush()
    except Exception:
        pass
    text = "preheat: the program has changed where modules are searched for, and %s, which was "
    text += "imported ahead, cannot be loaded again; start it once more\n"
    try:
        os.write(2, (text % name).encode("utf-8", "replace"))
    finally:
        os._exit(125)


def at_exit(record):
    """Registers a function; the one that is registered first is called last."""
    known = "atexit" in sys.modules
    import atexit

    atexit.register(record)
    # Before 3.10 the functions belong to the module, which must stay.
    if not known and sys.version_info >= (3, 10):
        sys.modules.pop("atexit", None)


def watch_imports(record, local, learning):
    """Calls `record` after an import by the program that has added many modules."""
    import _frozen_importlib as bootstrap

    class Depth(local):
        value = 0

    depth, modules, recorded = Depth(), sys.modules, [len(sys.modules)]

    def ended():
        if learning:
            learning.see_imports()
        if len(modules) >= recorded[0] + MANY:
            recorded[0] = len(modules)
            record()

    scope = {"__name__": bootstrap.__name__, "__builtins__": __builtins__}
    exec(compile(WRAPPER, "<frozen importlib._bootstrap>", "exec"), scope)
    # Python calls this function by name for every module that is not loaded yet.
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
    """Yields records of four fields: a kind, a name and two values."""
    for name, module in list(sys.modules.items()):
        if name in PROCESS or not isinstance(name, str):
            continue
        names = names_of(module)
        spec = names.get("__spec__")
        if is_lazy(module):
            continue  # The program has not loaded it.
        loader = type(getattr(spec, "loader", None))
        kind = loader.__name__
        if kind == "type":  # The loaders of built-in modules are classes.
            kind = getattr(spec.loader, "__name__", "")
        origin = names.get("__file__") or getattr(spec, "origin", None) or ""
        if spec is not None and isinstance(origin, str):
            yield "module", name, origin, "" if kind in ORDINARY else kind
    for root in roots(sys.path):
        yield "root", root, "", ""
    # Python has already forgotten the file of a script, but the client knows it.
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


def names_of(module):
    """The attributes of a module. Any other access would load a module that is loaded when it is
    first used (importlib.util.LazyLoader)."""
    try:
        return object.__getattribute__(module, "__dict__")
    except AttributeError:
        return {}


def is_lazy(module):
    return type(module).__name__ == "_LazyModule" and type(module).__module__ == "importlib.util"


def facts():
    """The state that later imports depend on, besides the environment. What differs between
    the exit of a program and the same imports alone, the program has changed."""
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
    yield from settings()


def processors():
    """The processors that may run this process; None on a machine with too many."""
    try:
        return sorted(os.sched_getaffinity(0))
    except OSError:
        return None


# At the beginning: the starts of a program may have others.
FIRST_PROCESSORS = processors()


def settings():
    """Yields settings of the process on which imports may depend, and that are not attributes.
    Reads them only from modules that are loaded."""
    socket, native, resource = map(sys.modules.get, ("_socket", "_locale", "resource"))
    if socket:
        yield "the default timeout of sockets", str(socket.getdefaulttimeout())
    if native:
        yield "the locale", native.setlocale(native.LC_ALL)
    if resource:
        limits = [name for name in dir(resource) if name.startswith("RLIMIT_")]
        yield "limits", str([resource.getrlimit(getattr(resource, name)) for name in limits])
    now = processors()
    yield "on which processors it runs", str(now if now != FIRST_PROCESSORS else None)
    yield "how native libraries are loaded", str(sys.getdlopenflags())
    digits = getattr(sys, "get_int_max_str_digits", int)
    yield "the longest number in a text", str(digits())
    manager = getattr(getattr(sys.modules.get("logging"), "root", None), "manager", None)
    yield "which log messages are disabled", str(getattr(manager, "disable", 0))
    default = getattr(sys.modules.get("decimal"), "DefaultContext", None)
    if default is not None:
        values = {variable.name: value for variable, value in copy_context().items()}
        present = values.get(DECIMAL, default)
        yield "the context of decimal", str([numbers(default), numbers(present)])


def passing_settings():
    """Yields settings that do not matter to imports, or that programs often change for a while."""
    gc = sys.modules.get("gc")
    if gc:
        yield "whether garbage is collected", str(gc.isenabled())
    faults = sys.modules.get("faulthandler")
    if faults:
        yield "whether faults are reported", str(faults.is_enabled())
    names = [getattr(hook, "__qualname__", None) for hook in sys.get_asyncgen_hooks()]
    yield "the hooks of asynchronous generators", str(names)
    yield "the tracking of coroutines", str(sys.get_coroutine_origin_tracking_depth())


# The variable that has the context of the module decimal, which exists from its first use on.
DECIMAL = "decimal_context"


# Settings that a module brings along, as they are before anything changes them.
DECIMAL_NUMBERS = [28, "ROUND_HALF_EVEN", -999999, 999999, 1, 0]
DECIMAL_NUMBERS += ["DivisionByZero", "InvalidOperation", "Overflow"]
INITIAL = {
    "the default timeout of sockets": "None",
    "whether faults are reported": "False",
    "the context of decimal": str([DECIMAL_NUMBERS, DECIMAL_NUMBERS]),
}


def numbers(context):
    """The settings of a context of decimal, without the flags that computations set."""
    names = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")
    traps = [each.__name__ for each, is_on in context.traps.items() if is_on]
    return [getattr(context, name) for name in names] + sorted(traps)


def variables():
    """The context variables that are set, with their values."""
    found = copy_context().items()
    return {variable: value for variable, value in found if variable.name != DECIMAL}


def roots(paths):
    """The directories of installed modules; all other modules belong to the program."""
    found = {os.path.dirname(os.__file__)}
    for path in paths:
        if os.path.basename(path) in ("site-packages", "dist-packages", "lib-dynload"):
            found.add(path)
    return sorted(found | set(map(os.path.realpath, found)))


def write(path, records, before=""):
    text = before + "".join(field + "\0" for fields in records for field in fields)
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
