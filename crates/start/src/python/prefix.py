"""Runs the program's first lines in the warm parent, up to just before its first act.

Python runs the script as usual. A profile function, the hook, is called in the program's
frames before they call a function or import a module, and the parent waits inside such a
call: a child returns from it, and the program continues.

Each call of the hook on another line of the program than before is a boundary. A trial counts
boundaries until something happens that must not happen ahead; the last boundary before that
is the end of the prefix. A second trial runs up to there, and reports what the prefix depends
on. Then the parent does the same.

While module-level code of an installed module runs, the rules for imports apply. The rest is
the program's code, during which the tracer stops nearly every system call.
"""

import _frozen_importlib_external
import builtins
import os
import sys

# A trial ends after this many boundaries, or this many milliseconds.
MAX_BOUNDARIES = 5000
MAX_TIME = 120000

# The most bytes of standard error from imports that can wait for a start.
MAX_HELD = 1 << 15

# C functions that the program's code must not call ahead: by module, or by name.
MODULES = {"time", "_signal"}
NAMES = {
    "now": "reads the clock",
    "utcnow": "reads the clock",
    "today": "reads the clock",
    "register_at_fork": "registers a function for forks",
    "getprofile": "checks for a profile function",
    "_current_frames": "inspects its threads",
}

# Return times and sizes of a file, unless they only check that it exists.
STATS = {"stat", "lstat", "fstat"}
PRESENCE = {"exists", "lexists", "isdir", "isfile", "islink", "is_dir", "is_file", "is_symlink"}
PRESENCE |= {"realpath", "_joinrealpath", "resolve", "samefile", "_path_stat"}

# May only be called by functions of the standard library.
NOT_DIRECTLY = {"putenv", "unsetenv"}

# Attributes that depend on the terminal of a start, and whose use cannot be detected.
UNSEEN = (b"line_buffering",)

# C functions that return the time or the date; output after them must not wait.
DATES = {"localtime", "gmtime", "strftime", "ctime", "asctime", "now", "utcnow", "today"}

SEARCH = _frozen_importlib_external.PathFinder.find_spec.__func__.__code__

HERE = os.path.dirname(__file__) + os.sep


class Files:
    """Distinguishes the program's files from installed ones."""

    def __init__(self, roots):
        self.roots, self.kinds = roots, {}

    def kind(self, name):
        known = self.kinds.get(name)
        if known is None:
            known = self.kinds[name] = self.find(name)
        return known

    def find(self, name):
        if name.startswith("<frozen "):
            return "installed"
        path = os.path.join(os.getcwd(), name)
        if name.startswith("<") or path.startswith(HERE):
            return "generated"
        return "installed" if path.startswith(self.roots) else "own"


