"""Iterations and marks that a program names itself.

In a process that `preheat run` records, the recorder attaches itself when this module is
imported. In any other process nothing is attached, and naming an iteration costs one check.

Importing this module imports no other, and neither does decorating a function: programs use
it to measure how fast they start.
"""

import sys

# Type checkers treat this as true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextvars import ContextVar
    from types import TracebackType
    from typing import Any, Callable, Optional, Tuple, Type, TypeVar

    _Function = TypeVar("_Function", bound=Callable[..., Any])

_begin: "Optional[Callable[[str], int]]" = None
_end: "Optional[Callable[[int], None]]" = None
_mark: "Optional[Callable[[str], None]]" = None
# The instances that this thread or task has entered, each with the token of the recorder.
_entered: "Optional[ContextVar[Tuple[Tuple[iteration, int], ...]]]" = None

# Flags of code objects, as in `inspect`.
_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200
# The attributes that `functools.wraps` copies. Reading annotations would evaluate them from
# Python 3.14 on.
_COPIED = (
    "__module__",
    "__name__",
    "__qualname__",
    "__doc__",
    "__type_params__",
    "__annotate__" if sys.version_info >= (3, 14) else "__annotations__",
)


def attach(
    begin: "Callable[[str], int]", end: "Callable[[int], None]", mark: "Callable[[str], None]"
) -> None:
    """Connects the recorder. For `preheat run` only."""
    from _contextvars import ContextVar

    global _begin, _end, _mark, _entered
    _entered = ContextVar("preheat.entered", default=())
    _begin, _end, _mark = begin, end, mark


class iteration:
    """Names one iteration: a training step, an inference, a request.

    `preheat run` then uses these iterations instead of those it would find itself. Use it as a
    context manager, or as a decorator of a function whose every call is one iteration; coroutine
    functions and generator functions too:

    >>> import preheat
    >>> with preheat.iteration():
    ...     total = sum(range(10))
    >>> @preheat.iteration("request")
    ... def answer(question):
    ...     return question + 1
    >>> answer(41)
    42

    The iteration of a generator lasts from the first request for a value until it is exhausted or
    closed, including the time that its consumer takes in between.

    An iteration within one of the same name is part of the outer one. Of several names, the
    outermost that repeats counts. An iteration that begins while a concurrent task of the same
    thread is in one of the same name does not count.

    Threads and tasks can share an instance.
    """

    __slots__ = ("_name", "_tokens")

    def __init__(self, name: str = "iteration") -> None:
        if not isinstance(name, str):
            raise TypeError(
                "the name of an iteration is a string; as a decorator, write @preheat.iteration()"
            )
        if not name:
            raise ValueError("the name of an iteration is empty")
        self._name = name
        # Those of all threads and tasks that have entered this instance and not left it.
        self._tokens: "list[int]" = []

    def __enter__(self) -> "iteration":
        if _begin is not None and _entered is not None:
            token = _begin(self._name)
            self._tokens.append(token)
            # Leaves out those that another thread or task has left.
            still = [each for each in _entered.get() if each[1] in each[0]._tokens]
            _entered.set((*still, (self, token)))
        return self

    def __exit__(
        self,
        kind: "Optional[Type[BaseException]]",
        error: "Optional[BaseException]",
        traceback: "Optional[TracebackType]",
    ) -> None:
        # Empty if the recorder was attached after this iteration began.
        if self._tokens and _end is not None:
            _end(self._leave())

    def _leave(self) -> int:
        """Removes and returns the token that this thread or task got last."""
        entered = () if _entered is None else _entered.get()
        for at in reversed(range(len(entered))):
            instance, token = entered[at]
            if instance is self and token in self._tokens:
                if _entered is not None:
                    _entered.set(entered[:at] + entered[at + 1 :])
                self._tokens.remove(token)
                return token
        # Entered elsewhere: threads and tasks can take turns in running a generator.
        return self._tokens.pop()

    def __call__(self, function: "_Function") -> "_Function":
        if isinstance(function, (classmethod, staticmethod)):
            method: "Any" = type(function)(self(function.__func__))
            return method  # type: ignore[no-any-return]
        if isinstance(function, type) or not callable(function):
            raise TypeError(
                f"preheat.iteration() decorates functions, and {function!r} is not a function"
            )
        name = self._name
        flags = _flags(function)
        if flags & _COROUTINE:

            async def awaited(*args: "Any", **kwargs: "Any") -> "Any":
                with iteration(name):
                    return await function(*args, **kwargs)

            return _wraps(awaited, function)

        if flags & _GENERATOR:

            def generated(*args: "Any", **kwargs: "Any") -> "Any":
                with iteration(name):
                    return (yield from function(*args, **kwargs))

            return _wraps(generated, function)

        if flags & _ASYNC_GENERATOR:

            async def streamed(*args: "Any", **kwargs: "Any") -> "Any":
                with iteration(name):
                    values = function(*args, **kwargs)
                    # Like `yield from`, which asynchronous generators do not have.
                    try:
                        value = await values.asend(None)
                        while True:
                            try:
                                sent = yield value
                            except GeneratorExit:
                                raise
                            except BaseException as error:
                                value = await values.athrow(error)
                            else:
                                value = await values.asend(sent)
                    except StopAsyncIteration:
                        pass
                    finally:
                        await values.aclose()

            return _wraps(streamed, function)

        def called(*args: "Any", **kwargs: "Any") -> "Any":
            if _begin is None or _end is None:
                return function(*args, **kwargs)
            token = _begin(name)
            try:
                return function(*args, **kwargs)
            finally:
                _end(token)

        return _wraps(called, function)


def _flags(function: "Any") -> int:
    """The flags of the function that a call runs: its own, or those of ``__call__``."""
    functools = sys.modules.get("functools")
    while True:
        # The object that `inspect.markcoroutinefunction` sets; a mock has all attributes.
        if type(getattr(function, "_is_coroutine_marker", None)) is object:
            return _COROUTINE
        if functools is not None and isinstance(function, functools.partial):
            function = function.func
        elif hasattr(type(function), "__func__"):
            function = function.__func__
        else:
            break
    code = getattr(function, "__code__", None)
    if code is None:
        code = getattr(type(function).__call__, "__code__", None)
    return getattr(code, "co_flags", 0)


def _wraps(wrapper: "Any", function: "_Function") -> "_Function":
    """`functools.wraps`, without the time to import it."""
    for name in _COPIED:
        try:
            setattr(wrapper, name, getattr(function, name))
        except AttributeError:
            pass
    wrapper.__dict__.update(getattr(function, "__dict__", {}))
    wrapper.__wrapped__ = function
    return wrapper  # type: ignore[no-any-return]


def mark(name: str) -> None:
    """Marks this moment, such as the end of a stage of startup.

    `preheat run` reports the time from the start of the program to the first mark of each
    name.

    >>> import preheat
    >>> preheat.mark("weights loaded")
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a mark is a string, not {type(name).__name__}")
    if not name:
        raise ValueError("the name of a mark is empty")
    if _mark is not None:
        _mark(name)
