"""Checks whether Python would still find a hidden module where it searches for modules now."""

import sys


def search():
    return list(sys.path), list(sys.path_hooks), list(sys.meta_path)


class Search:
    """The search before and after the imports of the warm parent."""

    def __init__(self, names_of, kinds):
        self.names_of, self.strings, self.is_native = names_of, kinds["strings"], kinds["is_native"]
        self.before = self.after = search()
        # Modules that the program has found elsewhere.
        self.elsewhere = set()

    def end(self):
        self.after = search()

    def is_changed(self):
        """Returns True if the program has changed the search, or had when it found a module."""
        now = search()
        if self.elsewhere or now in (self.before, self.after):
            return bool(self.elsewhere)
        # The directory that is searched first may have no name.
        paths, *rest = self.before
        return (["", *paths[1:]], *rest) != now

    def found_elsewhere(self, wanted, nodes, hidden):
        """Names of modules that the program finds elsewhere, with all that depend on them, which it
        must import itself, and of those among them that it cannot: a native module of the same
        file cannot be loaded twice."""
        names = self.strings(wanted)
        self.elsewhere.update(
            name for name in names if name in hidden and not self.is_found(hidden[name], name)
        )
        found = more = set(self.elsewhere)
        while more:
            more = {
                name
                for name, node in nodes.items()
                if name not in found and not found.isdisjoint(self.strings(node.steps))
            }
            found = found | more
        # A native module in a package that is elsewhere is another file.
        twice = {
            name
            for name in found & hidden.keys()
            if name.partition(".")[0] not in self.elsewhere
            and self.is_native(self.names_of(hidden[name]))
        }
        # Those that are not imported now stay hidden.
        return found - twice, [name for name in names if name in twice]

    def is_found(self, module, name):
        """Returns True if Python would find this module."""
        if "." in name:
            return True
        is_ = self.names_of(module).get("__spec__")
        for finder in list(sys.meta_path):
            try:
                spec = finder.find_spec(name, None)
            except Exception:
                return False
            if spec is not None:
                return getattr(is_, "origin", None) == spec.origin
        return is_ is None
