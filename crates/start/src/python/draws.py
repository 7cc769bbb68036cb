"""Values that a module draws when it is imported, and that a fresh process would draw anew:
random bytes, numbers of a generator that was seeded by chance, the number of the process.

Some of them each start draws again (`Renewal`); a module that keeps others is not imported
ahead. In a trial `Draws` stands in for the functions that give such values.
"""

import os
import sys

# Pass on what they draw to who calls them.
PASS_ON = {"random", "secrets", "uuid", "tempfile"}

# Their draws are renewed in each start, or are of no consequence: keys of processes,
# generators that are given new seeds.
RENEWED = {"multiprocessing.process", "multiprocessing.util", "numpy.random"}

# PyTorch makes up names when it is imported, by a function that makes up others.
NAMES = "torch.distributed._composable.contract"
RENEWED.add(NAMES)


class Draws:
    """Notes what is drawn in this process from now on."""

    def __init__(self):
        self.why = None
        self.states, self.strange = {}, 0
        for name in ("urandom", "getrandom"):
            self.stand_in(name, self.random_bytes)
        for name in ("getpid", "getppid"):
            self.stand_in(name, self.process)
        random = sys.modules.get("random")
        if random is not None:
            random._urandom = os.urandom

    def stand_in(self, name, note):
        original = getattr(os, name, None)
        if original is None:
            return

        def drawn(*values, **named):
            note(sys._getframe(1))
            return original(*values, **named)

        drawn.__name__ = name
        setattr(os, name, drawn)
        setattr(sys.modules["posix"], name, drawn)

    def random_bytes(self, frame):
        while frame and module_of(frame) in PASS_ON:
            frame = frame.f_back
        if frame and not self.is_renewed(frame):
            self.why = self.why or "keeps random bytes when it is imported"

    def process(self, frame):
        """Modules of the standard library ask again after a fork."""
        if is_package(frame.f_code.co_filename) and module_of(frame) not in RENEWED:
            self.why = self.why or "keeps the number of the process when it is imported"

    def is_renewed(self, frame):
        if module_of(frame) in RENEWED:
            return True
        if not module_of(frame).startswith(("importlib.", "_frozen_importlib")):
            return False
        # Native code draws while it is loaded; what is loaded, a function of the import
        # system knows.
        while frame and module_of(frame).startswith(("importlib.", "_frozen_importlib")):
            values = frame.f_locals
            spec = values.get("spec") or getattr(values.get("module"), "__spec__", None)
            name = getattr(spec, "name", "")
            if name:
                return name.startswith("numpy.random.")
            frame = frame.f_back
        return False

    def random(self):
        """The class of generators of the standard library, if there is one."""
        return getattr(sys.modules.get("_random"), "Random", ())

    def see_generators(self):
        """What they have drawn from now on is seen."""
        for name, state in generators().items():
            self.states.setdefault(name, state)

    def problem(self):
        """Why the module that was just imported may not be, if it was by what it has
        drawn."""
        for name, state in generators().items():
            before = self.states.setdefault(name, state)
            if before != state:
                self.why = self.why or "draws random numbers when it is imported"
        if self.has_strange_generator():
            self.why = self.why or "makes a random generator that cannot be seeded anew"
        why, self.why = self.why, None
        return why


    def has_strange_generator(self):
        """Whether there is an object of a class that is seeded in a way of its own."""
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


def subclasses(of):
    if of is int:
        return []
    found = list(of.__subclasses__())
    return found + [each for one in found for each in subclasses(one)]


def generators():
    """The states of generators that everybody shares."""
    found = {}
    random = sys.modules.get("random")
    if hasattr(random, "_inst"):
        found["random"] = random._inst.getstate()
    legacy = getattr(sys.modules.get("numpy.random.mtrand"), "_rand", None)
    if legacy is not None:
        name, keys, *rest = legacy.get_state()
        found["numpy"] = (name, keys.tobytes(), rest)
    return found


def is_package(path):
    return "site-packages" in path or "dist-packages" in path


def module_of(frame):
    return str(frame.f_globals.get("__name__"))


class Renewal:
    """What a child draws anew."""

    def __init__(self, chance, by_chance, temporary):
        self.chance, self.by_chance, self.temporary = chance, by_chance, temporary

    def before(self):
        """Before the start is certain: nothing outside the process."""
        self.chance["give_new_seeds"](self.by_chance)
        self.chance["renew_process"]()
        module = sys.modules.get(NAMES)
        for name in ("STATE_KEY", "REGISTRY_KEY"):
            if hasattr(module, name) and hasattr(module, "generate_state_key"):
                setattr(module, name, module.generate_state_key())

    def after(self):
        if self.temporary:
            try:
                self.temporary.again()
            except OSError:
                pass  # No directory can be made; the program sees that when it wants one.
