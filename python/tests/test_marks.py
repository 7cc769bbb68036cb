"""Iterations and marks, where they are recorded and where not."""

import asyncio
import contextvars
import functools
import inspect
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import preheat
from preheat import _marks

PROGRAM = """
import preheat

preheat.mark("begun")

@preheat.iteration("request")
def answer():
    return sum(range(20000))

for _ in range(5):
    answer()
    preheat.mark("answered")
"""

WITHIN_RANGES = """
import nvtx
import preheat

for _ in range(4):
    with nvtx.annotate("round"):
        for _ in range(2):
            with preheat.iteration():
                sum(range(20000))
"""


def recorded(tmp_path, text, **options):
    script = tmp_path / "program.py"
    script.write_text(text)
    return preheat.run([sys.executable, script], starts=2, check=True, **options)


def test_named_iterations_and_marks_are_reported(tmp_path):
    report = recorded(tmp_path, PROGRAM)
    assert report.iterations_by == "python"
    assert report.iteration == "request, named by the program"
    assert [len(start.iterations) for start in report.starts] == [5, 5]
    marks = {mark.name: mark for mark in report.marks}
    assert list(marks) == ["begun", "answered"]
    assert (marks["begun"].count, marks["answered"].count) == (1, 5)
    # The first answer is the end of the first iteration.
    assert marks["begun"].first.estimate < report.time_to_first.estimate
    assert marks["answered"].first.estimate > marks["begun"].first.estimate


def test_named_iterations_come_before_nvtx_ranges(tmp_path):
    report = recorded(tmp_path, WITHIN_RANGES)
    assert report.iteration == "iteration, named by the program"
    assert [len(start.iterations) for start in report.starts] == [8, 8]
    ranges = recorded(tmp_path, WITHIN_RANGES, iterations="nvtx")
    assert ranges.iteration == "NVTX ranges named round"


def test_nothing_changes_where_nothing_is_recorded():
    @preheat.iteration()
    def double(value, *, plus=0):
        """Doubles."""
        return 2 * value + plus

    @preheat.iteration("request")
    async def later(value):
        return value + 1

    assert double(4, plus=1) == 9
    assert (double.__name__, double.__doc__) == ("double", "Doubles.")
    assert asyncio.run(later(1)) == 2
    with pytest.raises(KeyError), preheat.iteration():
        raise KeyError("it passes")
    assert preheat.mark("here") is None


STREAMS = """
import asyncio
import preheat

@preheat.iteration("stream")
def stream():
    yield from range(3)

@preheat.iteration("stream")
async def async_stream():
    for number in range(3):
        yield number

never = stream(), async_stream()

def main():
    for _ in range(3):
        for _ in stream():
            preheat.mark("value")
    values = stream()
    next(values)
    values.close()

async def async_main():
    for _ in range(3):
        async for _ in async_stream():
            preheat.mark("value")
    values = async_stream()
    await values.__anext__()
    await values.aclose()
"""


@pytest.mark.parametrize("call", ["main()", "asyncio.run(async_main())"])
def test_a_generator_is_one_iteration_until_it_ends(tmp_path, call):
    report = recorded(tmp_path, STREAMS + call)
    # Three exhausted ones and a closed one, and none for those that never began.
    assert [len(start.iterations) for start in report.starts] == [4, 4]
    # The first value is part of the first iteration.
    (mark,) = report.marks
    assert mark.count == 9
    assert mark.first.estimate < report.time_to_first.estimate


def test_decorated_generators_behave_as_before():
    def echo():
        got = yield "ready"
        try:
            while True:
                got = yield got
        except KeyError:
            yield "caught"
        return "done"

    decorated = preheat.iteration()(echo)
    assert inspect.isgeneratorfunction(decorated)
    for function in (echo, decorated):
        values = function()
        assert (next(values), values.send(1), values.throw(KeyError())) == ("ready", 1, "caught")
        with pytest.raises(StopIteration) as stopped:
            next(values)
        assert stopped.value.value == "done"