class Hook:
    """The profile function. It calls `arrive` at each boundary, with the frame."""

    def __init__(self, plan, tracer, arrive):
        self.plan, self.tracer, self.arrive = plan, tracer, arrive
        self.files = Files(plan.roots)
        self.count, self.code, self.line = 0, None, 0
        # The frame of the script, and that of an installed module while it is imported.
        self.main = self.library = None
        # The frame of an installed function that the program's code calls at a boundary.
        self.entered = None
        # Top-level names of modules that were searched for.
        self.names = set()
        self.environment = dict(os.environ._data)
        # Called with each C function before it is called.
        self.calls = None
        # True if an installed module has read the time or the date.
        self.is_dated = False
        self.leaves = self.ends = lambda: None

    def begin(self):
        self.tracer.say("program")
        sys.setprofile(self.profile)

    def profile(self, frame, event, value):
        if self.library is not None:
            # The most frequent case, which must be fast.
            if event == "return" and frame is self.library:
                self.library = None
                self.leaves()
                self.tracer.say("program")
            elif event == "call":
                if frame.f_code is SEARCH:
                    self.search(frame)
            elif event == "c_call" and value.__name__ in DATES:
                self.is_dated = True
        elif event == "call":
            self.call(frame)
        elif event == "return":
            if frame is self.main:
                self.ends()
        elif event == "c_call" and self.main is not None:
            if self.files.kind(frame.f_code.co_filename) == "own":
                self.boundary(frame)
            if self.calls:
                self.calls(frame, value)

    def call(self, frame):
        code = frame.f_code
        if code is SEARCH:
            self.search(frame)
        kind = self.files.kind(code.co_filename)
        if code.co_name == "<module>" and kind == "installed":
            self.tracer.say("library")
            self.library = frame
            return
        if kind == "own" and self.main is None and code.co_name == "<module>":
            if frame.f_globals.get("__name__") == "__main__":
                self.main = frame
        if self.main is None:
            return
        if kind == "own":
            self.boundary(frame)
        elif not is_stand_in(frame):
            caller = frame.f_back
            if caller and self.files.kind(caller.f_code.co_filename) == "own":
                self.entered = frame
                self.boundary(caller)
                self.entered = None

    def changed(self):
        """Variables that were set or removed."""
        then, now = self.environment, os.environ._data
        both = set(then) | set(now)
        return {os.fsdecode(name) for name in both if then.get(name) != now.get(name)}

    def search(self, frame):
        self.names.add(frame.f_locals["fullname"].partition(".")[0])

    def ran(self):
        """The lines up to which the program's files have run, by path."""
        found = {}
        for module in list(sys.modules.values()):
            names = self.plan.names_of(module)
            path, spec = names.get("__file__"), names.get("__spec__")
            if isinstance(path, str) and not getattr(spec, "_initializing", True):
                found[path] = sys.maxsize
        found[os.path.abspath(self.main.f_code.co_filename)] = self.main.f_lineno
        return found

    def boundary(self, frame):
        if frame.f_code is not self.code or frame.f_lineno != self.line:
            self.code, self.line = frame.f_code, frame.f_lineno
            self.count += 1
            self.arrive(frame)


def is_stand_in(frame):
    """Returns True for functions of a trial that replace something that is not a call."""
    if not frame.f_code.co_filename.startswith(HERE):
        return False
    return frame.f_code.co_name == "__del__" or isinstance(frame.f_locals.get("self"), list)


def place(frame):
    return "%s:%d" % (os.path.basename(frame.f_code.co_filename), frame.f_lineno)


class End:
    """The end of a prefix, and what the prefix depends on."""

    def __init__(self, count, where):
        self.count, self.where = count, where
        # The act that follows, as a predicate: "prints".
        self.why = ""
        self.said = []

    def held(self):
        """The standard error output up to there, which each start writes."""
        return bytes.fromhex("".join(value for kind, value in self.said if kind == "held"))

    def modules(self):
        """The number of modules at the end."""
        return max([int(value) for kind, value in self.said if kind == "modules"], default=0)


