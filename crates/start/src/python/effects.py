"""Effects of imports that can be undone and repeated, and the places where they happen: an
attribute of a module or class, a list, dict or set, or a setting of the interpreter.

An effect belongs to the import of one module.
"""

import sys

is_known = "_operator" in sys.modules
from _operator import is_  # noqa: E402

if not is_known:
    del sys.modules["_operator"]

MISSING = object()

# Containers with more items are not compared.
MAX_ITEMS = 50000


def names_in(of):
    """The attributes of a class, which a metaclass may hide; none for a native one that is not
    ready."""
    return type.__dict__["__dict__"].__get__(of) or {}


# Types of values that cannot change, and modules, which are followed by themselves.
FIXED = {type(None), bool, int, float, complex, str, bytes, type(sys)}

# Objects of classes of these modules are handled elsewhere, or belong to one process.
LEFT_TO = {"logging", "os", "threading", "weakref", "_weakrefset", "contextvars", "warnings"}
LEFT_TO |= {"importlib.machinery", "_frozen_importlib", "_frozen_importlib_external", "zipimport"}

FUNCTION = type(names_in)

# The flag of classes that Python code defines.
IS_HEAP_TYPE = 1 << 9


def is_name(key):
    """Returns True for a name that a step can contain."""
    return type(key) is str and key.isascii() and key.isprintable()


def can_change(value):
    """Returns True for containers, functions, and objects with attributes."""
    of = type(value)
    if of in FIXED:
        return False
    if of in (list, set, tuple, FUNCTION):
        return True
    if issubclass(of, dict):
        return not dict.__contains__(value, "__spec__")  # Otherwise it is the namespace of a module.
    return has_attributes(of)


def has_attributes(of):
    if of is type(sys.implementation):
        return True
    is_known = of.__flags__ & IS_HEAP_TYPE and of.__dictoffset__
    module = names_in(of).get("__module__")
    return bool(is_known) and type(module) is str and module not in LEFT_TO


def namespace(value, names_of):
    """The attributes of a module, class, function or object that can be changed; None for other
    values."""
    of = type(value)
    if issubclass(of, type(sys)):
        return names_of(value)
    if issubclass(of, type):
        return names_in(value)
    if of is FUNCTION or has_attributes(of):
        try:
            names = object.__getattribute__(value, "__dict__")
        except AttributeError:
            return None
        return names if type(names) is dict else None
    return None


def inner(value, names):
    """Yields the objects that a value with these attributes leads to, with the steps to them."""
    if names is not None:
        is_module = issubclass(type(value), type(sys))
        for key, each in list(names.items()):
            if is_name(key) and not (is_module and key == "__builtins__"):
                yield "." + key, each
    of = type(value)
    if of in (list, tuple):
        for at, each in enumerate(list(value)):
            yield "#%d" % at, each
    elif issubclass(of, dict):
        for key, each in list(dict.items(value)):
            if is_name(key):
                yield "[" + key, each
    elif of is FUNCTION:
        for at, cell in enumerate(value.__closure__ or ()):
            try:
                yield "~%d" % at, cell.cell_contents
            except ValueError:
                pass  # It is empty.


def follow(value, step, names_of):
    """The object to which a step leads."""
    kind, key = step[0], step[1:]
    if kind == ".":
        return namespace(value, names_of)[key]
    if kind == "[":
        return dict.__getitem__(value, key)
    return value[int(key)] if kind == "#" else value.__closure__[int(key)].cell_contents


def copy(value):
    """A copy of a container whose contents count; None for anything else."""
    of = type(value)
    if of in (list, dict, set):
        return of(value) if len(value) <= MAX_ITEMS else None
    if issubclass(of, dict) and all(base.__name__ != "OrderedDict" for base in of.__mro__):
        return dict(dict.items(value)) if dict.__len__(value) <= MAX_ITEMS else None
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

    __slots__ = ("repeat_now", "undo_now", "is_done", "place", "change")

    def __init__(self, repeat, undo, change=None):
        self.repeat_now, self.undo_now, self.is_done, self.place = repeat, undo, True, None
        # For places that can repeat several changes at once.
        self.change = change

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


def united(effects):
    """Functions that repeat effects together, with fewer steps. They are created at once, so that a
    forked process that calls them copies few pages."""
    groups, found = {}, []
    for each in effects:
        can_unite = each.change is not None
        groups.setdefault(id(each.place) if can_unite else id(each), []).append(each)
    for group in groups.values():
        if len(group) == 1:
            found.append(group[0].repeat_now)
        else:
            found.append(group[0].place.united([each.change for each in group]))
    return found


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
        return Effect(
            lambda: self.exchange(before, after),
            lambda: self.exchange(after, before),
            (before, after),
        )

    def united(self, changes):
        """Repeats several changes of a dict."""
        gone, new = {}, {}
        for before, after in changes:
            for key in before:
                if key not in after:
                    gone[key] = None
                    new.pop(key, None)
            new.update(after)

        def repeat():
            # First, since a key that comes back is the last one.
            self.exchange(gone, {})
            self.exchange({}, new)

        return repeat

    def is_default(self, value):
        """Returns True for a list, dict or set that a `defaultdict` has created for a key. The
        program may use that key too, before it imports the module."""
        if type(self.value).__name__ != "defaultdict":
            return False
        kind = self.value.default_factory
        return kind in (list, dict, set) and type(value) is kind

    def exchange(self, before, after):
        for key, value in before.items():
            # An empty one stays, so that the program gets the same object.
            if key not in after and (value or not self.is_default(value)):
                dict.pop(self.value, key, None)
                self.changed(key, None)
        for key, value in after.items():
            if key not in before and self.is_default(value):
                theirs = dict.get(self.value, key, value)
                if theirs is not value and type(theirs) is type(value):
                    (theirs.extend if type(value) is list else theirs.update)(value)
                    continue
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