def test_decorated_asynchronous_generators_behave_as_before():
    async def echo(ends):
        got = yield "ready"
        try:
            while True:
                got = yield got
        except KeyError:
            yield "caught"
        finally:
            ends.append("ended")

    async def use(function):
        ends = []
        values = function(ends)
        got = [await values.__anext__(), await values.asend(1), await values.athrow(KeyError())]
        with pytest.raises(StopAsyncIteration):
            await values.__anext__()
        closed = function(ends)
        await closed.asend(None)
        await closed.asend(1)
        await closed.aclose()
        failing = function(ends)
        await failing.asend(None)
        with pytest.raises(LookupError):
            await failing.athrow(LookupError())
        return got, ends

    decorated = preheat.iteration()(echo)
    assert inspect.isasyncgenfunction(decorated)
    assert asyncio.run(use(decorated)) == asyncio.run(use(echo))


def test_wrong_names_are_reported():
    with pytest.raises(TypeError, match=r"write @preheat.iteration\(\)"):
        preheat.iteration(print)
    with pytest.raises(TypeError, match="not int"):
        preheat.mark(3)
    for named in (preheat.iteration, preheat.mark):
        with pytest.raises(ValueError, match="is empty"):
            named("")


def test_a_token_that_the_recorder_did_not_give_is_ignored(tmp_path):
    report = recorded(
        tmp_path,
        "import preheat._marks as marks\n"
        "marks._end(1)\n"
        "for _ in range(3):\n"
        "    token = marks._begin('step')\n"
        "    marks._end(token)\n"
        "    marks._end(token)\n",
    )
    assert [len(start.iterations) for start in report.starts] == [3, 3]


def test_an_instance_can_be_entered_again(tmp_path):
    report = recorded(
        tmp_path,
        "import preheat\n"
        "step = preheat.iteration('step')\n"
        "for _ in range(6):\n"
        "    with step:\n"
        "        with step:\n"
        "            sum(range(1000))\n",
    )
    assert [len(start.iterations) for start in report.starts] == [6, 6]


