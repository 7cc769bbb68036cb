"""Decides whether closing a suspended generator executes any of its code.

Python closes generators that it frees: it raises GeneratorExit at the `yield` at which they wait.
That executes code only if the generator has begun, and waits inside a `try` or `with` statement
or in another generator.
"""

import sys

# The handler of every generator since 3.12, which turns StopIteration into RuntimeError.
IMPLICIT, STOP_ITERATION = "CALL_INTRINSIC_1", 3


def waits_in_try(generator):
    """Returns True if closing a generator may execute its code."""
    frame = generator.gi_frame
    if frame is None:
        return False  # It has returned.
    if sys.version_info < (3, 11):
        return frame.f_lasti >= 0  # It has begun; its handlers are not known.
    if not generator.gi_suspended:
        return generator.gi_running
    if generator.gi_yieldfrom is not None:
        return True
    code = generator.gi_code
    for begin, end, target in handlers(code.co_exceptiontable):
        if begin <= frame.f_lasti < end:
            return not is_implicit(code.co_code, target)
    return False


def handlers(table):
    """The entries of an exception table: begin, end and handler, as offsets in the code."""
    numbers, at = [], 0
    while at < len(table):
        value = table[at] & 63
        while table[at] & 64:
            at += 1
            value = value << 6 | table[at] & 63
        numbers.append(value)
        at += 1
    for begin, length, target, _ in zip(*[iter(numbers)] * 4):
        yield 2 * begin, 2 * (begin + length), 2 * target


def is_implicit(code, target):
    if sys.version_info < (3, 12):
        return False
    known = set(sys.modules)
    import opcode

    for name in set(sys.modules) - known:
        del sys.modules[name]
    return list(code[target : target + 2]) == [opcode.opmap[IMPLICIT], STOP_ITERATION]
