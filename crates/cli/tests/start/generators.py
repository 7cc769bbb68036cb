ran = []


def simple():
    yield 1
    yield 2


def in_try():
    try:
        yield 1
        yield 2
    finally:
        ran.append(1)


def before_try():
    yield 1
    try:
        yield 2
    finally:
        ran.append(1)


def in_handler():
    try:
        raise ValueError
    except ValueError:
        yield 1
    yield 2


def in_with():
    class Context:
        def __enter__(self):
            return None

        def __exit__(self, *_):
            ran.append(1)

    with Context():
        yield 1
        yield 2


def in_another():
    yield from in_try()


def after_try():
    try:
        pass
    finally:
        ran.clear()
    yield 1
    yield 2


expression = (each for each in (1, 2))
SHAPES = simple, in_try, before_try, in_handler, in_with, in_another, after_try, lambda: expression
exact = sys.version_info >= (3, 11)
wrong = []
for shape in SHAPES:
    for steps in range(4):
        generator = shape()
        for _ in range(steps):
            next(generator, None)
        ran.clear()
        predicted = waits_in_try(generator)
        generator.close()
        # Prediction may err on the safe side: it does in an `except` block.
        is_safe = not exact or shape is in_handler
        if bool(ran) > predicted or not is_safe and predicted != bool(ran):
            wrong.append((shape.__name__, steps, predicted))
assert not wrong, wrong
