"""Records, while the warm parent imports, the order in which modules are complete, and the effects
of each."""

import sys

# Imports inside as many others are not searched for all changes of containers.
THOROUGH_DEPTH = 2

# The entry with the types of Cython, and the one that it makes before.
CYTHON, CYTHON_FIRST = "_cython_", "cython_runtime"


class Recorder:
    """Notes imports in the parent, between `begin` and `end`."""

    def __init__(self, nodes, places, importing, names_of):
        self.nodes, self.names_of, self.places = {}, names_of, places
        self.node, self.alias, self.is_native = nodes["Node"], nodes["Alias"], nodes["is_native"]
        self.imports, self.new_entries = importing["Imports"](), importing["new_entries"]
        self.before = dict(sys.modules)
        self.known = set(sys.modules)
        self.stack = [("", self.node())]
        # Names and effects, in order.
        self.log = []

    def begin(self):
        self.imports.begin(self.enter, self.leave)

    def end(self, requests):
        """`requests` has the names that each module imports, as a trial has seen them."""
        self.imports.guarded(self.see_changes)(True)
        self.imports.end()
        self.places.end()
        if not requests and self.log:
            self.imports.is_broken = True
        self.add_requests(requests)

    def enter(self, name):
        self.see_changes(False)
        self.stack[-1][1].steps.append(name)
        self.stack.append((name, self.node()))

    def leave(self, name):
        self.see_changes(len(self.stack) <= THOROUGH_DEPTH)
        _, node = self.stack.pop()
        if name in sys.modules and name not in self.known:
            self.known.add(name)
            self.places.add(name)
            self.log.append(name)
            node.is_complete = True
        if node.is_complete or name not in self.nodes and name not in self.known:
            self.nodes[name] = node
        else:
            # Another import, inside this one, has loaded it.
            steps = self.stack[-1][1].steps
            steps += [each for each in node.steps if not isinstance(each, str)]

    def see_changes(self, thorough):
        """Assigns what has changed to the module that is being executed."""
        node = self.stack[-1][1]
        for name in self.new_entries(self.known, [name for name, _ in self.stack]):
            self.log.append(name)
            node.steps.append(self.alias(name))
        for effect in self.places.changes(thorough):
            self.log.append(effect)
            node.steps.append(effect)

    def problem(self):
        """The reason why nothing can be hidden, or None."""
        if self.imports.is_broken:
            return "what its imports change could not be recorded"
        for name, module in self.before.items():
            if sys.modules.get(name) is not module:
                return "an import replaces the module %s" % name
        return None

    def add_requests(self, requests):
        """Adds imports of modules that were already loaded."""
        for name, node in self.nodes.items():
            left = {each for each in node.steps if isinstance(each, str)}
            rest, steps = iter(node.steps), []
            entries = {each.name: each for each in node.steps if isinstance(each, self.alias)}
            for wanted in requests.get(name, ()):
                if wanted.startswith("="):
                    steps.append(entries.pop(wanted[1:], None) or self.alias(wanted[1:]))
                elif wanted in left:
                    for each in rest:
                        steps.append(each)
                        left.discard(each)
                        if each == wanted:
                            break
                else:
                    while wanted and wanted not in self.nodes:
                        wanted = wanted.rpartition(".")[0]
                    steps += [wanted] if wanted else []
            node.steps = steps + list(rest)
        self.share_entries()

    def share_entries(self):
        """Native modules may share an entry that the first of them makes: Cython keeps its types in
        one. Those that have an object of such a type would make it too."""
        native, made = {}, []
        for name, node in self.nodes.items():
            names = self.names_of(sys.modules.get(name))
            if self.is_native(names):
                native[name] = {type(each).__module__ for each in list(names.values())}
                entries = {each.name: each for each in node.steps if isinstance(each, self.alias)}
                made += [entries] if entries else []
        for entries in made:
            for name, uses in native.items():
                if not uses.isdisjoint(entries):
                    self.nodes[name].steps[:0] = entries.values()
        for name, uses in native.items():
            if any(each.startswith(CYTHON) for each in uses):
                self.nodes[name].steps.insert(0, self.alias(CYTHON_FIRST))