class Trial:
    """In a disposable process: checks at each boundary whether anything happened since the
    last one."""

    def __init__(self, plan, tools, probe, say, target=None):
        self.plan, self.tools, self.probe, self.say = plan, tools, probe, say
        self.target = target
        self.descriptors = probe["descriptors"]()
        self.environment = dict(os.environ._data)
        self.watch = tools.watching["Watch"](tools.tracer, False)
        # PyTorch's generator begins with the same seed in each process.
        self.draws = tools.draws["Draws"](tools.importing, False)
        self.asked = self.watch.take()
        self.reads_arguments = False
        self.arguments = [(name, each, list(each)) for name, each in self.watch.lists()]
        self.watch.forget_reads()
        # Twice, since the first object itself refers to each buffer.
        self.streams = Streams()
        self.streams = Streams()
        self.functions = [(each, dict(vars(each))) for each in (builtins, os, sys.modules["posix"])]
        self.held = b""
        # An event that no check detects, as a predicate.
        self.why = None
        self.hook = Hook(plan, tools.tracer, self.arrive)
        self.hook.calls, self.hook.leaves, self.hook.ends = self.calls, self.leaves, self.ends

    def begin(self):
        self.tools.tracer.say("prefix")
        self.hook.begin()
        self.watch.acts = None

    def arrive(self, frame):
        self.tools.tracer.say("ours")
        why = self.problem()
        if why or self.hook.count > MAX_BOUNDARIES:
            self.end(why or "runs for a long time")
        if self.target is None:
            self.say("at", place(frame))
        elif self.target.count == self.hook.count:
            if self.target.where == place(frame):
                self.report()
            os._exit(0)
        self.tools.tracer.say("program")

    def end(self, why):
        self.say("end", why)
        os._exit(0)

    def ends(self):
        """Called when the script has ended or failed."""
        self.tools.tracer.say("ours")
        self.end(self.problem() or "ends the program")

    def problem(self):
        of_this = self.watch.take()
        why = (
            self.why
            or self.watch.acts
            or self.changed()
            or self.printed()
            or self.probe["left_behind"](self.descriptors)
            or self.probe["not_ahead"](of_this, self.plan, self.environment, set())
            or self.draws.problem()
        )
        self.asked.add(of_this)
        return why

    def printed(self):
        """The reason if something was printed that cannot wait. Messages of imports can: whole
        lines on standard error that are the same in each start."""
        out, err = self.probe["output"]()
        is_dated, self.hook.is_dated = self.hook.is_dated, False
        if err == self.held:
            return "prints" if out else None
        self.held = err
        can_wait = err.endswith(b"\n") and len(err) <= MAX_HELD and not is_dated
        return None if can_wait and not out else "prints"

    def changed(self):
        if self.watch.reads_arguments():
            return "reads the arguments"
        for name, watched, then in self.arguments:
            if getattr(sys, name) is not watched or not list.__eq__(watched, then):
                return "changes the arguments"
        change = Streams().change(self.streams)
        if change:
            return change
        for module, names in self.functions:
            now = vars(module)
            for name, then in names.items():
                if now.get(name) is not then and callable(then) and name != "_":
                    return "changes %s.%s" % (module.__name__, name)
        return None

    def leaves(self):
        """Called after the import of an installed module, which may have read the arguments
        and created generators."""
        self.draws.see_generators()
        self.reads_arguments = self.watch.reads_arguments() or self.reads_arguments
        self.watch.forget_reads()

    def calls(self, frame, function):
        name = getattr(function, "__name__", None)
        if getattr(function, "__module__", None) in MODULES:
            what = "reads the clock" if function.__module__ == "time" else "handles signals"
            self.why = self.why or what
        elif isinstance(getattr(function, "__self__", None), self.draws.random()):
            self.why = self.why or "draws random numbers"
        elif name in NAMES:
            self.why = self.why or NAMES[name]
        elif name in STATS and not asks_for_presence(frame):
            self.why = self.why or "reads the times or the size of a file"
        elif name in NOT_DIRECTLY and self.hook.files.kind(frame.f_code.co_filename) == "own":
            self.why = self.why or "sets a variable without os.environ"

    def modules(self):
        """Names of the loaded modules of the program: those that it imported in earlier
        starts, and its own."""
        found = set(self.plan.modules) & set(sys.modules)
        for name, module in list(sys.modules.items()):
            path = self.plan.names_of(module).get("__file__")
            if name != "__main__" and isinstance(path, str):
                if self.hook.files.kind(path) == "own":
                    found.add(name)
        return found

    def report(self):
        """Reports everything that the prefix depends on."""
        for each in self.probe["reports"](self.asked):
            self.say(*each)
        if self.reads_arguments:
            self.say("arguments", "")
        if self.watch.temporary:
            self.say("temporary", "")
        self.say("held", self.held.hex())
        self.say("modules", str(len(self.modules())))
        for state in self.tools.chance["states"]():
            self.say("state", state)
        self.say("fine", "")


def asks_for_presence(frame):
    """Returns True if a file is only checked for existence, or imported."""
    while frame is not None:
        name = frame.f_code.co_filename
        if frame.f_code.co_name in PRESENCE or "importlib" in name:
            return True
        if not name.startswith("<") and os.path.basename(name) not in STANDARD:
            return False
        frame = frame.f_back
    return False


# Files of the standard library that return results to their callers.
STANDARD = {"genericpath.py", "posixpath.py", "pathlib.py", "os.py", "_local.py", "_abc.py"}


