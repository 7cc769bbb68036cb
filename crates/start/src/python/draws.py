"""Random values that a module draws when it is imported, and that differ in each process:
random bytes, numbers of a randomly seeded generator, the process ID.

Each start draws some of them again (`Renewal`); a module that keeps others is not imported
ahead. In a trial, `Draws` replaces the functions that return such values.
"""

import os
import sys

# Modules that return what they draw to their callers.
PASS_ON = {"random", "secrets", "uuid", "tempfile"}

# Modules whose draws are renewed in each start or do not matter: keys of processes,
# generators that are seeded again.
RENEWED = {"multiprocessing.process", "multiprocessing.util", "numpy.random"}

# psutil looks for its own files in /proc, joblib names a semaphore that it removes, and scipy puts
# samples into examples of docstrings.
RENEWED |= {"psutil._pslinux", "joblib._multiprocessing_helpers"}
RENEWED.add("scipy.stats._distribution_infrastructure")

# PyTorch generates random names when it is imported, with a function that can be called again.
NAMES = "torch.distributed._composable.contract"
RENEWED.add(NAMES)

# sympy numbers symbols from a random number on.
DUMMIES = "sympy.core.symbol"
RENEWED.add(DUMMIES)

# Modules that read the process ID for a moment, or again after a fork. Log records are not kept.
READ_AGAIN = {"logging", "tempfile", "multiprocessing.util", "asyncio.events", "threading"}

# Packages whose functions for forks only reset locks, caches and what belongs to threads.
HARMLESS_AT_FORKS = {"IPython", "filelock", "fsspec", "gunicorn", "importlib_metadata", "jax", "joblib"}
HARMLESS_AT_FORKS |= {"loguru", "matplotlib", "numpy", "pymongo", "setuptools", "torch", "tornado"}

# Packages that keep the process ID, and compare it in order to notice a fork.
NOTICE_FORKS = {"filelock"}


# Files whose random names must be removed before the import ends, or are drawn again.
NAMES_FILES = "tempfile"

EXECUTED = """
def make(original, see):
    def _call_with_frames_removed(f, *args, **kwds):
        result = original(f, *args, **kwds)
        see(f, args)
        return result
    return _call_with_frames_removed
"""


