"""The places that a warm parent watches while it imports: those that imports changed in a trial
(`graph.py`), and those that belong to the process, such as loggers and functions of `atexit`.
"""

import os
import sys

# Attributes that are handled elsewhere.
LEFT = {("sys", "modules"), ("sys", "argv"), ("sys", "orig_argv"), ("os", "environ")}
LEFT |= {("warnings", "filters"), ("atexit", "register")}


class Loggers:
    """The loggers, by name, and their order."""

    def __init__(self, effects, logging, modules):
        self.effect, self.is_same = effects["Effect"], effects["is_same"]
        self.logging, self.modules = logging, modules
        self.manager = logging.Logger.manager
        self.last = dict(self.manager.loggerDict)

    def change(self, _):
        now = self.manager.loggerDict
        if self.is_same(now, self.last):
            return None
        last, self.last = self.last, dict(now)
        of = self.logging.Logger
        new = [
            (name, each)
            for name, each in now.items()
            if isinstance(each, of) and last.get(name) is not each
        ]
        # Loggers that are only part of the name of another have a map of those.
        maps = {
            name: dict(each.loggerMap)
            for name, each in last.items()
            if isinstance(each, self.logging.PlaceHolder)
        }
        return self.effect(lambda: self.add(new), lambda: self.go_back(last, maps), new)

    def united(self, changes):
        new = [each for change in changes for each in change]
        return lambda: self.add(new)

    def add(self, new):
        with self.logging._lock:
            for name, logger in new:
                self.add_one(name, logger)

    def add_one(self, name, logger):
        """Like Manager.getLogger, with a logger that exists."""
        loggers = self.manager.loggerDict
        present = loggers.get(name)
        if present is logger:
            return
        if isinstance(present, self.logging.Logger):
            self.unite(present, logger)
            return
        loggers[name] = logger
        if present is not None:
            self.manager._fixupChildren(present, logger)
        self.manager._fixupParents(logger)

    def unite(self, present, logger):
        """The program has made a logger of the same name: modules get that one, with what they
        have set when they were imported."""
        for kept in ("handlers", "filters"):
            mine = getattr(present, kept)
            mine += [each for each in getattr(logger, kept) if each not in mine]
        if logger.level:
            present.level = logger.level
        present.propagate = present.propagate and logger.propagate
        logger.__dict__ = present.__dict__
        for names in self.modules():
            for key, value in list(names.items()):
                if value is logger:
                    names[key] = present

    def go_back(self, last, maps):
        loggers = self.manager.loggerDict
        loggers.clear()
        loggers.update(last)
        for name, known in maps.items():
            loggers[name].loggerMap.clear()
            loggers[name].loggerMap.update(known)
        for logger in last.values():
            if isinstance(logger, self.logging.Logger):
                self.manager._fixupParents(logger)
        if hasattr(self.manager, "_clear_cache"):
            self.manager._clear_cache()


class Exits:
    """Functions that are called at the end."""

    def __init__(self, effects, atexit):
        self.effect, self.atexit, self.new = effects["Effect"], atexit, []
        original = self.original = atexit.register

        def register(function, *values, **named):
            if self.new is not None:
                self.new.append((function, values, named))
            return original(function, *values, **named)

        atexit.register = register

    def change(self, _):
        if not self.new:
            return None
        new, self.new = self.new, []

        def repeat():
            for function, values, named in new:
                self.original(function, *values, **named)

        def undo():
            for function, _, _ in new:
                self.atexit.unregister(function)

        return self.effect(repeat, undo)

    def end(self):
        self.new = None
        self.atexit.register = self.original


def put_variable(name, value):
    if value is None:
        os.unsetenv(name)
    else:
        os.putenv(name, value)


class Places:
    """The places that are watched while the warm parent imports."""

    def __init__(self, effects, places, names_of):
        self.effects, self.missing = effects, effects["MISSING"]
        self.value, self.items = effects["Value"], effects["Items"]
        self.setting = effects["Setting"]
        self.by_module, self.names_of = places, names_of
        self.values, self.watched, self.exits = [], [], None
        for name in list(sys.modules):
            self.add(name)
        self.watch(None, self.items(os.environ._data, put_variable))
        self.watch(None, self.setting(sys.getrecursionlimit, sys.setrecursionlimit))
        self.watch(None, self.setting(sys.getswitchinterval, sys.setswitchinterval))

    def watch(self, owner, *places):
        """`owner` is the module without which a program cannot notice a change; None if it can."""
        for place in places:
            place.owner = owner
            (self.values if type(place) is self.value else self.watched).append(place)

    def add(self, name):
        """After a module is complete: what changes there from now on counts."""
        module = sys.modules[name]
        names = self.names_of(module)
        if name == "atexit":
            self.exits = Exits(self.effects, module)
            self.watch(None, self.exits)
        elif name == "logging":
            root = module.root
            self.watch(name, Loggers(self.effects, module, self.namespaces))
            self.watch(name, self.value(vars(root), "level"), self.items(root.handlers))
        elif name == "warnings":
            self.watch(None, self.effects["Filters"](module))
        elif name == "gc":
            self.watch(None, self.setting(module.get_threshold, lambda at: module.set_threshold(*at)))
        elif name == "_signal":
            self.watch(None, *signals(module, self.setting))
        for of, key, kind in self.by_module.get(name, ()):
            if (name, key) in LEFT:
                continue
            owner = names.get(of) if of else None
            space = names if owner is None else self.effects["names_in"](owner)
            if kind == "value":
                self.watch(name, self.value(space, key, owner))
            elif self.effects["copy"](space.get(key)) is not None:
                self.watch(name, self.items(space[key]))

    def namespaces(self):
        return [self.names_of(module) for module in list(sys.modules.values())]

    def changes(self, thorough):
        """The effects since the last call."""
        # Most places are values, and few have changed.
        missing = self.missing
        changed = [each for each in self.values if each.get(each.key, missing) is not each.last]
        found = []
        for place in changed + self.watched:
            effect = place.change(thorough)
            if effect is not None:
                effect.place = place
                found.append(effect)
        return found

    def end(self):
        if self.exits:
            self.exits.end()


def signals(module, of):
    """The handlers of signals."""

    def setting(number):
        def put(handler):
            if handler is not None:
                module.signal(number, handler)

        return of(lambda: module.getsignal(number), put)

    return [setting(number) for number in sorted(module.valid_signals())]
