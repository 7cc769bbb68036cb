"""Hides modules that the warm parent has imported ahead, until the program imports them.

While the parent imports, `Recorder` notes the order in which modules are complete, and the
effects of each (`effects.py`). `Hidden` then undoes the effects and removes the modules from
`sys.modules`. In a child, the function of importlib that Python calls for a module that is not
loaded looks here first. A module that it finds is shown with all modules that its import would
import, in the same order, and the effects are repeated.
"""

import sys

# Imports inside as many others are not searched for all changes of containers.
THOROUGH_DEPTH = 2

# The number of modules that import another one, of which `Hidden.expect` tries each.
MOST_ABOVE = 40


class Node:
    """The import of a module: names that it imports and effects, in order."""

    __slots__ = ("steps", "is_complete")

    def __init__(self):
        self.steps, self.is_complete = [], False


class Alias:
    """An entry of `sys.modules` that a module has made itself."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name


# The entry with the types of Cython, and the one that it makes before.
CYTHON, CYTHON_FIRST = "_cython_", "cython_runtime"

# The loader of native modules.
NATIVE = "ExtensionFileLoader"


class Piece:
    """Modules that are shown together, and effects that are repeated then."""

    __slots__ = ("modules", "effects", "kept")

    def __init__(self, steps, hidden):
        self.modules = {each: hidden[each] for each in strings(steps) if each in hidden}
        effects = [each for each in steps if not isinstance(each, str)]
        self.effects = [each for each in effects if not each.is_done]
        self.kept = [each for each in effects if each.is_done]


class Recorder:
    """Notes imports in the parent, between `begin` and `end`."""

    def __init__(self, effects, places, names_of):
        import _frozen_importlib as bootstrap
        import _thread

        self.bootstrap, self.original = bootstrap, bootstrap._find_and_load
        self.thread, self.main = _thread.get_ident, _thread.get_ident()
        self.places, self.names_of = effects["Places"](places, names_of), names_of
        self.effect, self.new_entries = effects["Effect"], effects["new_entries"]
        self.before = dict(sys.modules)
        self.known = set(sys.modules)
        self.search = search()
        # True after an error here, which must not disturb the import.
        self.is_broken = False
        self.nodes, self.stack = {}, [("", Node())]
        # Names and effects, in order.
        self.log = []

    def begin(self):
        scope = {"__name__": self.bootstrap.__name__, "__builtins__": __builtins__}
        exec(compile(RECORDS, "<frozen importlib._bootstrap>", "exec"), scope)
        enter, leave = self.guarded(self.enter), self.guarded(self.leave)
        self.bootstrap._find_and_load = scope["make"](self.original, sys.modules, enter, leave)

    def guarded(self, function):
        def guard(value):
            if self.is_broken or self.thread() != self.main:
                return
            try:
                function(value)
            except Exception:
                self.is_broken = True

        return guard

    def end(self, requests):
        """`requests` has the names that each module imports, as a trial has seen them."""
        self.guarded(self.see_changes)(True)
        self.bootstrap._find_and_load = self.original
        self.places.end()
        self.is_broken = self.is_broken or not requests
        self.add_requests(requests)

    def enter(self, name):
        self.see_changes(False)
        self.stack[-1][1].steps.append(name)
        self.stack.append((name, Node()))

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
            node.steps.append(Alias(name))
        for effect in self.places.changes(thorough):
            self.log.append(effect)
            node.steps.append(effect)

    def is_hideable(self):
        """Returns False if an import has changed modules that were loaded before."""
        return not self.is_broken and all(sys.modules.get(name) is module for name, module in self.before.items())

    def add_requests(self, requests):
        """Adds imports of modules that were already loaded."""
        for name, node in self.nodes.items():
            left = {each for each in node.steps if isinstance(each, str)}
            rest, steps = iter(node.steps), []
            entries = {each.name: each for each in node.steps if isinstance(each, Alias)}
            for wanted in requests.get(name, ()):
                if wanted.startswith("="):
                    steps.append(entries.pop(wanted[1:], None) or Alias(wanted[1:]))
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
            spec = names.get("__spec__")
            if type(getattr(spec, "loader", None)).__name__ == NATIVE:
                native[name] = {type(each).__module__ for each in list(names.values())}
                entries = {each.name: each for each in node.steps if isinstance(each, Alias)}
                made += [entries] if entries else []
        for entries in made:
            for name, uses in native.items():
                if not uses.isdisjoint(entries):
                    self.nodes[name].steps[:0] = entries.values()
        for name, uses in native.items():
            if any(each.startswith(CYTHON) for each in uses):
                self.nodes[name].steps.insert(0, Alias(CYTHON_FIRST))


class Hidden:
    """The modules that are hidden, and what is needed to show them."""

    def __init__(self, recorder):
        import _imp

        self.lock = _imp
        self.bootstrap, self.original = recorder.bootstrap, recorder.original
        self.nodes, self.names_of, self.effect = recorder.nodes, recorder.names_of, recorder.effect
        log = recorder.log if recorder.is_hideable() else []
        self.modules = {name: sys.modules[name] for name in strings(log) if name in sys.modules}
        self.effects = [each for each in log if not isinstance(each, str)]
        # Where modules were searched for, before and after the imports.
        self.searches = recorder.search, search()
        # The modules that an expected program imports, piece by piece, and the number of the next
        # piece; None once the program has imported in another order.
        self.pieces, self.next = [], 0
        # Imports that end a piece: the first piece that each may show, and the last.
        self.roots = {}
        # Functions that are called after modules were shown.
        self.after = []
        scope = {"__name__": self.bootstrap.__name__, "__builtins__": __builtins__}
        exec(compile(SHOWS, "<frozen importlib._bootstrap>", "exec"), scope)
        self.function = scope["make"](self.original, sys.modules, self.modules, self.show)

    def hide(self, order):
        """In the parent. `order` is the order in which modules were complete in an earlier start of
        the program."""
        for name in self.modules:
            del sys.modules[name]
        self.expect(order)
        within = self.within_pieces()
        for effect in reversed(self.effects):
            if effect not in within:
                effect.undo()
        self.pieces = [Piece(each, self.modules) for each in self.pieces]
        self.install()

    def install(self):
        if self.modules:
            self.bootstrap._find_and_load = self.function

    def lend(self):
        """Shows everything; returns a function that hides it again."""
        undone = [each for each in self.effects if not each.is_done]
        self.stop()
        sys.modules.update(self.modules)
        for effect in undone:
            effect.repeat()

        def hide():
            for effect in reversed(undone):
                effect.undo()
            for name in self.modules:
                sys.modules.pop(name, None)
            self.install()

        return hide

    def adopt(self, name):
        """Has a module hidden that was imported after all others."""
        module, (package, _, part) = sys.modules[name], name.rpartition(".")
        self.modules[name], self.nodes[name] = module, Node()
        self.nodes[name].is_complete = True
        names = self.names_of(self.get(package))
        if names.get(part) is module:
            effect = self.effect(lambda: names.update([(part, module)]), lambda: names.pop(part))
            effect.undo()
            self.nodes[name].steps.append(effect)

    def give_back(self):
        """At the end of the program: modules that it has not imported are freed with all others."""
        for name, module in self.modules.items():
            sys.modules.setdefault(name, module)
        self.stop()

    def stop(self):
        if self.bootstrap._find_and_load is self.function:
            self.bootstrap._find_and_load = self.original

    def get(self, name):
        """A module, hidden or not."""
        return sys.modules.get(name) or self.modules.get(name)

    def expect(self, order):
        """Prepares for a program that imports as before."""
        order = [name for name in order if name in self.modules]
        place = {name: at for at, name in enumerate(order)}
        wanting = {}
        for name in order:
            for step in strings(self.nodes[name].steps) if name in self.nodes else ():
                wanting.setdefault(step, []).append(name)
        left = dict(self.modules)
        for at, name in enumerate(order):
            if name not in left:
                continue
            # From the first module up to the import that led to it: those that show exactly what
            # comes next.
            last, above, roots = at - 1, [name], []
            while True:
                found = [self.matches(each, left, order, place, at) for each in above]
                longest = max(found, default=-1)
                if longest <= last:
                    break
                last = longest
                roots.append(order[last])
                above = [each for each in wanting.get(order[last], ()) if place[each] > last]
                above = sorted(above, key=place.get)[:MOST_ABOVE]
            root = order[max(last, at)]
            first, shown = len(self.pieces), list(self.walk(root, left))
            self.pieces.append([])
            for each in shown:
                self.pieces[-1].append(each)
                if isinstance(each, str):
                    left.pop(each, None)
                if each in roots[:-1]:
                    self.roots[each] = first, len(self.pieces) - 1
                    self.pieces.append([])
            self.roots[root] = first, len(self.pieces) - 1

    def matches(self, name, left, order, place, at):
        """The place in the order of the last module that an import shows, if it shows exactly
        those from `at` on; otherwise -1. Entries that modules make are not in the order."""
        for each in self.walk(name, left):
            if each in place and each in left:
                if at == len(order) or order[at] != each:
                    return -1
                at += 1
        return at - 1

    def within_pieces(self):
        """Effects that can be noticed only after a module was shown that is part of the same piece.
        They need not be undone, as long as the program imports as expected. Later effects on the
        same place are."""
        piece_of, by_place = {}, {}
        for at, piece in enumerate(self.pieces):
            for each in piece:
                piece_of.setdefault(each, at)
        for effect in self.effects:
            by_place.setdefault(effect.place, []).append(effect)
        found = set()
        for place, effects in by_place.items():
            piece = piece_of.get(place.owner)
            for effect in effects:
                if piece is None or piece_of.get(effect) != piece:
                    break
                found.add(effect)
        return found

    def enter(self, frame):
        """In a child that continues in an import: Python has already called its own function."""
        if frame is not None and frame.f_code is self.original.__code__:
            self.show(frame.f_locals["name"])

    def show(self, name):
        """Shows a module with everything that its import would have imported."""
        # A fork waits for this lock, and the child has it free.
        self.lock.acquire_lock()
        try:
            if name in self.modules and name not in sys.modules:
                self.show_now(name)
        finally:
            self.lock.release_lock()

    def show_now(self, name):
        first, last = self.roots.get(name, (0, -1))
        if self.next is not None and first <= self.next <= last and not self.is_changed():
            pieces = self.pieces[self.next : last + 1]
            self.next = last + 1
        else:
            pieces = [self.unexpected(name)]
        for piece in pieces:
            # First, so that another thread finds the effects of every module that it finds.
            for effect in piece.effects:
                effect.repeat()
            found = piece.modules
            if not found.keys().isdisjoint(sys.modules):
                found = {each: found[each] for each in found if each not in sys.modules}
            # Before they are no longer hidden: another thread finds each in one of both.
            sys.modules.update(found)
            for each in piece.modules:
                self.modules.pop(each, None)
        if not self.modules:
            self.stop()
        for function in self.after:
            function()

    def unexpected(self, name):
        """What the import of a module does in a program that imports in another order."""
        if self.next is not None:
            hidden = {each for piece in self.pieces[self.next :] for each in piece.kept}
            for effect in reversed(self.effects):
                if effect in hidden:
                    effect.undo()
            self.next = None
        wanted = list(self.walk(name, self.modules))
        if self.is_changed():
            wanted = self.without_others(wanted)
        return Piece(wanted, self.modules)

    def walk(self, name, left):
        """Yields what the import of a module does now: names of modules in the order in which they
        are complete, and effects. `left` has the modules that are hidden."""
        seen, stack, nodes, loaded = set(), [], self.nodes, sys.modules

        def is_next(name):
            if name in seen or name in loaded:
                return False
            return name in left or name in nodes and not nodes[name].is_complete

        steps, current = iter([name]), None
        while True:
            for step in steps:
                if isinstance(step, Alias):
                    if step.name not in seen:
                        seen.add(step.name)
                        yield step.name
                elif not isinstance(step, str):
                    yield step
                elif is_next(step):
                    stack.append((current, steps))
                    parent = step.rpartition(".")[0]
                    if parent and is_next(parent):
                        # The package first; it may import this part itself.
                        current, steps = None, iter((parent, step))
                    else:
                        seen.add(step)
                        node = nodes.get(step)
                        current, steps = step, iter(node.steps if node else ())
                    break
            else:
                if current is not None:
                    yield current
                if not stack:
                    return
                current, steps = stack.pop()

    def is_changed(self):
        """Returns True if the program has changed where modules are searched for."""
        now = search()
        if any(now == then for then in self.searches):
            return False
        # The directory that is searched first may have no name.
        return (["", *self.searches[0][0][1:]], *self.searches[0][1:]) != now

    def without_others(self, wanted):
        """Leaves out modules that the program would find elsewhere now, with all that depend on
        them: these are imported as ever. Modules with native code are shown all the same, since
        they cannot be loaded twice."""
        others = {
            name
            for name in wanted
            if isinstance(name, str) and name in self.modules and not self.is_found(name)
        }
        if not others:
            return wanted
        dependents = set(others)
        while True:
            more = {
                name
                for name, node in self.nodes.items()
                if name not in dependents and not dependents.isdisjoint(strings(node.steps))
            }
            if not more:
                break
            dependents |= more
        specs = [self.names_of(self.modules.get(name)).get("__spec__") for name in dependents]
        if any(type(getattr(spec, "loader", None)).__name__ == NATIVE for spec in specs):
            return wanted
        effects = {id(each) for name in dependents for each in self.nodes[name].steps}
        for name in dependents:
            self.modules.pop(name, None)
        return [each for each in wanted if each not in dependents and id(each) not in effects]

    def is_found(self, name):
        """Returns True if Python would find this module."""
        if "." in name:
            return True
        is_ = self.names_of(self.modules[name]).get("__spec__")
        for finder in list(sys.meta_path):
            try:
                spec = finder.find_spec(name, None)
            except Exception:
                return False
            if spec is not None:
                return getattr(is_, "origin", None) == spec.origin
        return is_ is None


def search():
    """Where modules are searched for."""
    return list(sys.path), list(sys.path_hooks), list(sys.meta_path)


def strings(steps):
    return [each for each in steps if isinstance(each, str)]


RECORDS = """
def make(original, modules, enter, leave):
    def _find_and_load(name, import_):
        if name in modules:
            return original(name, import_)
        enter(name)
        try:
            return original(name, import_)
        finally:
            leave(name)
    return _find_and_load
"""

SHOWS = """
def make(original, modules, hidden, show):
    def _find_and_load(name, import_):
        if name in hidden and name not in modules:
            show(name)
        return original(name, import_)
    return _find_and_load
"""
