"""Imports of modules as nodes: names of other modules, entries of `sys.modules` and effects, in the
order in which they happen."""

import sys

# The loader of native modules.
NATIVE = "ExtensionFileLoader"


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


def strings(steps):
    return [each for each in steps if isinstance(each, str)]


def is_native(names):
    """`names` are the attributes of a module."""
    return type(getattr(names.get("__spec__"), "loader", None)).__name__ == NATIVE


def walk(name, nodes, left):
    """Yields what the import of a module does now: names of modules in the order in which they
    are complete, and effects. `left` has the modules that are hidden."""
    seen, stack, loaded = set(), [], sys.modules

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
