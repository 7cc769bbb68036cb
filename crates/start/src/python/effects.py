"""The effects of imports on the process, which can be undone and repeated.

An effect belongs to the import of one module. It is a changed attribute of another module or
class, a changed list, dict or set, a logger, a function that is called at the end, a variable, or
a setting of the interpreter.
"""

import os
import sys

is_known = "_operator" in sys.modules
from _operator import is_  # noqa: E402

if not is_known:
    del sys.modules["_operator"]

MISSING = object()

# Attributes that are handled elsewhere.
LEFT = {("sys", "modules"), ("sys", "argv"), ("sys", "orig_argv"), ("os", "environ")}
LEFT |= {("warnings", "filters"), ("atexit", "register")}

# Containers with more items are not compared.
MOST_ITEMS = 50000


def new_entries(known, pending):
    """New names in `sys.modules`, other than of modules that are being imported; adds them to
    those that are known."""
    found = []
    # They are the last ones, but for modules that have just been executed.
    for name in reversed(sys.modules):
        if name in known:
            break
        # A module that waits for its package may be an entry that the package makes.
        inner = pending[len(pending) - pending[::-1].index(name) :] if name in pending else None
        if inner is None or inner[:1] == [name.rpartition(".")[0]]:
            found.append(name)
    known.update(found)
    return found[::-1]


def names_in(of):
    """The attributes of a class, which a metaclass may hide; none for a native one that is not
    ready."""
    return type.__dict__["__dict__"].__get__(of) or {}


def owners(names, module):
    """The namespaces of a module: its own, and those of the classes that it defines."""
    found = [("", names)]
    for key, value in list(names.items()):
        if isinstance(key, str) and issubclass(type(value), type):
            if names_in(value).get("__module__") == module:
                found.append((key, names_in(value)))
    return found


def copy(value):
    """A copy of a container whose contents count; None for anything else."""
    of = type(value)
    if of in (list, dict, set):
        return of(value) if len(value) <= MOST_ITEMS else None
    if issubclass(of, dict) and all(base.__name__ != "OrderedDict" for base in of.__mro__):
        return dict(dict.items(value)) if dict.__len__(value) <= MOST_ITEMS else None
    return None


def is_same(value, copied):
    """Compares a container with its copy: the same objects in the same order."""
    if isinstance(value, dict):
        if dict.__len__(value) != len(copied):
            return False
        return all(map(is_, dict.keys(value), copied)) and (
            all(map(is_, dict.values(value), copied.values()))
        )
    if len(value) != len(copied):
        return False
    if isinstance(value, set):
        return {id(each) for each in value} == {id(each) for each in copied}
    return all(map(is_, value, copied))


class Value:
    """An attribute."""

    def __init__(self, names, key, of=None):
        self.names, self.key, self.of, self.get = names, key, of, names.get
        self.last = self.get(key, MISSING)

    def change(self, _):
        """The effect since the last call, or None."""
        now = self.get(self.key, MISSING)
        if now is self.last:
            return None
        last, self.last = self.last, now
        return Effect(lambda: self.put(now), lambda: self.put(last))

    def put(self, value):
        if self.of is not None:
            if value is MISSING:
                type.__delattr__(self.of, self.key)
            else:
                type.__setattr__(self.of, self.key, value)
        elif value is MISSING:
            self.names.pop(self.key, None)
        else:
            self.names[self.key] = value


class Effect:
    """A change that can be undone and repeated."""

    __slots__ = ("repeat_now", "undo_now", "is_done", "place")

    def __init__(self, repeat, undo):
        self.repeat_now, self.undo_now, self.is_done, self.place = repeat, undo, True, None

    def repeat(self):
        if not self.is_done:
            self.is_done = True
            attempt(self.repeat_now)

    def undo(self):
        if self.is_done:
            self.is_done = False
            attempt(self.undo_now)


def attempt(function):
    try:
        function()
    except Exception:
        pass  # An attribute that can only be read, for example.


class Items:
    """A list, dict or set."""

    is_thorough = False

    def __init__(self, value, put=None):
        self.value, self.last = value, copy(value)
        self.of = dict if isinstance(value, dict) else type(value)
        self.changed = put or (lambda key, value: None)

    def change(self, thorough):
        """Most changes add or remove something. Others are found when it is `thorough`."""
        if len(self.value) == len(self.last) and not (thorough or self.is_thorough):
            return None
        if is_same(self.value, self.last):
            return None
        last, self.last = self.last, copy(self.value)
        if self.last is None:
            self.last = last
            return None
        now = self.last
        make = {dict: self.of_dict, set: self.of_set, list: self.of_list}[self.of]
        return make(last, now)

    def of_dict(self, last, now):
        before = {k: v for k, v in last.items() if now.get(k, MISSING) is not v}
        after = {k: v for k, v in now.items() if last.get(k, MISSING) is not v}
        return Effect(lambda: self.exchange(before, after), lambda: self.exchange(after, before))

    def exchange(self, before, after):
        for key in before:
            if key not in after:
                dict.pop(self.value, key, None)
                self.changed(key, None)
        for key, value in after.items():
            dict.__setitem__(self.value, key, value)
            self.changed(key, value)

    def of_set(self, last, now):
        gone, new = last - now, now - last

        def repeat():
            self.value.difference_update(gone)
            self.value.update(new)

        def undo():
            self.value.difference_update(new)
            self.value.update(gone)

        return Effect(repeat, undo)

    def of_list(self, last, now):
        start, end = 0, 0
        least = min(len(last), len(now))
        while start < least and last[start] is now[start]:
            start += 1
        while end < least - start and last[-1 - end] is now[-1 - end]:
            end += 1
        gone, new = last[start : len(last) - end], now[start : len(now) - end]
        # Counted from the end of the list, unless it is at its beginning.
        at_end = end if start else None
        return Effect(
            lambda: replace(self.value, gone, new, start, at_end),
            lambda: replace(self.value, new, gone, start, at_end),
        )