class Draws:
    """Records what is drawn in this process from now on."""

    def __init__(self, importing, sees_torch=True):
        self.why, self.sees_torch = None, sees_torch
        self.states, self.strange = {}, 0
        # Generators of modules that were seeded randomly, with their states then.
        self.seeded = {}
        for name in ("urandom", "getrandom"):
            self.stand_in(name, self.random_bytes)
        for name in ("getpid", "getppid"):
            self.stand_in(name, self.process)
        for name in ("fstat", "lseek"):
            self.stand_in(name, self.stream)
        for name in ("getsignal", "pthread_sigmask"):
            self.stand_in(name, self.signals, [sys.modules.get("_signal")])
        threads = [sys.modules[name] for name in ("_thread", "threading") if name in sys.modules]
        self.stand_in("stack_size", self.stacks, threads)
        self.stand_in("get_native_id", self.process, threads)
        if "threading" in sys.modules:
            self.watch_threads(sys.modules["threading"].Thread)
        self.stand_in("register_at_fork", self.forks)
        self.stand_in("register", self.codec, [sys.modules["_codecs"], sys.modules["codecs"]])
        random = sys.modules.get("random")
        if random is not None:
            random._urandom = os.urandom
        for name in LATER:
            if name in sys.modules:
                self.watch_module(sys.modules[name], name)
        bootstrap = importing["bootstrap"]
        make, original = importing["compiled"](EXECUTED)["make"], bootstrap._call_with_frames_removed
        bootstrap._call_with_frames_removed = make(original, self.executed)

    def executed(self, function, values):
        """Called after a module was executed: Python code, with its names, or native code."""
        if function is exec:
            name = values[1].get("__name__")
        else:
            name = getattr(values[0], "__name__", None) if values else None
        # A function of the import system may have other values.
        if isinstance(name, str) and name in LATER and name in sys.modules:
            self.watch_module(sys.modules[name], name)

    def watch_module(self, module, name):
        """Watches the functions of a module that draw, each module once."""
        original = getattr(module, LATER[name], None)
        if original is None or getattr(original, "__module__", None) == __name__:
            return
        if name == "random":
            self.watch_seeds(module.Random)
        elif name == NAMES_FILES:
            self.stand_in("mktemp", self.numbers, [module])
        else:
            self.stand_in("RAND_bytes", self.random_bytes, [module])

    def stand_in(self, name, note, modules=(os, sys.modules["posix"])):
        original = getattr(modules[0], name, None)
        if original is None:
            return

        def drawn(*values, **named):
            note(sys._getframe(1), *values)
            return original(*values, **named)

        drawn.__name__ = name
        for module in modules:
            setattr(module, name, drawn)

    def random_bytes(self, frame, *_):
        while frame and module_of(frame) in PASS_ON:
            frame = frame.f_back
        if frame and not self.is_renewed(frame):
            self.why = self.why or "keeps random bytes when it is imported"

    def process(self, frame, *_):
        """The ID of the process or thread. Modules of the standard library read it again after a
        fork, but pass it on too."""
        while frame and not is_package(frame.f_code.co_filename):
            name = module_of(frame)
            if name in READ_AGAIN or name.startswith(("importlib.", "_frozen_importlib", "preheat_")):
                return
            frame = frame.f_back
        if frame is None or module_of(frame) in RENEWED:
            return
        if not notices_forks(frame):
            self.why = self.why or "keeps the process ID when it is imported"

    def watch_seeds(self, kind):
        """Detects generators that are seeded randomly and then draw."""
        if getattr(kind.seed, "__module__", None) == __name__:
            return
        original, begin, end = kind.seed, self.begin_seed, self.end_seed

        def seed(self, a=None, *values, **named):
            begin(self)
            original(self, a, *values, **named)
            if a is None:
                end(self, sys._getframe(1))

        kind.seed = seed

    def begin_seed(self, generator):
        """It may have drawn from the state that it loses."""
        self.check_seeded(self.seeded.pop(id(generator), None))

    def end_seed(self, generator, frame):
        """Notes a generator that was seeded randomly, unless each start seeds it again."""
        if generator is getattr(sys.modules.get("random"), "_inst", None):
            return
        while frame and module_of(frame) == "random":
            frame = frame.f_back
        if frame and module_of(frame) != NAMES_FILES and not self.is_renewed(frame):
            # It must not be freed: another one could be in its place.
            self.seeded[id(generator)] = generator, state_of_one(generator)

    def check_seeded(self, known):
        if known and state_of_one(known[0]) != known[1]:
            self.numbers()

    def numbers(self, *_):
        self.why = self.why or "draws random numbers when it is imported"

    def watch_threads(self, kind):
        original = kind.native_id.fget

        def native_id(thread):
            self.process(sys._getframe(1))
            return original(thread)

        kind.native_id = property(native_id)

    def stream(self, frame, fd=None, *_):
        """A standard stream may be a file, a pipe or a terminal."""
        if fd in (0, 1, 2) and not module_of(frame).startswith("preheat_"):
            self.why = self.why or "inspects a standard stream when it is imported"

    def signals(self, frame, *_):
        """Each start may ignore or block other signals."""
        while frame and module_of(frame) == "signal":
            frame = frame.f_back
        if frame and is_package(frame.f_code.co_filename):
            self.why = self.why or "asks how signals are handled when it is imported"

    def stacks(self, frame, *size):
        """Without an argument, the function sets it to the default."""
        if is_package(frame.f_code.co_filename):
            self.why = self.why or "sets the size of the stacks of threads"

    def forks(self, frame, **_):
        """Each start forks twice, so such a function would run although the program has not forked."""
        package = module_of(frame).partition(".")[0]
        if is_package(frame.f_code.co_filename) and package not in HARMLESS_AT_FORKS:
            self.why = self.why or "registers a function for forks when it is imported"

    def codec(self, frame, *_):
        if is_package(frame.f_code.co_filename):
            self.why = self.why or "registers a codec when it is imported"

    def is_renewed(self, frame):
        if module_of(frame) in RENEWED:
            return True
        if not module_of(frame).startswith(("importlib.", "_frozen_importlib")):
            return False
        # Native code draws while it is loaded; a function of the import system has the name
        # of the module.
        while frame and module_of(frame).startswith(("importlib.", "_frozen_importlib")):
            values = frame.f_locals
            spec = values.get("spec") or getattr(values.get("module"), "__spec__", None)
            name = getattr(spec, "name", "")
            if name:
                return name.startswith("numpy.random.")
            frame = frame.f_back
        return False

    def random(self):
        """The generator class of the standard library, if it is loaded."""
        return getattr(sys.modules.get("_random"), "Random", ())

    def see_generators(self):
        """Stores the states of new generators, to detect later draws."""
        for name, state in generators(self.sees_torch).items():
            self.states.setdefault(name, state)

    def problem(self):
        """The reason why the module that was just imported must not be imported ahead, if it
        has drawn something."""
        for name, state in generators(self.sees_torch).items():
            before = self.states.setdefault(name, state)
            if before != state:
                self.numbers()
        for known in self.seeded.values():
            self.check_seeded(known)
        if self.has_strange_generator():
            self.why = self.why or "creates a random generator that cannot be seeded again"
        why, self.why = self.why, None
        return why

    def has_strange_generator(self):
        """Returns True if there is a generator of a class that overrides `seed`."""
        random = sys.modules.get("random")
        strange = [
            each
            for each in subclasses(getattr(random, "Random", int))
            if each is not random.SystemRandom and each.seed is not random.Random.seed
        ]
        if len(strange) == self.strange:
            return False
        self.strange = len(strange)
        import gc

        return any(type(each) in strange for each in gc.get_objects())


