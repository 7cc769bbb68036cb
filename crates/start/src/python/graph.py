"""Records, in a disposable process, which modules each module imports, and what importing one
module changes in others.

Every import statement counts, also one that finds its module already loaded: in a program that
imports in another order it may be the first. So do entries of `sys.modules` that a module makes
itself; their names begin with `=`. A *place* is an attribute of a module, or of a class or object
that it leads to, or a list, dict or set there, that an import has changed after the module was
complete. The warm parent watches only these places, and not everything (`effects.py`).
"""

import builtins
import sys

# The number of steps from a module to the objects that are compared, and of items per container.
DEPTH, MAX_INNER = 4, 300

MISSING = object()


class Graph:
    def __init__(self, names_of, effects, importing, enter):
        """To be created just before the imports. `enter` is called with the name of the module that
        is being imported, whenever it is another."""
        self.enter = enter
        self.names_of, self.effects, self.importing = names_of, effects, importing
        # The modules that are being executed; the first one is none.
        self.stack = [""]
        self.requests = {}
        # The state of each module when it was complete.
        self.complete = {}
        # The objects that were seen, by their addresses; `alive` keeps them.
        self.seen, self.alive = set(), []
        self.known = set(sys.modules)
        for name in list(sys.modules):
            self.keep(name)
        self.bootstrap, self.imports = importing["bootstrap"], importing["Imports"]()
        self.imports.begin(self.begin, self.end, self.again)
        # The top-level names that were searched for, with the origin of what was found.
        self.sought = {}
        finder = importing["external"].PathFinder
        search, sought = finder.find_spec, self.imports.guarded(self.seek)

        def find_spec(name, path=None, target=None):
            found = search(name, path, target)
            if path is None:
                sought(name, found)
            return found

        finder.find_spec = staticmethod(find_spec)
        request = self.imports.guarded(self.request)
        make = importing["compiled"](REQUESTS)["make"]
        builtins.__import__ = make(builtins.__import__, request)

    def request(self, name, names, members, level):
        """Called for each import statement, and after it for the members that it names."""
        if level:
            try:
                package = self.bootstrap._calc___package__(names)
                name = self.bootstrap._resolve_name(name, package, level)
            except (ImportError, TypeError):
                return  # Python will report it.
        wanted = self.see_entries()
        wanted[name] = None
        module = sys.modules.get(name)
        for member in members or ():
            # In a circular import, the member is not an attribute of its package yet.
            found = sys.modules.get("%s.%s" % (name, member))
            if found is not None and self.names_of(module).get(member, found) is found:
                wanted["%s.%s" % (name, member)] = None

    def again(self, name):
        self.see_entries()[name] = None

    def begin(self, name):
        self.see_entries()[name] = None
        self.stack.append(name)
        self.enter(name)

    def seek(self, name, found):
        # A package without a file has no origin.
        self.sought[name] = (found.origin or "") if found else None

    def end(self, name):
        self.see_entries()
        self.stack.pop()
        self.enter(self.stack[-1])
        if name in sys.modules and name not in self.complete:
            self.known.add(name)
            self.keep(name)

    def see_entries(self):
        """Adds new entries of `sys.modules` to what the present module imports; returns that."""
        wanted = self.requests.setdefault(self.stack[-1], {})
        for name in self.importing["new_entries"](self.known, self.stack):
            wanted["=" + name] = None
        return wanted

    def keep(self, name):
        """Copies the state of a module: its namespaces and containers. An object belongs to the
        module that is complete first."""
        spaces, containers, left = [], [], [((), sys.modules[name], 0)]
        for path, value, depth in left:
            self.alive.append(value)
            names = self.effects["namespace"](value, self.names_of)
            if names is not None:
                # Objects further away often keep what others have looked up there.
                is_near = len(path) < 2 or issubclass(type(value), type)
                spaces.append((path, names, dict(names), is_near))
            copied = self.effects["copy"](value)
            if copied is not None:
                containers.append((path, value, copied))
            if depth == DEPTH or copied is not None and len(copied) > MAX_INNER:
                continue
            for step, inner in self.effects["inner"](value, names):
                if self.is_new(inner, name):
                    # A class is part of its module. `isinstance` would ask the object itself.
                    deeper = depth if issubclass(type(inner), type) else depth + 1
                    left.append((path + (step,), inner, deeper))
        self.complete[name] = spaces, containers

    def is_new(self, value, module):
        """Returns True for an object of which the changes count, and that was not seen before."""
        if issubclass(type(value), type):
            counts = self.effects["names_in"](value).get("__module__") == module
        else:
            counts = self.effects["can_change"](value)
        if not counts or id(value) in self.seen:
            return False
        self.seen.add(id(value))
        return True

    def report(self, is_installed):
        """Yields pairs of strings for the warm parent."""
        if self.imports.is_broken:
            return
        for name, wanted in self.requests.items():
            yield "imports", "\n".join([name, *wanted])
        for name, origin in self.sought.items():
            if name not in sys.modules and (origin is None or is_installed(origin)):
                yield "sought", name
        for name, (spaces, containers) in self.complete.items():
            for path, names, before, is_near in spaces:
                for key in dict.fromkeys([*before, *names]) if is_near else before:
                    if names.get(key, MISSING) is not before.get(key, MISSING):
                        if self.effects["is_name"](key):
                            yield "place", "\n".join((name, "value", *path, "." + key))
            for path, value, copied in containers:
                if not self.effects["is_same"](value, copied):
                    yield "place", "\n".join((name, "items", *path))


REQUESTS = """
def make(original, request):
    def __import__(name, globals=None, locals=None, fromlist=(), level=0):
        request(name, globals, (), level)
        module = original(name, globals, locals, fromlist, level)
        if fromlist:
            request(name, globals, fromlist, level)
        return module
    return __import__
"""
