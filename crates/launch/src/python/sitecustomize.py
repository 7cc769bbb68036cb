"""Loaded by Python at its start, before the program: tells the recorder of imports and
of the iterations of frameworks, then makes way for the user's own sitecustomize.

Nothing of this may be seen by the program: it raises nothing, prints nothing, and
leaves sys.path and sys.modules as they would be without it. It must stay readable to
every Python, also to those for which it then does nothing.
"""

import sys

# Numbers of the recording's layout.
PYTHON_BEGAN, PYTHON_READY, NOTE = 2, 3, 10
OPTIMIZER_STEP, MODEL_CALL, TRAIN_STEP, PREDICT_STEP, TEST_STEP, DATA_FETCH = 1, 2, 3, 4, 5, 6
PREDICT, EVALUATE, EPOCH, FUNCTION_CALL = 7, 8, 9, 10


def begin(os):
    """Loads the recorder and begins to watch."""
    if sys.version_info < (3, 8) or sys.implementation.name != "cpython":
        return
    if object.__basicsize__ != 2 * tuple.__itemsize__:
        return  # Without a global lock, or with all traced, objects have another layout.
    shim = os.environ.get("PREHEAT_SHIM")
    if not shim or not os.environ.get("PREHEAT_DIRECTORY"):
        return
    recorder = load(shim)
    # Where this process is a fork of one that did not record.
    told = (os.environ.get("PREHEAT_" + name, "") for name in ("DIRECTORY", "LIMIT", "ITERATIONS"))
    recorder.begin(*told)
    recorder.event(PYTHON_BEGAN, "")
    options = os.environ.get("PREHEAT_OPTIONS", "").split(",")
    watched = {}
    synchronize = "synchronize" in options
    recorder.clock_settings(os.path.dirname(os.__file__), synchronize)
    watched["time"] = once(watched, "time", lambda time: hook_clocks(recorder, time))
    frameworks = Frameworks(recorder, synchronize)
    watched["jax._src.compiler"] = once(watched, "jax._src.compiler", frameworks.jax_compiler)
    iterations = os.environ.get("PREHEAT_ITERATIONS", "")
    if iterations.startswith("call:"):
        module, _, function = iterations[5:].partition(":")
        named = lambda module: frameworks.named_call(module, function)  # noqa: E731
        if module == "__main__":
            frameworks.call_of_main(function)
        else:
            watched[module] = once(watched, module, named)
    elif "no-python-iterations" not in options:
        for name, patch in (
            ("torch", frameworks.torch),
            ("torch.cuda", frameworks.torch_events),
            ("torch._dynamo.utils", frameworks.torch_compiler_near),
            ("torch._dynamo.callback", frameworks.torch_compiler),
            ("torch.utils.data.dataloader", frameworks.torch_data),
            ("keras", frameworks.keras),
            ("tf_keras", frameworks.keras),
            ("sklearn.base", frameworks.sklearn),
            ("jax._src.pjit", frameworks.jax_calls),
        ):
            watched[name] = once(watched, name, patch)
        for name in CALLS:
            watched[name] = once(watched, name, frameworks.calls)
    for name in list(watched):
        # There already in a fork.
        if name in sys.modules:
            watched[name](sys.modules[name])
    import _frozen_importlib as bootstrap

    # Python calls this by its name for every import that is not loaded yet.
    bootstrap._find_and_load = recorder.watch_imports(bootstrap._find_and_load, watched)
    hook_compile(recorder)
    recorder.event(PYTHON_READY, sys.version)


def hook_compile(recorder):
    """Has source that the import system compiles recorded. importlib calls `compile` by
    its name, and a global of its module comes before the built-in function."""
    import _frozen_importlib_external as external

    ours = recorder.watch_compile(compile)
    kept = vars(external).get("compile")
    if kept is None:
        external.compile = ours
    else:
        # `preheat start` keeps bytecode: only what it does not find is compiled.
        kept.__globals__["compile"] = ours


