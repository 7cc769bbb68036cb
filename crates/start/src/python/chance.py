"""Random generators that were seeded randomly when they were created: they would differ in a
fresh process, so each child of the warm parent seeds them again.

Comparing two processes with the same imports shows which generators were seeded randomly, and
which with a constant chosen by a library: the states of the former differ.
"""

import os
import sys


def generators():
    """All generators that can be found, with representations of their states."""
    import gc

    random = sys.modules.get("random")
    kind = getattr(random, "Random", ())
    numpy = sys.modules.get("numpy.random.mtrand")
    legacy = getattr(numpy, "RandomState", ())
    found = []
    for each in gc.get_objects() if kind else ():
        # Use type(): __class__ may be a property with side effects.
        of = type(each)
        if is_seeded_alike(of, kind):
            found.append((each, kind.getstate(each)))
        elif of is legacy and legacy:
            found.append((each, state_of(each)))
    own = getattr(numpy, "_rand", None)
    if own is not None:
        found.append((own, state_of(own)))
    torch = getattr(sys.modules.get("torch"), "default_generator", None)
    if torch is not None:
        found.append((torch, torch.initial_seed()))
    return [(each, repr(state)) for each, state in found]


def is_seeded_alike(of, kind):
    """Returns True for `random.Random` and subclasses that are seeded the same way."""
    if of is kind:
        return True
    return kind in of.__mro__ and of.seed is kind.seed and of.getstate is kind.getstate


def state_of(legacy):
    name, keys, *rest = legacy.get_state()
    return name, keys.tobytes(), rest


def states():
    """Digests of all states, reported by a disposable process."""
    return [digest(state) for _, state in generators()]


def by_chance(others):
    """The generators whose states differ from those of another process."""
    others = set(others)
    return [each for each, state in generators() if digest(state) not in others]


def digest(text):
    import zlib

    data = text.encode()
    return "%08x%08x" % (zlib.crc32(data), zlib.adler32(data))


def give_new_seeds(generators):
    """In a child: seeds the generators again."""
    for each in generators:
        # Without an argument, all of them use a random seed from the system.
        each.seed()


def renew_process(modules):
    """Renews other values that differ in each process and were set during imports. `modules` has
    those that were imported, hidden or not."""
    process = getattr(modules.get("multiprocessing.process"), "_current_process", None)
    if process is not None:
        kind = type(process._config["authkey"])
        process._config["authkey"] = kind(os.urandom(32))
    logging = modules.get("logging")
    if logging is not None:
        import time

        exact = isinstance(logging._startTime, int)
        logging._startTime = time.time_ns() if exact else time.time()
    main = getattr(modules.get("threading"), "_main_thread", None)
    if hasattr(main, "_set_native_id"):
        main._set_native_id()
