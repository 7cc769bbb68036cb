"""Keeps the bytecode of imported modules in a directory, independent of the program's
settings for bytecode.

importlib calls `compile` by name for a module without usable bytecode, and a global of
importlib takes precedence over the built-in function. Ours first searches for an entry.
Entries are checked-hash .pyc files, stored under the path of their source. An entry is used
only for exactly the source it was compiled from, so mtimes do not matter and entries cannot
be stale. The program's settings (sys.dont_write_bytecode, sys.pycache_prefix, the
environment) stay unchanged.
"""

import os
import sys

# Flags of a .pyc file that is validated by the hash of its source.
CHECKED_HASH = b"\3\0\0\0"


def begin(directory):
    """Makes modules without bytecode load it from `directory`, or store it there."""
    import _frozen_importlib_external as external

    if "compile" in vars(external):
        return
    kept = Kept(directory, external)
    scope = {"__name__": external.__name__, "__builtins__": __builtins__}
    exec(compile(HOOK, "<frozen importlib._bootstrap_external>", "exec"), scope)
    external.compile = scope["make"](kept.load, kept.store)


# Tracebacks omit the frames of importlib up to a function with this name.
HOOK = """
def make(load, store):
    def _call_with_frames_removed(*args, **settings):
        code = load(args, settings)
        if code is None:
            code = compile(*args, **settings)
            store(args, settings, code)
        return code
    return _call_with_frames_removed
"""


class Kept(object):
    """Entries below a directory, by the path of their source."""

    def __init__(self, directory, external):
        self.directory = directory
        self.marshal = external.marshal
        self.magic = external.MAGIC_NUMBER
        self.key = int.from_bytes(self.magic, "little")
        self.hash = external._imp.source_hash

    def head(self, source):
        """The first 16 bytes of an entry for this source."""
        return self.magic + CHECKED_HASH + self.hash(self.key, source)

    def path(self, args, settings):
        """The path of an entry; None for calls that are not those of importlib."""
        if len(args) != 3 or set(settings) != {"dont_inherit", "optimize"}:
            return None
        source, path, mode = args
        if type(source) is not bytes or type(path) is not str or mode != "exec":
            return None
        tag, level = sys.implementation.cache_tag, settings["optimize"]
        if tag is None:
            return None
        if not path.startswith("/"):
            path = os.getcwd() + "/" + path
        if "/../" in path or "\0" in path:
            return None
        head, _, tail = path.rpartition("/")
        stem, dot, rest = tail.rpartition(".")
        if level == -1:
            level = sys.flags.optimize
        level = ".opt-%s" % level if level else ""
        name = "%s.%s%s.pyc" % (stem if dot else rest, tag, level)
        return "%s%s/%s" % (self.directory, head, name)

    def load(self, args, settings):
        """The stored code, if there is a valid entry."""
        try:
            path = self.path(args, settings)
            if path is None:
                return None
            with open(path, "rb", 0) as file:
                data = file.read()
            if data[:16] == self.head(args[0]):
                return self.marshal.loads(memoryview(data)[16:])
        except Exception:
            pass
        return None

    def store(self, args, settings, code):
        """Stores compiled code; errors are ignored."""
        new = None
        try:
            path = self.path(args, settings)
            if path is None:
                return
            data = self.head(args[0]) + self.marshal.dumps(code)
            os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
            new = "%s.%d.%d.new" % (path, os.getpid(), id(args))
            fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                while data:
                    data = data[os.write(fd, data) :]
            finally:
                os.close(fd)
            os.rename(new, path)
        except Exception:
            try:
                if new is not None:
                    os.unlink(new)
            except OSError:
                pass