def test_the_package_imports_nothing_else():
    """A program that names its iterations must not start slower for it."""
    code = """
import sys
before = set(sys.modules)
import preheat
preheat.mark("begun")
step = preheat.iteration()
with step:
    step(lambda: 1)()
@step
async def coroutine():
    pass
@step
def generator():
    yield
@step
async def async_generator():
    yield
class Model:
    @step
    @classmethod
    def load(cls):
        pass
Model.load()
print(*sorted(set(sys.modules) - before))
"""
    # -S, because .pth files of an environment import modules too.
    imported = subprocess.run(
        [sys.executable, "-S", "-c", code], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.split()
    assert imported == ["preheat", "preheat._marks"]


@pytest.fixture
def recorder(monkeypatch):
    """Stands in for the recorder: the thread or task that began and ended each iteration."""
    current = contextvars.ContextVar("current", default="main")
    began, ended = {}, {}

    def begin(name):
        began[len(began) + 1] = current.get()
        return len(began)

    for name in ("_begin", "_end", "_mark", "_entered"):
        monkeypatch.setattr(_marks, name, None)
    _marks.attach(begin, lambda token: ended.update({token: current.get()}), print)
    return current, began, ended


def test_threads_can_share_an_instance(recorder):
    current, began, ended = recorder
    step = preheat.iteration("step")
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as two:
        one.submit(current.set, "one").result()
        two.submit(current.set, "two").result()
        for call, *arguments in ((step.__enter__,), (step.__exit__, None, None, None)):
            # The one that enters first leaves first.
            one.submit(call, *arguments).result()
            two.submit(call, *arguments).result()
    assert ended == began == {1: "one", 2: "two"}


def test_tasks_can_share_an_instance(recorder):
    current, began, ended = recorder
    step = preheat.iteration("step")

    async def work(name, turns):
        current.set(name)
        for _ in range(2):
            with step, step:
                for _ in range(turns):
                    await asyncio.sleep(0)

    async def main():
        with step:
            await asyncio.gather(*(work(f"task {turns}", turns) for turns in range(5)))

    asyncio.run(main())
    assert ended == began and len(began) == 1 + 5 * 2 * 2


def test_an_iteration_can_end_in_another_thread(recorder):
    _, began, ended = recorder

    def values():
        with preheat.iteration():
            yield 1

    for _ in range(3):
        generator = values()
        next(generator)
        thread = threading.Thread(target=list, args=[generator])
        thread.start()
        thread.join()
    # The context of this thread keeps none of them.
    assert sorted(ended) == sorted(began) == [1, 2, 3]
    with preheat.iteration():
        assert len(_marks._entered.get()) == 1


SHARED = """
import asyncio
import preheat

shared = preheat.iteration("step")

async def work(turns):
    with STEP:
        for _ in range(turns):
            await asyncio.sleep(0)

async def main():
    # Every third begins after an earlier one that counts has ended.
    chain = []
    for _ in range(9):
        chain.append(asyncio.create_task(work(3)))
        await asyncio.sleep(0)
    await asyncio.gather(*chain)

asyncio.run(main())
"""


def test_a_shared_instance_is_recorded_like_separate_ones(tmp_path):
    counts = [
        [len(start.iterations) for start in recorded(tmp_path, text).starts]
        for text in (SHARED.replace("STEP", step) for step in ("shared", "preheat.iteration('step')"))
    ]
    assert counts[0] == counts[1]


def test_a_decorated_function_has_the_attributes_of_the_function():
    def answer(question: str, *, plus: "int" = 0) -> str:
        """Answers."""
        return question

    answer.extra = [1]
    ours, theirs = preheat.iteration()(answer), functools.wraps(answer)(lambda: None)
    for name in (*functools.WRAPPER_ASSIGNMENTS, "__dict__", "__wrapped__"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert inspect.signature(ours) == inspect.signature(answer)
    # A partial function has no name.
    assert preheat.iteration()(functools.partial(answer, "why"))() == "why"


class Asynchronous:
    async def __call__(self):
        await asyncio.sleep(0)
        return 5

    async def method(self):
        return await self()


@pytest.mark.parametrize(
    "function", [Asynchronous(), Asynchronous().method, functools.partial(Asynchronous().method)]
)
def test_a_coroutine_ends_when_it_was_awaited(recorder, function):
    _, _, ended = recorder
    decorated = preheat.iteration()(function)
    assert inspect.iscoroutinefunction(decorated)
    coroutine = decorated()
    assert ended == {}
    assert asyncio.run(coroutine) == 5
    assert len(ended) == 1


def test_methods_of_a_class_can_be_decorated(recorder):
    _, began, _ = recorder

    class Model:
        @preheat.iteration()
        @classmethod
        def of_class(cls, value):
            return cls, value

        @preheat.iteration()
        @staticmethod
        def of_none(value):
            return value

        @classmethod
        @preheat.iteration()
        def below(cls):
            return cls

    assert Model.of_class(1) == Model().of_class(1) == (Model, 1)
    assert Model.of_none(2) == Model().of_none(2) == 2
    assert Model.below() is Model
    assert len(began) == 5


@pytest.mark.parametrize("other", [5, None, Asynchronous])
def test_only_functions_can_be_decorated(other):
    with pytest.raises(TypeError, match="decorates functions, and .* is not a function"):
        preheat.iteration()(other)


ASYNCHRONOUS = """
import asyncio
import preheat

@preheat.iteration("request")
async def answer(turns):
    for _ in range(turns):
        await asyncio.sleep(0)

@preheat.iteration("request")
async def nested():
    await answer(1)

async def main():
    for _ in range(5):
        await nested()
    # The second one ends last.
    await asyncio.gather(answer(2), answer(9), *(answer(1) for _ in range(3)))
    # There is always a request under way, and every third begins after the first ended.
    chain = [asyncio.create_task(answer(3))]
    for _ in range(8):
        await asyncio.sleep(0)
        chain.append(asyncio.create_task(answer(3)))
    await asyncio.gather(*chain)

asyncio.run(main())
"""


def test_concurrent_iterations_do_not_count_and_are_noted(tmp_path):
    report = recorded(tmp_path, ASYNCHRONOUS)
    assert report.iteration == "request, named by the program"
    # Nested ones are part of the outer one: they are neither counted nor noted.
    counts = {len(start.iterations) for start in report.starts}
    assert len(counts) == 1
    count = counts.pop()
    # Five in a row, one of those gathered, and some of the chain, though it has no gap.
    assert 5 + 1 + 2 <= count < 5 + 5 + 9
    assert any(
        note.startswith(f"{19 - count} of 19 iterations began while") for note in report.notes
    ), report.notes