def once(watched, name, patch):
    """Patches a module when its import is done: it is also asked for by those within it,
    before and after that."""

    def then(module):
        if not getattr(getattr(module, "__spec__", None), "_initializing", False):
            if watched.pop(name, None):
                try:
                    patch(module)
                except Exception:
                    pass  # The import would be what fails.

    return then


def leave_path(os):
    """Takes this file's directory from sys.path. The environment keeps it, so that
    children are followed."""
    ours = os.environ.get("PREHEAT_PYTHON") or os.path.dirname(__file__)
    ours = {os.path.abspath(ours), os.path.realpath(ours)}
    sys.path[:] = [
        path
        for path in sys.path
        if not isinstance(path, str) or not path or os.path.abspath(path) not in ours
    ]
    for path in ours:
        sys.path_importer_cache.pop(path, None)


def load(shim):
    """The recorder as a module that nobody else sees."""
    import _imp
    from _frozen_importlib import ModuleSpec
    from _frozen_importlib_external import ExtensionFileLoader

    spec = ModuleSpec("_preheat", ExtensionFileLoader("_preheat", shim), origin=shim)
    module = _imp.create_dynamic(spec)
    sys.modules.pop("_preheat", None)
    return module


# The functions of the module `time` that programs time themselves with, in the recorder's
# order.
CLOCKS = (
    "time",
    "time_ns",
    "perf_counter",
    "perf_counter_ns",
    "monotonic",
    "monotonic_ns",
    "process_time",
    "process_time_ns",
    "thread_time",
    "thread_time_ns",
)


def hook_clocks(recorder, time):
    """Has readings of the clocks by the program's own code recorded."""
    for number, name in enumerate(CLOCKS):
        function = time.__dict__.get(name)
        if function is not None:
            recorder.hook_clock(function, number)


# Functions of libraries that make up an iteration, by the module that has them.
CALLS = {
    "transformers.generation.utils": ("GenerationMixin.generate",),
    "transformers.pipelines.base": ("Pipeline.__call__",),
    "onnxruntime.capi.onnxruntime_inference_collection": (
        "Session.run",
        "Session.run_with_iobinding",
    ),
    "xgboost.core": ("Booster.update", "Booster.predict", "Booster.inplace_predict"),
    "xgboost.training": ("train",),
    "lightgbm.basic": ("Booster.update", "Booster.predict"),
    "lightgbm.engine": ("train",),
    "tensorflow.python.eager.polymorphic_function.polymorphic_function": ("Function.__call__",),
}

# Methods of scikit-learn's estimators that programs call for their result.
ESTIMATOR_METHODS = (
    "fit",
    "partial_fit",
    "fit_predict",
    "fit_transform",
    "predict",
    "predict_proba",
    "transform",
)

# After so many steps of every optimizer, their steps are what repeats; and after so many of
# any since the last one was made, whatever the others do.
ENOUGH_STEPS = 8
MOST_STEPS = 64


