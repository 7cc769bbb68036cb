"""Records, in a disposable process, which modules each module imports, and what importing one
module changes in others.

Every import statement counts, also one that finds its module already loaded: in a program that
imports in another order it may be the first. So do entries of `sys.modules` that a module makes
itself; their names begin with `=`. A *place* is an attribute of a module or of one of
its classes, or a list, dict or set there, that an import has changed after the module was
complete. The warm parent watches only these places, and not everything (`effects.py`).
"""

import builtins
import sys


class Graph:
    def __init__(self, names_of, effects, importing):
        """To be created just before the imports."""
        self.names_of, self.effects, self.importing = names_of, effects, importing
        # The modules that are being executed; the first one is none.
        self.stack = [""]
        self.requests = {}
        # The state of each module when it was complete.
        self.complete = {}
        # Containers whose contents are known; `complete` refers to each.
        self.copied = set()
        self.known = set(sys.modules)
        for name in list(sys.modules):
            self.keep(name)
        self.bootstrap, self.imports = importing["bootstrap"], importing["Imports"]()
        self.imports.begin(self.begin, self.end)
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
            part = "%s.%s" % (name, member)
            if part in sys.modules and self.names_of(module).get(member) is sys.modules[part]:
                wanted[part] = None

    def begin(self, name):
        self.see_entries()[name] = None
        self.stack.append(name)

    def end(self, name):
        self.see_entries()
        self.stack.pop()
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
        owners = self.owners(self.names_of(sys.modules[name]), name)
        self.complete[name] = [(of, names, self.copies(names)) for of, names in owners]

    def owners(self, names, module):
        """The namespaces of a module: its own, and those of the classes that it defines."""
        found, names_in = [("", names)], self.effects["names_in"]
        for key, value in list(names.items()):
            if isinstance(key, str) and issubclass(type(value), type):
                if names_in(value).get("__module__") == module:
                    found.append((key, names_in(value)))
        return found

    def copies(self, names):
        """The attributes, and the contents of those that are containers. These belong to the module
        that is complete first."""
        copied, found = self.copied, {}
        for each, value in list(names.items()):
            found[each] = value, None
            if id(value) not in copied:
                contents = self.effects["copy"](value)
                if contents is not None:
                    copied.add(id(value))
                    found[each] = value, contents
        return found

    def report(self):
        """Yields pairs of strings for the warm parent."""
        if self.imports.is_broken:
            return
        for name, wanted in self.requests.items():
            yield "imports", "\n".join([name, *wanted])
        for name, owners in self.complete.items():
            for of, names, before in owners:
                for attribute, kind in self.changed(names, before):
                    yield "place", "\n".join((name, of, attribute, kind))

    def changed(self, names, before):
        missing = (self.effects["MISSING"], None)
        for each in dict.fromkeys([*before, *names]):
            if not isinstance(each, str):
                continue
            value, copied = before.get(each, missing)
            if names.get(each, missing[0]) is not value:
                yield each, "value"
            if copied is not None and not self.effects["is_same"](value, copied):
                yield each, "items"


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
