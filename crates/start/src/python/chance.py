"""Generators of random numbers that were seeded by chance when they were made: in a fresh
process they would be other ones, so each child of the warm parent gives them new seeds.

Which were seeded by chance, and which with a number that a library has chosen, is found
out by comparing two processes that have imported the same: what differs is chance.
"""

import os
import sys


def generators():
    """All that can be found, with what tells their states apart."""
    import gc

    random = sys.modules.get("random")
    kind = getattr(random, "Random", ())
    numpy = sys.modules.get("numpy.random.mtrand")
    legacy = getattr(numpy, "RandomState", ())
    found = []
    for each in gc.get_objects() if kind else ():
        # By its type: asking an object for its class may make it do things.
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
    """Whether objects of a class are `random.Random`, or seeded as that is."""
    if of is kind:
        return True
    return kind in of.__mro__ and of.seed is kind.seed and of.getstate is kind.getstate


def state_of(legacy):
    name, keys, *rest = legacy.get_state()
    return name, keys.tobytes(), rest


def states():
    """What a process that is thrown away tells of its own: a digest of each."""
    return [digest(state) for _, state in generators()]


def by_chance(others):
    """The generators here that another process has in another state."""
    others = set(others)
    return [each for each, state in generators() if digest(state) not in others]


def digest(text):
    import zlib

    data = text.encode()
    return "%08x%08x" % (zlib.crc32(data), zlib.adler32(data))


def give_new_seeds(generators):
    """In a child."""
    for each in generators:
        # Without a number all of them take one from the system.
        each.seed()


def renew_process():
    """What else is a process's own, and was fixed when it was imported."""
    modules = sys.modules
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