class Frameworks(object):
    """Finds the iterations of frameworks, once they are imported."""

    def __init__(self, recorder, synchronize):
        import _thread
        from _weakref import ref

        class Depth(_thread._local):
            value = 0

        self.recorder = recorder
        self.synchronize = synchronize
        # One for each kind: a step that calls another class's step is one step.
        self.depths = [Depth() for _ in range(EPOCH + 1)]
        self.counts = {}
        self.modules = None
        self.compiles = False
        self.reference = ref
        self.names = {}
        self.numbers = {}
        # How often those optimizers have yet to step whose model is looked at.
        self.young = {}
        self.steps = 0
        # Their call as it was when modules got their own back.
        self.left = None

    # What the patches call.

    def name_of(self, optimizer):
        """Its class, and which of that class where there are several."""
        of = type(optimizer).__name__
        try:
            address = id(optimizer)
            reference, name = self.names.get(address, (None, of))
            # One that is gone may have had this address.
            if reference is None or reference() is not optimizer:
                number = self.numbers[of] = self.numbers.get(of, 0) + 1
                name = of if number == 1 else "%s #%d" % (of, number)
                gone = lambda _, names=self.names: names.pop(address, None)  # noqa: E731
                self.names[address] = self.reference(optimizer, gone), name
            return name
        except Exception:
            return of

    def begin(self, which, name):
        return self.recorder.iteration_begin(which, name)

    def end(self, which, token):
        if self.synchronize and which != DATA_FETCH:
            # A batch that was fetched has not waited for what the device still does.
            self.recorder.synchronize()
        self.recorder.iteration_end(token)
        count = self.counts.get(which, 0)
        self.counts[which] = count + 1
        # Often while things still change, then more and more seldom.
        if count < 4 or count & (count - 1) == 0:
            self.tell_allocator()
        if which == OPTIMIZER_STEP and self.modules:
            self.steps += 1
            if not self.young or self.steps >= MOST_STEPS:
                self.young.clear()
                self.leave_modules()

    def made(self, optimizer):
        """An optimizer was made: what its model is called for is looked at again."""
        # Whatever its model is called for before it steps.
        self.recorder.expect_steps()
        address = id(optimizer)
        gone = lambda _, young=self.young: young.pop(address, None)  # noqa: E731
        self.young[address] = [ENOUGH_STEPS, self.reference(optimizer, gone)]
        self.steps = 0
        if self.left and not self.compiles:
            self.return_to_modules()

    def step_of(self, optimizer):
        """The name of an optimizer that steps."""
        young = self.young.get(id(optimizer))
        if young is not None:
            young[0] -= 1
            if young[0] <= 0:
                self.young.pop(id(optimizer), None)
        return self.name_of(optimizer)

    def tell_allocator(self):
        try:
            cuda = sys.modules["torch"].cuda
            if cuda.is_initialized():
                stats = cuda.memory_stats()
                self.recorder.allocator(
                    "torch.cuda",
                    stats["allocated_bytes.all.current"],
                    stats["reserved_bytes.all.current"],
                    stats["allocated_bytes.all.peak"],
                    stats["reserved_bytes.all.peak"],
                )
        except Exception:
            pass

    # The patches. A failure leaves a framework as it is.

    def torch(self, torch):
        try:
            self.torch_modules(torch)
            self.torch_optimizers(torch)
        except Exception:
            self.recorder.event(NOTE, "Iterations of PyTorch are not seen: it is not as expected.")

    def torch_modules(self, torch):
        """Wraps the call of modules; the outermost one on a thread is an iteration. As
        long as PyTorch's compiler is not there, which can only look into functions of
        Python, this is not one: a model calls hundreds of modules."""
        Module = torch.nn.Module
        original = Module.__call__
        depth = self.depths[MODEL_CALL]

        def began(module):
            return self.begin(MODEL_CALL, type(module).__name__)

        def ended(token):
            # Where it came to be a function of Python meanwhile.
            depth.value = 0
            self.end(MODEL_CALL, token)

        made = None
        if "torch._dynamo.utils" not in sys.modules:
            made = self.recorder.around(original, began, ended)
        if made is None:
            made = self.modules_function(torch, original)
        else:
            # PyTorch has imported it: what is copied or sent elsewhere is what is there.
            copyreg = sys.modules["copyreg"]
            copyreg.pickle(type(made), lambda _: (getattr, (Module, "__call__")))
        Module.__call__ = made
        self.modules = (Module, made, original)

    def modules_function(self, torch, original):
        return self.wrapper(original, is_compiling_of(torch), MODEL_CALL, "type(self).__name__")

    def torch_compiler_near(self, utils):
        """PyTorch's compiler is being imported: the call of modules becomes what it can
        look into, and what it knows as the call that nobody patched."""
        Module, made, original = self.modules or (None, None, None)
        ours = Module is not None and Module.__dict__.get("__call__") is made
        if not ours or type(made) is type(once):
            return
        function = self.modules_function(sys.modules["torch"], original)
        if self.recorder.within():
            # The call in which it is imported goes on to be the outermost.
            self.depths[MODEL_CALL].value = 1
        Module.__call__ = function
        if getattr(utils, "__dict__", {}).get("unpatched_nn_module_call") is made:
            utils.unpatched_nn_module_call = function
        self.modules = (Module, function, original)

    def leave_modules(self):
        """Gives modules their own call back: where an optimizer steps, its steps are the
        iterations, and nothing more is to be learned from the calls within them. Not if
        something was compiled, which may go by that function."""
        Module, made, original = self.modules or (None, None, None)
        if Module is None or self.compiles or Module.__dict__.get("__call__") is not made:
            return
        self.left, self.modules = self.modules, None
        Module.__call__ = original
        self.tell_compiler(made, original)

    def return_to_modules(self):
        """Takes the call of modules again, as it was taken before."""
        Module, made, original = self.left
        if Module.__dict__.get("__call__") is not original:
            return
        if type(made) is not type(once) and "torch._dynamo.utils" in sys.modules:
            # The compiler came meanwhile.
            made = self.modules_function(sys.modules["torch"], original)
        self.left, self.modules = None, (Module, made, original)
        Module.__call__ = made
        self.tell_compiler(original, made)

    def tell_compiler(self, old, new):
        """The compiler remembers it as what a module has if nobody patched it."""
        for name in ("torch._dynamo.utils", "torch._dynamo.variables.nn_module"):
            module = sys.modules.get(name)
            if getattr(module, "__dict__", {}).get("unpatched_nn_module_call") is old:
                module.unpatched_nn_module_call = new

    def torch_optimizers(self, torch):
        """Wraps the step of each class of optimizers, after PyTorch has wrapped it in
        its own way, which it does when the first one of a class is made."""
        Optimizer = torch.optim.Optimizer
        for name in ("_patch_step_function", "_hook_for_profile"):
            patch = Optimizer.__dict__.get(name)
            if patch is not None:
                break
        else:
            raise AttributeError("_patch_step_function")
        is_compiling = is_compiling_of(torch)
        ours = set()

        def patched(optimizer, *args, **kwargs):
            result = patch(optimizer, *args, **kwargs)
            try:
                self.made(optimizer)
                of = type(optimizer)
                if of.step not in ours:
                    step = self.wrapper(of.step, is_compiling, OPTIMIZER_STEP, "step_of(self)")
                    ours.add(step)
                    of.step = step
            except Exception:
                pass
            return result

        setattr(Optimizer, name, wraps(patched, patch))

    def torch_events(self, cuda):
        """CUDA events that the program times itself with."""
        Event, recorder = cuda.Event, self.recorder
        record, elapsed_time = Event.record, Event.elapsed_time

        def recorded(self, *args, **kwargs):
            result = record(self, *args, **kwargs)
            recorder.cuda_event(id(self))
            return result

        def elapsed(self, end_event):
            milliseconds = elapsed_time(self, end_event)
            if milliseconds >= 0:
                recorder.cuda_elapsed(id(self), id(end_event), int(milliseconds * 1e6))
            return milliseconds

        Event.record = wraps(recorded, record)
        Event.elapsed_time = wraps(elapsed, elapsed_time)

    def torch_data(self, dataloader):
        """The next batch of a data loader: an iteration begins with it. The first one is
        asked for when the loader's workers are started."""
        loader = getattr(dataloader, "DataLoader", None)
        if loader is not None and "__iter__" in loader.__dict__:
            iter_of = loader.__dict__["__iter__"]
            loader.__iter__ = self.wrapper(iter_of, never, DATA_FETCH, repr("iter"))
        of = getattr(dataloader, "_BaseDataLoaderIter", None)
        if of is not None and "__next__" in of.__dict__:
            next_of = of.__dict__["__next__"]
            of.__next__ = self.wrapper(next_of, never, DATA_FETCH, repr("DataLoader"))

    def torch_compiler(self, callback):
        """torch.compile tells when it compiles, wherever it does so. Its list of whom it
        tells is the program's: what tells them is wrapped, which no reset takes back."""
        handler = callback.callback_handler
        start, end = handler.run_start_callbacks, handler.run_end_callbacks
        open_ones = []

        def began(*args, **kwargs):
            self.compiles = True
            open_ones.append(self.recorder.range_begin("torch.compile"))
            return start(*args, **kwargs)

        def ended(*args, **kwargs):
            try:
                return end(*args, **kwargs)
            finally:
                if open_ones:
                    self.recorder.range_end(open_ones.pop(), "preheat")

        handler.run_start_callbacks = wraps(began, start)
        handler.run_end_callbacks = wraps(ended, end)

    def keras(self, keras):
        try:
            self.keras_callbacks()
            self.keras_batches(keras)
        except Exception:
            self.recorder.event(NOTE, "Iterations of Keras are not seen: it is not as expected.")

    def keras_callbacks(self):
        """Steps of fit, predict and evaluate: between the callbacks of a batch."""
        for name in (
            "keras.src.callbacks.callback_list",
            "keras.src.callbacks",
            "keras.callbacks",
            "tf_keras.src.callbacks",
        ):
            module = sys.modules.get(name)
            callbacks = getattr(module, "__dict__", {}).get("CallbackList")
            if callbacks is None or callbacks in self.counts:
                continue
            self.counts[callbacks] = 0
            for which, kind, name in (
                (TRAIN_STEP, "train_batch", "fit"),
                (PREDICT_STEP, "predict_batch", "predict"),
                (TEST_STEP, "test_batch", "evaluate"),
                (EPOCH, "epoch", "fit"),
            ):
                self.keras_step(callbacks, which, kind, name)

    def keras_step(self, callbacks, which, kind, name):
        began = getattr(callbacks, "on_%s_begin" % kind)
        ended = getattr(callbacks, "on_%s_end" % kind)
        tokens = {}

        def on_begin(self_, *args, **kwargs):
            tokens[id(self_)] = self.begin(which, name)
            return began(self_, *args, **kwargs)

        def on_end(self_, *args, **kwargs):
            try:
                return ended(self_, *args, **kwargs)
            finally:
                self.end(which, tokens.pop(id(self_), 0))

        setattr(callbacks, "on_%s_begin" % kind, wraps(on_begin, began))
        setattr(callbacks, "on_%s_end" % kind, wraps(on_end, ended))

    def keras_batches(self, keras):
        """Whole predictions and evaluations, train_on_batch and its like, wherever a model
        has them from."""
        for which, name in (
            (PREDICT, "predict"),
            (EVALUATE, "evaluate"),
            (TRAIN_STEP, "train_on_batch"),
            (PREDICT_STEP, "predict_on_batch"),
            (TEST_STEP, "test_on_batch"),
        ):
            for of in keras.Model.__mro__:
                method = of.__dict__.get(name)
                if method is not None:
                    setattr(of, name, self.wrapper(method, never, which, repr(name)))
                    break

    # Calls of functions.

    def calls(self, module):
        """Functions of a library that make up an iteration."""
        for path in CALLS[module.__name__]:
            try:
                self.replace_call(module, path, None)
            except Exception:
                pass  # Another version of it may not have this one.

    def named_call(self, module, path):
        """The function that the user names."""
        name = module.__name__ + ":" + path
        try:
            self.replace_call(module, path, name)
        except Exception:
            self.recorder.event(NOTE, "%s is not a function that can be recorded." % name)

    def replace_call(self, module, path, name):
        """Replaces a function of a module, or of a class in it, by one that records its
        calls. Without a name, it is the function's, with its class if it has one."""
        owner, attribute = module, path
        while "." in attribute:
            of, attribute = attribute.split(".", 1)
            owner = getattr(owner, of)
        original = owner.__dict__[attribute]
        kind = type(original) if isinstance(original, (staticmethod, classmethod)) else None
        function = original.__func__ if kind else original
        if name is not None or owner is module:
            constant = name or attribute
            name_of = lambda args: constant  # noqa: E731
        elif attribute == "__call__":
            name_of = called_name
        else:
            name_of = lambda args: type(args[0]).__name__ + "." + attribute  # noqa: E731
        made = self.call_wrapper(function, name_of)
        setattr(owner, attribute, kind(made) if kind else made)

    def call_wrapper(self, original, name_of):
        """A function in the original's place that records its calls. A traceback shows it
        as a further line: the original's first."""
        if not callable(original):
            raise TypeError
        code = getattr(original, "__code__", None)
        is_async = bool(getattr(code, "co_flags", 0) & 0x80)
        text = CALL_WRAPPER % {
            "def": "async def" if is_async else "def",
            "await": "await " if is_async else "",
            "name": getattr(code, "co_name", "call"),
        }

        def begin(args):
            try:
                name = name_of(args)
            except Exception:
                name = getattr(original, "__name__", "call")
            return self.begin(FUNCTION_CALL, name)

        def end(token):
            self.end(FUNCTION_CALL, token)

        return wraps(self.compiled_at(original, text)["make"](original, begin, end), original)

    def call_of_main(self, path):
        """The function of the script itself that the user names: its module is not imported.
        Python can tell of the calls of a function since version 3.12."""
        monitoring = getattr(sys, "monitoring", None)
        if monitoring is None:
            self.recorder.event(
                NOTE,
                "Calls of a function of the script itself can be recorded since Python 3.12; "
                "in older versions it has to be in a module that the script imports.",
            )
            return
        tool = next((tool for tool in (3, 4) if monitoring.get_tool(tool) is None), None)
        if tool is None:
            return
        monitoring.use_tool_id(tool, "preheat")
        events = monitoring.events
        tokens = {}
        thread = __import__("_thread").get_ident
        name = "__main__:" + path

        def is_named(code):
            if code.co_qualname != path:
                return False
            main = getattr(sys.modules.get("__main__"), "__file__", None)
            return main is None or code.co_filename == main

        def started(code, offset):
            if not is_named(code):
                return monitoring.DISABLE
            tokens.setdefault(thread(), []).append(self.begin(FUNCTION_CALL, name))

        def returned(code, offset, value):
            if not is_named(code):
                return monitoring.DISABLE
            if tokens.get(thread()):
                self.end(FUNCTION_CALL, tokens[thread()].pop())

        def unwound(code, offset, exception):
            # This cannot be disabled function by function.
            if is_named(code):
                returned(code, offset, None)

        monitoring.register_callback(tool, events.PY_START, started)
        monitoring.register_callback(tool, events.PY_RETURN, returned)
        monitoring.register_callback(tool, events.PY_UNWIND, unwound)
        monitoring.set_events(tool, events.PY_START | events.PY_RETURN | events.PY_UNWIND)

    def sklearn(self, base):
        """Fits and predictions of estimators: of each class when it is made."""
        Estimator = base.BaseEstimator
        made = set()

        def see(cls):
            for name in ESTIMATOR_METHODS:
                for owner in cls.__mro__:
                    method = owner.__dict__.get(name)
                    if method is not None:
                        if (owner, name) not in made:
                            made.add((owner, name))
                            self.wrap_estimator(owner, name, method)
                        break

        original = Estimator.__dict__.get("__init_subclass__")

        def init_subclass(cls, **kwargs):
            if original is not None:
                original.__get__(None, cls)(**kwargs)
            else:
                super(Estimator, cls).__init_subclass__(**kwargs)
            try:
                see(cls)
            except Exception:
                pass  # The class would be what fails.

        Estimator.__init_subclass__ = classmethod(init_subclass)

    def wrap_estimator(self, owner, name, method):
        named = lambda args: type(args[0]).__name__ + "." + name  # noqa: E731
        if type(method) is type(once):
            setattr(owner, name, self.call_wrapper(method, named))
        elif type(getattr(method, "fn", None)) is type(once):
            # Available only for some: the function is within the descriptor.
            method.fn = self.call_wrapper(method.fn, named)

    def jax_calls(self, pjit):
        """Calls of what jax.jit compiles; not of JAX's own functions."""
        original = pjit._cpp_pjit

        def _cpp_pjit(fun, *args, **kwargs):
            made = original(fun, *args, **kwargs)
            try:
                module = getattr(fun, "__module__", None) or ""
                if module.split(".")[0] not in ("jax", "jaxlib"):
                    self.recorder.hook_compiled(made, getattr(fun, "__name__", "function"))
            except Exception:
                pass
            return made

        pjit._cpp_pjit = wraps(_cpp_pjit, original)

    def jax_compiler(self, compiler):
        """XLA compiles a module, or takes it from a cache. On a GPU it tells NVTX so; on the
        CPU nobody."""
        original = compiler.compile_or_get_cached

        def compile_or_get_cached(backend, computation, *args, **kwargs):
            try:
                name = str(computation.operation.attributes["sym_name"]).strip('"')
            except Exception:
                name = "module"
            token = self.recorder.range_begin("XlaCompile:#module=%s#" % name)
            try:
                return original(backend, computation, *args, **kwargs)
            finally:
                self.recorder.range_end(token, "preheat")

        compiler.compile_or_get_cached = wraps(compile_or_get_cached, original)

    def compiled_at(self, original, text):
        """The names that a text defines, as if it were in the original's place: a traceback
        shows the original's file and first line."""
        import ast

        code = getattr(original, "__code__", None)
        file = getattr(code, "co_filename", __file__)
        line = getattr(code, "co_firstlineno", 1)
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if hasattr(node, "lineno"):
                node.lineno, node.col_offset = line, 0
                node.end_lineno = node.end_col_offset = None
        scope = {
            "step_of": self.step_of,
            "__name__": getattr(original, "__module__", None) or __name__,
            "__builtins__": __builtins__,
        }
        exec(compile(tree, file, "exec"), scope)
        return scope

    def wrapper(self, original, is_compiling, which, name):
        """A function for the original's place, in a class, that makes its outermost call
        an iteration.

        PyTorch's compiler goes by a function's file to tell what is its own, so this has
        the original's. It takes the attribute for the function to look into (where that
        has a closure it would mistake ours for it), or else finds that it is compiling:
        in both cases it sees only the original. A traceback shows this as a further
        line: the original's first.
        """
        code = getattr(original, "__code__", None)
        text = WRAPPER % {"name": getattr(code, "co_name", "call"), "text": name}
        depth = self.depths[which]
        made = self.compiled_at(original, text)["make"](original, is_compiling, depth, self.begin, self.end, which)
        made = wraps(made, original)
        if not getattr(original, "__closure__", None):
            made._torchdynamo_inline = original
        return made