# Modules that may be imported later, each with a function that is then watched.
LATER = {"random": "Random", "_ssl": "RAND_bytes", "tempfile": "mktemp"}


def state_of_one(generator):
    """The state of a generator, without methods that a subclass may override."""
    return sys.modules["_random"].Random.getstate(generator)


def subclasses(of):
    if of is int:
        return []
    found = list(of.__subclasses__())
    return found + [each for one in found for each in subclasses(one)]


def generators(with_torch):
    """The states of the global generators."""
    found = {}
    random = sys.modules.get("random")
    if hasattr(random, "_inst"):
        found["random"] = random._inst.getstate()
    legacy = getattr(sys.modules.get("numpy.random.mtrand"), "_rand", None)
    if legacy is not None:
        name, keys, *rest = legacy.get_state()
        found["numpy"] = (name, keys.tobytes(), rest)
    torch = getattr(sys.modules.get("torch"), "default_generator", None) if with_torch else None
    if torch is not None:
        found["torch"] = torch.get_state().tolist()
    return found


def is_package(path):
    return "site-packages" in path or "dist-packages" in path


def module_of(frame):
    return str(frame.f_globals.get("__name__"))


def notices_forks(frame):
    """Returns True for a package that notices a fork, in code that runs when it is imported or
    when another module derives a class. An object that another module creates at its import must
    be the program's."""
    package = module_of(frame).partition(".")[0]
    while frame and package in NOTICE_FORKS:
        name = module_of(frame)
        if name.startswith(("importlib.", "_frozen_importlib")):
            return True
        if frame.f_code.co_name == "__init_subclass__":
            return True
        if is_package(frame.f_code.co_filename) and name.partition(".")[0] != package:
            return False
        frame = frame.f_back
    return False


class Renewal:
    """Draws random values again in a child."""

    def __init__(self, chance, by_chance, temporary, hidden):
        self.chance, self.by_chance, self.temporary = chance, by_chance, temporary
        self.hidden = hidden

    def before(self):
        """Before the start is committed: changes nothing outside the process."""
        self.chance["give_new_seeds"](self.by_chance)
        self.chance["renew_process"](self.hidden)
        module = self.hidden.get(NAMES)
        for name in ("STATE_KEY", "REGISTRY_KEY"):
            if hasattr(module, name) and hasattr(module, "generate_state_key"):
                setattr(module, name, module.generate_state_key())
        dummy = getattr(self.hidden.get(DUMMIES), "Dummy", None)
        if hasattr(dummy, "_base_dummy_index") and hasattr(dummy, "_prng"):
            dummy._base_dummy_index = dummy._prng.randint(10**6, 9 * 10**6)

    def after(self):
        if self.temporary:
            self.hidden.after.append(self.renew_directory)
            self.renew_directory()

    def renew_directory(self):
        """Called when the program has imported the module that creates the directory."""
        if self.temporary and self.temporary.is_used():
            temporary, self.temporary = self.temporary, None
            try:
                temporary.again()
            except OSError:
                pass  # The program will see the error when it needs the directory.
