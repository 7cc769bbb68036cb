"""Hides modules that the warm parent has imported ahead, until the program imports them.

`Hidden` undoes the effects of the imports (`recorder.py`) and removes the modules from
`sys.modules`. In a child, the function of importlib that Python calls for a module that is not
loaded looks here first. A module that it finds is shown with all modules that its import would
import, in the same order, and the effects are repeated.
"""

import sys


class Hidden:
    """The modules that are hidden, and what is needed to show them."""

    def __init__(self, recorder, search, parts):
        """`parts` returns the namespace of another of our files."""
        import _imp

        kinds, effects, expected = parts("nodes.py"), parts("effects.py"), parts("expected.py")
        self.lock, self.walk, self.node = _imp, kinds["walk"], kinds["Node"]
        self.effect, self.united, self.attempt = (
            effects["Effect"],
            effects["united"],
            effects["attempt"],
        )
        self.piece = expected["Piece"]
        self.nodes, self.names_of, self.search = recorder.nodes, recorder.names_of, search
        log = recorder.log
        names = kinds["strings"](log)
        self.modules = {name: sys.modules[name] for name in names if name in sys.modules}
        self.effects = [each for each in log if not isinstance(each, str)]
        self.expected = expected["Expected"](self.nodes, kinds)
        # Functions that are called after modules were shown.
        self.after = []
        # Called with the name of a module that the program would have to load twice; ends it.
        self.fail = lambda name: None
        self.showing = parts("importing.py")["Showing"](self.modules, self.show)

    def hide(self, order):
        """In the parent. `order` is the order in which modules were complete in an earlier start of
        the program."""
        for name in self.modules:
            del sys.modules[name]
        self.expected.find(order, self.modules)
        within = self.expected.within(self.effects)
        for effect in reversed(self.effects):
            if effect not in within:
                effect.undo()
        self.expected.prepare(self.modules, self.united)
        self.install()

    def install(self):
        if self.modules:
            self.showing.begin()

    def touch(self):
        """In a waiting child: takes a reference to each module for a moment. That changes the counts
        of references, so the kernel copies these pages now and not while the program imports."""
        for _ in self.modules.values():
            pass

    def show_for_now(self):
        """Shows everything; returns a function that hides it again."""
        undone = [each for each in self.effects if not each.is_done]
        self.showing.end()
        sys.modules.update(self.modules)
        for effect in undone:
            effect.repeat()

        def hide_again():
            for effect in reversed(undone):
                effect.undo()
            for name in self.modules:
                sys.modules.pop(name, None)
            self.install()

        return hide_again

    def adopt(self, name):
        """Hides a module that was imported after the others were hidden."""
        module, (package, _, part) = sys.modules[name], name.rpartition(".")
        self.modules[name], self.nodes[name] = module, self.node()
        self.nodes[name].is_complete = True
        names = self.names_of(self.get(package))
        if names.get(part) is module:
            effect = self.effect(lambda: names.update([(part, module)]), lambda: names.pop(part))
            effect.undo()
            self.nodes[name].steps.append(effect)

    def show_at_end(self):
        """At the end of the program: modules that it has not imported are freed with all others."""
        for name, module in self.modules.items():
            sys.modules.setdefault(name, module)
        self.showing.end()

    def get(self, name):
        """A module, hidden or not."""
        return sys.modules.get(name) or self.modules.get(name)

    def enter(self, frame):
        """In a child that continues in an import: Python has already called its own function."""
        if frame is not None and frame.f_code is self.showing.original.__code__:
            self.show(frame.f_locals["name"])

    def show(self, name):
        """Shows a module with everything that its import would have imported."""
        # `os.fork` takes this lock first, so a child never inherits it held.
        self.lock.acquire_lock()
        try:
            if name in self.modules and name not in sys.modules:
                self.show_now(name)
        finally:
            self.lock.release_lock()

    def show_now(self, name):
        is_changed = self.search.is_changed()
        pieces = None if is_changed else self.expected.take(name)
        if pieces is None:
            self.expected.leave(self.effects)
            pieces = [self.unexpected(name, is_changed)]
        for piece in pieces:
            # First, so that another thread finds the effects of every module that it finds.
            for repeat in piece.repeats:
                self.attempt(repeat)
            found = piece.modules
            if not found.keys().isdisjoint(sys.modules):
                found = {each: found[each] for each in found if each not in sys.modules}
            # First, so that another thread always finds each module in one of the two.
            sys.modules.update(found)
            for each in piece.modules:
                self.modules.pop(each, None)
        if not self.modules:
            self.showing.end()
        for function in self.after:
            function()

    def unexpected(self, name, is_changed):
        """Imports a module in a program that imports in another order."""
        wanted = list(self.walk(name, self.nodes, self.modules))
        if is_changed:
            wanted = self.without_others(wanted)
        piece = self.piece(wanted, self.modules, self.united)
        for effect in piece.effects:
            effect.is_done = True
        return piece

    def without_others(self, wanted):
        """Leaves out modules that the program would find elsewhere now, with all that depend on
        them: these are imported as usual."""
        others, twice = self.search.found_elsewhere(wanted, self.nodes, self.modules)
        if twice:
            self.fail(twice[0])
        nodes = [self.nodes[name] for name in others if name in self.nodes]
        effects = {id(each) for node in nodes for each in node.steps}
        for name in others:
            self.modules.pop(name, None)
        return [each for each in wanted if each not in others and id(each) not in effects]