class Streams:
    """The standard streams, which a child initializes again, so the program must not change them
    before. It may keep a stream or its buffer, which stay the same objects, but not the file
    below, which is a new one in a child."""

    def __init__(self):
        self.objects, self.settings, self.uses = [], [], []
        for name in ("stdin", "stdout", "stderr"):
            stream = getattr(sys, name)
            self.objects += [stream, getattr(sys, "__%s__" % name)]
            if stream is None or not hasattr(stream, "buffer"):
                continue
            self.objects.append(stream.buffer)
            self.settings += [stream.encoding, stream.errors]
            self.settings += [stream.line_buffering, stream.write_through]
            # A buffer that is a file is among the objects here, each time that this is counted.
            file = getattr(stream.buffer, "raw", stream.buffer)
            self.uses.append(sys.getrefcount(file))

    def change(self, then):
        """Returns the change of the streams since `then` as a predicate; None if there is none."""
        pairs = zip(then.objects, self.objects)
        if any(one is not two for one, two in pairs) or then.settings != self.settings:
            return "changes a standard stream"
        if then.uses != self.uses:
            return "keeps the file of a standard stream"
        return None


def find_end(plan, tools, probe):
    """The end of the prefix, if there is one; in a trial, its next step."""
    if any(mentions_unseen(path) for path, _ in plan.own):
        return None
    plan.tell("testing the program's first lines")
    said = trial(plan, tools, probe)
    if callable(said):
        return said
    why = tools.tracer.verdict()
    where = [value for kind, value in said if kind == "at"]
    if not where:
        plan.tell("its first lines cannot run ahead: it %s" % (why or "ends the process"))
        return None
    end = End(len(where), where[-1])
    end.why = "".join(value for kind, value in said if kind == "end") or why
    end.why = end.why.replace(" when it is imported", "") or "ends the process"
    end.said = trial(plan, tools, probe, end)
    if callable(end.said):
        return end.said
    tools.tracer.verdict()
    if ("fine", "") not in end.said:
        plan.tell("its first lines cannot run ahead: they run differently each time")
        return None
    plan.tell("its first lines run ahead, up to %s, which %s" % (end.where, end.why))
    return end


def mentions_unseen(path):
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        return True
    return any(name in text for name in UNSEEN)


def trial(plan, tools, probe, target=None):
    """The results of a trial; in the trial, its next step."""
    probe["clear_output"]()
    ours, theirs = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(ours)
        tools.tracer.say("trial")

        def say(kind, value):
            text = kind + "\0" + value + "\0"
            os.write(theirs, text.encode("utf-8", "surrogateescape"))

        return Trial(plan, tools, probe, say, target).begin
    os.close(theirs)
    said = read(ours, process).decode("utf-8", "surrogateescape").split("\0")
    os.waitpid(process, 0)
    probe["clear_output"]()
    return list(zip(*[iter(said)] * 2))


def read(fd, process):
    """Everything that a process writes; it is killed if it takes too long."""
    known = set(sys.modules)
    import select
    import time

    for name in set(sys.modules) - known:
        del sys.modules[name]
    poll, data = select.poll(), b""
    poll.register(fd, select.POLLIN)
    until = time.monotonic() + MAX_TIME / 1000
    while True:
        left = until - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            os.kill(process, 9)
            left = MAX_TIME
        part = os.read(fd, 65536)
        if not part:
            break
        data += part
    os.close(fd)
    return data


def run(plan, tracer, end, arrived):
    """In the parent: returns a function that runs the program up to the end of the prefix, and
    calls `arrived` there with the hook; what that returns is called last, in a child."""

    def arrive(frame):
        if hook.count == end.count:
            tracer.say("ours")
            sys.setprofile(None)
            last = arrived(hook if place(frame) == end.where else None)
            hook.main = hook.code = hook.entered = None
            last()

    def ends():
        tracer.say("ours")
        arrived(None)

    hook = Hook(plan, tracer, arrive)
    hook.ends = ends

    def begin():
        tracer.say("prefix")
        hook.begin()

    return begin
