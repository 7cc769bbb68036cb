"""Functions that modules register with `atexit` when they are imported.

A start that does not import such a module, because it fails or takes another branch, must not
notice its function. So a trial calls the functions, after everything else. Functions of the
standard library are not called: they flush streams, or serve objects that the program makes.
"""

import os
import sys

# Where the standard library is.
LIBRARY = os.path.dirname(os.__file__) + os.sep


class Exits:
    """Records, in a disposable process, what is registered from now on."""

    def __init__(self):
        import atexit

        self.name, self.all = None, []
        original = atexit.register

        def register(function, *values, **named):
            if is_called(function, sys._getframe(1)):
                self.all.append((self.name, function, values, named))
            return original(function, *values, **named)

        atexit.register = register

    def run(self, tracer, say, output):
        """Calls the functions; returns the name of a module and why it must not be imported, or
        None. The tracer stops this process if a function acts."""
        for name, function, values, named in reversed(self.all):
            say("importing", name)
            tracer.say("theirs")
            try:
                function(*values, **named)
            except Exception:
                pass
            tracer.say("ours")
            if any(output()):
                return name, "prints when the program exits"
        return None


def is_called(function, frame):
    """Returns True for what modules that are installed register."""
    path = frame.f_code.co_filename
    return not path.startswith(LIBRARY) or "-packages" + os.sep in path