WRAPPER = """
def make(original, is_compiling, depth, begin, end, which):
    def %(name)s(self, *args, **kwargs):
        # This runs for every module within a model: the cheapest first, and the usual
        # call without packing its arguments.
        if depth.value:
            if len(args) == 1 and not kwargs:
                return original(self, args[0])
            return original(self, *args, **kwargs)
        if is_compiling():
            return original(self, *args, **kwargs)
        depth.value = 1
        token = begin(which, %(text)s)
        try:
            return original(self, *args, **kwargs)
        finally:
            depth.value = 0
            end(which, token)

    return %(name)s
"""


CALL_WRAPPER = """
def make(original, begin, end):
    %(def)s %(name)s(*args, **kwargs):
        token = begin(args)
        try:
            return %(await)soriginal(*args, **kwargs)
        finally:
            end(token)

    return %(name)s
"""


def called_name(args):
    """The name of an object that is called: its own if it has one, else its class's."""
    name = getattr(args[0], "__name__", None)
    return name if isinstance(name, str) else type(args[0]).__name__


def wraps(function, original):
    """As functools.wraps, which a Python that has just begun has not loaded."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
        try:
            setattr(function, name, getattr(original, name))
        except AttributeError:
            pass
    function.__dict__.update(getattr(original, "__dict__", {}))
    function.__wrapped__ = original
    return function


def is_compiling_of(torch):
    """How PyTorch's compiler says that it looks at code; it takes the call for True."""
    compiler = getattr(torch, "compiler", None)
    return getattr(compiler, "is_compiling", never)


def never():
    return False


import os  # noqa: E402

leave_path(os)
try:
    begin(os)
except Exception:
    pass

# The user's own, if there is one, takes this one's place; what it raises, or that there
# is none, is for Python to handle as ever.
sys.modules.pop("sitecustomize", None)
import sitecustomize  # noqa: E402
