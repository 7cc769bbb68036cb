"""Iterations and marks that a program names itself.

In a process that `preheat run` records, the recorder attaches itself when this module is
imported. In any other process nothing is attached, and naming an iteration costs one check.

Importing this module imports no other: programs import it to measure how fast they start.
"""

# Type checkers treat this as true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Callable, Optional, Type, TypeVar

    _Function = TypeVar("_Function", bound=Callable[..., Any])

_begin: "Optional[Callable[[str], int]]" = None
_end: "Optional[Callable[[int], None]]" = None
_mark: "Optional[Callable[[str], None]]" = None


def attach(
    begin: "Callable[[str], int]", end: "Callable[[int], None]", mark: "Callable[[str], None]"
) -> None:
    """Connects the recorder. For `preheat run` only."""
    global _begin, _end, _mark
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
    """

    __slots__ = ("_name", "_tokens")

    def __init__(self, name: str = "iteration") -> None:
        if not isinstance(name, str):
            raise TypeError(
                "the name of an iteration is a string; as a decorator, write @preheat.iteration()"
            )
        self._name = name
        # A stack: one instance can be entered again before it is left.
        self._tokens: "list[int]" = []

    def __enter__(self) -> "iteration":
        if _begin is not None:
            self._tokens.append(_begin(self._name))
        return self

    def __exit__(
        self,
        kind: "Optional[Type[BaseException]]",
        error: "Optional[BaseException]",
        traceback: "Optional[TracebackType]",
    ) -> None:
        # Empty if the recorder was attached after this iteration began.
        if self._tokens and _end is not None:
            _end(self._tokens.pop())

    def __call__(self, function: "_Function") -> "_Function":
        import functools
        import inspect

        name = self._name
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args: "Any", **kwargs: "Any") -> "Any":
                with iteration(name):
                    return await function(*args, **kwargs)

            return awaited  # type: ignore[return-value]

        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generated(*args: "Any", **kwargs: "Any") -> "Any":
                with iteration(name):
                    return (yield from function(*args, **kwargs))

            return generated  # type: ignore[return-value]

        if inspect.isasyncgenfunction(function):

            @functools.wraps(function)
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

            return streamed  # type: ignore[return-value]

        @functools.wraps(function)
        def called(*args: "Any", **kwargs: "Any") -> "Any":
            if _begin is None or _end is None:
                return function(*args, **kwargs)
            token = _begin(name)
            try:
                return function(*args, **kwargs)
            finally:
                _end(token)

        return called  # type: ignore[return-value]


def mark(name: str) -> None:
    """Marks this moment, such as the end of a stage of startup.

    `preheat run` reports the time from the start of the program to the first mark of each
    name.

    >>> import preheat
    >>> preheat.mark("weights loaded")
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a mark is a string, not {type(name).__name__}")
    if _mark is not None:
        _mark(name)
