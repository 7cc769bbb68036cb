"""Records the files and directories outside the installed packages that imports look up ahead of
time. If the program may change one before it imports the module, the module is left out.
"""

import os
import sys

# The question for the names in a directory.
LISTING = "d"

# Ends of paths that a program writes only on purpose: libraries in the directory of the script,
# lines of code for a message, the socket of the name service.
UNLIKELY = ("/lib", ".py", "/socket")


class Inputs:
    """The inputs of each module: pairs of a question and a path."""

    def __init__(self, asked):
        prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
        parts = ("bin", "etc", "lib", "lib64", "share", "ssl")
        libraries = [os.path.join(each, part, "") for each in prefixes for part in parts]
        self.libraries, self.asked = (*libraries, "/nix/store/"), {}
        for module, question, path in asked:
            if self.may_matter(question, path):
                # Resolved once: the parent is traced, which makes every call slow.
                self.asked.setdefault(module, set()).add((question, os.path.realpath(path)))

    def may_matter(self, question, path):
        """Returns False for files of Python and shared libraries, and for a directory of which only
        the existence matters: programs rarely remove one."""
        name = os.path.basename(path)
        if path.startswith(self.libraries) or name.endswith(".so") or ".so." in name:
            return False
        return question == LISTING or not os.path.isdir(path)

    def readers(self, changed):
        """The modules that have asked for something that a change of this path may change; all that
        have asked for anything if the path is unknown."""
        changed = changed and os.path.realpath(changed)
        return {
            module
            for module, asked in self.asked.items()
            if any(is_affected(*each, changed) for each in asked)
        }


def is_affected(question, path, changed):
    if not changed:
        return not path.endswith(UNLIKELY)
    if (path + os.sep).startswith(os.path.join(changed, "")):
        return True
    # A new file changes the listing of its directory, and may create the directory too.
    is_inside = changed.startswith(os.path.join(path, ""))
    return is_inside and (question == LISTING or not os.path.exists(path))


class Dependents:
    """The modules that import each one, or are part of it."""

    def __init__(self, requests):
        self.importers = {}
        for name, wanted in requests.items():
            for each in wanted:
                self.importers.setdefault(each, []).append(name)
            self.importers.setdefault(name.rpartition(".")[0], []).append(name)

    def of(self, name):
        """A module with all that would have to be imported again with it."""
        found, left = set(), [name]
        while left:
            name = left.pop()
            if name and name not in found:
                found.add(name)
                left += self.importers.get(name, ())
        return found
