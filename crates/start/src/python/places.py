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


class LoggerStates:
    """The state of loggers that exist: an import may set the level of another library's logger."""

    VALUES, LISTS = ("level", "propagate", "disabled"), ("handlers", "filters")

    def __init__(self, effects, logging):
        self.effect, self.of, self.manager = effects["Effect"], logging.Logger, logging.Logger.manager
        self.last = self.states()

    def states(self):
        loggers = [each for each in self.manager.loggerDict.values() if isinstance(each, self.of)]
        return {
            logger: (
                [getattr(logger, name) for name in self.VALUES],
                [list(getattr(logger, name)) for name in self.LISTS],
            )
            for logger in loggers
        }

    def change(self, thorough):
        if not thorough:
            return None
        last, self.last = self.last, self.states()
        changed = [
            (logger, last[logger], now)
            for logger, now in self.last.items()
            if last.get(logger, now) != now
        ]
        if not changed:
            return None

        def put(before, after):
            for each in changed:
                self.put(each[0], each[before], each[after])

        return self.effect(lambda: put(1, 2), lambda: put(2, 1))

    def put(self, logger, before, after):
        for name, old, new in zip(self.VALUES, before[0], after[0]):
            if old != new:
                setattr(logger, name, new)
        for name, old, new in zip(self.LISTS, before[1], after[1]):
            kept = [each for each in getattr(logger, name) if each in new or each not in old]
            setattr(logger, name, kept + [each for each in new if each not in kept])
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
        # The addresses of containers that are watched because imports have put them into others.
        self.inner = set()
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
            self.watch(name, LoggerStates(self.effects, module))
            self.watch(name, self.value(vars(root), "level"), self.items(root.handlers))
        elif name == "warnings":
            self.watch(None, self.effects["Filters"](module))
        elif name == "gc":
            self.watch(None, self.setting(module.get_threshold, lambda at: module.set_threshold(*at)))
        elif name == "_signal":
            self.watch(None, *signals(module, self.setting))
        for kind, *steps in self.by_module.get(name, ()):
            if (name, steps[0][1:]) in LEFT:
                continue
            try:
                self.watch_place(name, kind, module, steps)
            except (AttributeError, LookupError, TypeError, ValueError):
                pass  # The module has no such object in this process.

    def watch_place(self, name, kind, value, steps):
        """`steps` lead from the module to a container (`items`) or an attribute (`value`)."""
        effects, names_of, forget = self.effects, self.names_of, None
        for step in steps if kind == "items" else steps[:-1]:
            value = effects["follow"](value, step, names_of)
            if type(value) is effects["FUNCTION"]:
                # `functools.singledispatch` keeps what it has found in its table.
                forget = forget or vars(value).get("_clear_cache")
        if kind == "items":
            if effects["copy"](value) is not None:
                self.watch(name, self.items(value, forget and (lambda *_: forget())))
            return
        space = effects["namespace"](value, names_of)
        of = value if issubclass(type(value), type) else None
        self.watch(name, self.value(space, steps[-1][1:], of))

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
                self.watch_inner(place)
        return found

    def watch_inner(self, place):
        """Containers that an import has put into another one may change with the next import."""
        if type(place) is not self.items or type(place.last) not in (dict, list):
            return
        for each in place.last.values() if type(place.last) is dict else place.last:
            if type(each) in (dict, list, set) and id(each) not in self.inner:
                if self.effects["copy"](each) is not None:
                    # The watched place refers to it, so no other object has its address.
                    self.inner.add(id(each))
                    self.watch(place.owner, self.items(each))

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