def replace(items, gone, new, start, at_end):
    for each in gone:
        for at, item in enumerate(items):
            if item is each:
                del items[at]
                break
    at = min(start, len(items)) if at_end is None else max(len(items) - at_end, 0)
    items[at:at] = new


class Setting:
    """A setting of the interpreter, with functions that return it and set it."""

    def __init__(self, get, put):
        self.get, self.put, self.last = get, put, get()

    def change(self, _):
        now = self.get()
        if now == self.last:
            return None
        last, self.last = self.last, now
        return Effect(lambda: self.put(now), lambda: self.put(last))


class Filters(Items):
    """The filters of warnings, of which equal ones replace each other."""

    is_thorough = True

    def __init__(self, warnings):
        Items.__init__(self, warnings.filters)
        # Python remembers which warnings were shown with the present filters.
        self.mutated = getattr(warnings, "_filters_mutated", None) or (
            getattr(warnings, "_filters_mutated_lock_held", None)
        )

    def of_list(self, last, now):
        effect = Items.of_list(self, last, now)
        new = [each for each in now if not any(each is one for one in last)]

        def repeat():
            for each in new:
                while each in self.value:
                    self.value.remove(each)
            effect.repeat_now()
            self.note()

        def undo():
            effect.undo_now()
            self.note()

        return Effect(repeat, undo)

    def note(self):
        if self.mutated:
            try:
                self.mutated()
            except RuntimeError:
                pass  # It wants a lock that only Python's own functions hold.


class Loggers:
    """The loggers, by name, and their order."""

    def __init__(self, logging, modules):
        self.logging, self.modules = logging, modules
        self.manager = logging.Logger.manager
        self.last = dict(self.manager.loggerDict)

    def change(self, _):
        now = self.manager.loggerDict
        if is_same(now, self.last):
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
        return Effect(lambda: self.add(new), lambda: self.go_back(last, maps))

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

    def __init__(self, atexit):
        self.atexit, self.new = atexit, []
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

        return Effect(repeat, undo)

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

    def __init__(self, places, names_of):
        self.by_module, self.names_of = places, names_of
        self.values, self.watched, self.exits = [], [], None
        for name in list(sys.modules):
            self.add(name)
        self.watch(None, Items(os.environ._data, put_variable))
        self.watch(None, Setting(sys.getrecursionlimit, sys.setrecursionlimit))
        self.watch(None, Setting(sys.getswitchinterval, sys.setswitchinterval))

    def watch(self, owner, *places):
        """`owner` is the module without which a program cannot notice a change; None if it can."""
        for place in places:
            place.owner = owner
            (self.values if type(place) is Value else self.watched).append(place)

    def add(self, name):
        """After a module is complete: what changes there from now on counts."""
        module = sys.modules[name]
        names = self.names_of(module)
        if name == "atexit":
            self.exits = Exits(module)
            self.watch(None, self.exits)
        elif name == "logging":
            root = module.root
            self.watch(name, Loggers(module, self.namespaces))
            self.watch(name, Value(vars(root), "level"), Items(root.handlers))
        elif name == "warnings":
            self.watch(None, Filters(module))
        elif name == "gc":
            self.watch(None, Setting(module.get_threshold, lambda at: module.set_threshold(*at)))
        elif name == "_signal":
            self.watch(None, *signals(module))
        for of, key, kind in self.by_module.get(name, ()):
            if (name, key) in LEFT:
                continue
            owner = names.get(of) if of else None
            space = names if owner is None else names_in(owner)
            if kind == "value":
                self.watch(name, Value(space, key, owner))
            elif copy(space.get(key)) is not None:
                self.watch(name, Items(space[key]))

    def namespaces(self):
        return [self.names_of(module) for module in list(sys.modules.values())]

    def changes(self, thorough):
        """The effects since the last call."""
        # Most places are values, and few have changed.
        changed = [each for each in self.values if each.get(each.key, MISSING) is not each.last]
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


def signals(module):
    """The handlers of signals."""

    def setting(number):
        def put(handler):
            if handler is not None:
                module.signal(number, handler)

        return Setting(lambda: module.getsignal(number), put)

    return [setting(number) for number in sorted(module.valid_signals())]
