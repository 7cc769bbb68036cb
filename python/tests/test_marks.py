"""Iterations and marks, where they are recorded and where not."""

import asyncio
import inspect
import subprocess
import sys

import pytest

import preheat

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
    code = (
        "import sys; before = set(sys.modules); import preheat; "
        "preheat.iteration; preheat.mark; print(*sorted(set(sys.modules) - before))"
    )
    # -S, because .pth files of an environment import modules too.
    imported = subprocess.run(
        [sys.executable, "-S", "-c", code], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.split()
    assert imported == ["preheat", "preheat._marks"]


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
