"""Loaded by Python at startup, before the program: reports imports and framework
iterations to the recorder, then loads the user's own sitecustomize.

The program must not notice it: it raises nothing, prints nothing, and leaves sys.path and
sys.modules in the same state as without it. Its syntax must be valid in every version of
Python, including those in which it does nothing.
"""

import sys

# Numbers from the layout of recordings.
PYTHON_BEGAN, PYTHON_READY, NOTE, MARK = 2, 3, 10, 11
OPTIMIZER_STEP, MODEL_CALL, TRAIN_STEP, PREDICT_STEP, TEST_STEP, DATA_FETCH = 1, 2, 3, 4, 5, 6
PREDICT, EVALUATE, EPOCH, FUNCTION_CALL, NAMED, BACKWARD = 7, 8, 9, 10, 12, 13


def begin(os):
    """Loads the recorder and installs the hooks."""
    if sys.version_info < (3, 8) or sys.implementation.name != "cpython":
        return
    if object.__basicsize__ != 2 * tuple.__itemsize__:
        return  # Free-threaded and tracing builds have another object layout.
    shim = os.environ.get("PREHEAT_SHIM")
    if not shim or not os.environ.get("PREHEAT_DIRECTORY"):
        return
    recorder = load(shim)
    # This process may be a fork of one that did not record.
    settings = ("DIRECTORY", "LIMIT", "ITERATIONS")
    recorder.begin(*(os.environ.get("PREHEAT_" + name, "") for name in settings))
    recorder.event(PYTHON_BEGAN, "")
    options = os.environ.get("PREHEAT_OPTIONS", "").split(",")
    watched = {}
    synchronize = "synchronize" in options
    recorder.clock_settings(os.path.dirname(os.__file__), synchronize)
    watched["time"] = once(watched, "time", lambda time: hook_clocks(recorder, time))
    watched["datetime"] = once(watched, "datetime", lambda module: hook_moments(recorder, module))
    frameworks = Frameworks(recorder, synchronize)
    watched["jax._src.compiler"] = once(watched, "jax._src.compiler", frameworks.jax_compiler)
    watched["numba.core.dispatcher"] = once(watched, "numba.core.dispatcher", frameworks.numba_compiler)
    watched["preheat._marks"] = once(watched, "preheat._marks", frameworks.marks)
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
            ("torch.amp.grad_scaler", frameworks.torch_scaler),
            ("torch.cuda.amp.grad_scaler", frameworks.torch_scaler),
            ("keras", frameworks.keras),
            ("tf_keras", frameworks.keras),
            ("sklearn.base", frameworks.sklearn),
            ("jax._src.pjit", frameworks.jax_calls),
        ):
            watched[name] = once(watched, name, patch)
        for name in CALLS:
            watched[name] = once(watched, name, frameworks.calls)
    for name in list(watched):
        # In a fork it may be loaded already.
        if name in sys.modules:
            watched[name](sys.modules[name])
    import _frozen_importlib as bootstrap

    # Python calls this by its name for every import that is not loaded yet.
    bootstrap._find_and_load = recorder.watch_imports(bootstrap._find_and_load, watched)
    hook_compile(recorder)
    recorder.event(PYTHON_READY, sys.version)


def hook_compile(recorder):
    """Records source that the import system compiles. importlib looks up `compile` by
    name, and a global of its module takes precedence over the built-in function."""
    import _frozen_importlib_external as external

    ours = recorder.watch_compile(compile)
    kept = vars(external).get("compile")
    if kept is None:
        external.compile = ours
    else:
        # `preheat start` keeps bytecode, so only missing bytecode is compiled.
        kept.__globals__["compile"] = ours


def once(watched, name, patch):
    """Patches a module once its import is complete. Its submodules request it as well,
    before and after that."""

    def then(module):
        if not getattr(getattr(module, "__spec__", None), "_initializing", False):
            if watched.pop(name, None):
                try:
                    patch(module)
                except Exception:
                    pass  # Otherwise the import would fail.

    return then


def leave_path(os):
    """Removes the directory of this file from sys.path. It stays in the environment, so
    that child processes are recorded."""
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
    """Loads the recorder as a module that is not in sys.modules."""
    import _imp
    from _frozen_importlib import ModuleSpec
    from _frozen_importlib_external import ExtensionFileLoader

    spec = ModuleSpec("_preheat", ExtensionFileLoader("_preheat", shim), origin=shim)
    module = _imp.create_dynamic(spec)
    sys.modules.pop("_preheat", None)
    return module


# The functions of the module `time` with which programs time themselves, in the order of
# the recorder.
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
    """Records clock readings by the program's own code."""
    for number, name in enumerate(CLOCKS):
        function = time.__dict__.get(name)
        if function is not None:
            recorder.hook_clock(function, number)


def hook_moments(recorder, module):
    """As hook_clocks, for the class methods of datetime."""
    for number, name in enumerate(("utcnow", "now"), len(CLOCKS)):
        recorder.hook_clock(getattr(module.datetime, name, None), number)


# Library functions whose calls are iterations, by module.
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

# Methods of scikit-learn estimators whose calls are iterations.
ESTIMATOR_METHODS = (
    "fit",
    "partial_fit",
    "fit_predict",
    "fit_transform",
    "predict",
    "predict_proba",
    "transform",
)

# After ENOUGH_STEPS of every optimizer, or MAX_STEPS of any since the last one was created,
# the steps count as the iterations.
ENOUGH_STEPS = 8
MAX_STEPS = 64


class Frameworks(object):
    """Hooks frameworks once they are imported, to mark their iterations."""

    def __init__(self, recorder, synchronize):
        import _thread
        from _weakref import ref

        class Depth(_thread._local):
            value = 0

        self.recorder = recorder
        self.synchronize = synchronize
        # One per kind of iteration: a step that calls the step of another class is one step.
        self.depths = [Depth() for _ in range(BACKWARD + 1)]
        self.counts = {}
        self.modules = None
        # The class of tensors, the hook of its backward calls, and the original.
        self.tensors = None
        self.compiles = False
        self.reference = ref
        self.names = {}
        self.numbers = {}
        # The numbers of models in use, by class.
        self.used = {}
        # The steps until module calls are unhooked, by optimizer.
        self.young = {}
        self.steps = 0
        # The hook of module calls while it is not installed.
        self.left = None

    # Called by the patches.

    def name_of(self, optimizer):
        """The class of an optimizer, with a number if there are several."""
        of = type(optimizer).__name__
        try:
            address = id(optimizer)
            reference, name = self.names.get(address, (None, of))
            # A deleted one may have had this address.
            if reference is None or reference() is not optimizer:
                number = self.numbers[of] = self.numbers.get(of, 0) + 1
                name = of if number == 1 else "%s #%d" % (of, number)
                gone = lambda _, names=self.names: names.pop(address, None)  # noqa: E731
                self.names[address] = self.reference(optimizer, gone), name
            return name
        except Exception:
            return of

    def model_name(self, model):
        """The class of a model, with a number if others of its class are in use. A model
        that replaces a deleted one has the same name."""
        of = type(model).__name__
        try:
            address = id(model)
            reference, name = self.names.get(address, (None, of))
            if reference is None or reference() is not model:
                used = self.used.setdefault(of, set())
                number = 1
                while number in used:
                    number += 1

                def gone(_, names=self.names):
                    names.pop(address, None)
                    used.discard(number)

                name = of if number == 1 else "%s #%d" % (of, number)
                self.names[address] = self.reference(model, gone), name
                used.add(number)
            return name
        except Exception:
            return of

    def begin(self, which, name):
        return self.recorder.iteration_begin(which, name)

    def end(self, which, token):
        if self.synchronize and which != DATA_FETCH:
            # Fetching a batch does not wait for the device.
            self.recorder.synchronize()
        if which == OPTIMIZER_STEP and self.tensors:
            self.leave_tensors()
        self.recorder.iteration_end(token)
        count = self.counts.get(which, 0)
        self.counts[which] = count + 1
        # Often at first, while memory use still changes, then less and less often.
        if count < 4 or count & (count - 1) == 0:
            self.sample_allocator()
        if which == OPTIMIZER_STEP and self.modules:
            self.steps += 1
            if not self.young or self.steps >= MAX_STEPS:
                self.young.clear()
                self.leave_modules()

    def made(self, optimizer):
        """Hooks module calls again for a new optimizer."""
        # Its model may be called before it steps.
        self.recorder.expect_steps()
        address = id(optimizer)
        gone = lambda _, young=self.young: young.pop(address, None)  # noqa: E731
        self.young[address] = [ENOUGH_STEPS, self.reference(optimizer, gone)]
        self.steps = 0
        if self.left and not self.compiles:
            self.return_to_modules()

    def step_of(self, optimizer):
        """Counts a step of an optimizer and returns its name."""
        young = self.young.get(id(optimizer))
        if young is not None:
            young[0] -= 1
            if young[0] <= 0:
                self.young.pop(id(optimizer), None)
        return self.name_of(optimizer)

    def sample_allocator(self):
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

    # The patches. On errors, a framework stays unchanged.

    def torch(self, torch):
        try:
            self.torch_modules(torch)
            self.torch_optimizers(torch)
            self.torch_tensors(torch)
        except Exception:
            self.recorder.event(NOTE, "Iterations of PyTorch are not recorded: unsupported version.")

    def torch_modules(self, torch):
        """Wraps module calls; the outermost one on a thread is an iteration. The wrapper
        is a callable in C, since a model calls hundreds of modules, until the PyTorch
        compiler is loaded, which can only inspect Python functions."""
        Module = torch.nn.Module
        original = Module.__call__
        depth = self.depths[MODEL_CALL]

        def began(module):
            return self.begin(MODEL_CALL, self.model_name(module))

        def ended(token):
            # The hook may have become a Python function meanwhile.
            depth.value = 0
            self.end(MODEL_CALL, token)

        made = None
        if "torch._dynamo.utils" not in sys.modules:
            made = self.recorder.around(original, began, ended)
        if made is None:
            made = self.modules_function(torch, original)
        else:
            # PyTorch has imported copyreg. Copies and pickles refer to the current call.
            copyreg = sys.modules["copyreg"]
            copyreg.pickle(type(made), lambda _: (getattr, (Module, "__call__")))
        Module.__call__ = made
        self.modules = (Module, made, original)

    def modules_function(self, torch, original):
        return self.wrapper(original, is_compiling_of(torch), MODEL_CALL, "model_name(self)")

    def torch_compiler_near(self, utils):
        """Replaces the hook with a Python function when the PyTorch compiler is imported:
        the compiler can inspect it, and regards it as the unpatched call."""
        self.torch_compiler_phases(utils)
        Module, made, original = self.modules or (None, None, None)
        ours = Module is not None and Module.__dict__.get("__call__") is made
        if not ours or type(made) is type(once):
            return
        function = self.modules_function(sys.modules["torch"], original)
        if self.recorder.within():
            # The call that imports it stays the outermost.
            self.depths[MODEL_CALL].value = 1
        Module.__call__ = function
        if getattr(utils, "__dict__", {}).get("unpatched_nn_module_call") is made:
            utils.unpatched_nn_module_call = function
        self.modules = (Module, function, original)

    def torch_compiler_phases(self, utils):
        """torch.compile times its parts and logs them as events: each becomes a range."""
        logger = getattr(utils, "ChromiumEventLogger", None)
        start, end = (getattr(logger, "log_event_" + name, None) for name in ("start", "end"))
        if start is None or end is None:
            return
        import _thread

        open_ones = {}

        def log_event_start(self_, event_name, *args, **kwargs):
            mark = self.recorder.range_begin("torch.compile:" + str(event_name))
            open_ones.setdefault(_thread.get_ident(), []).append((event_name, mark))
            return start(self_, event_name, *args, **kwargs)

        def log_event_end(self_, event_name, *args, **kwargs):
            try:
                return end(self_, event_name, *args, **kwargs)
            finally:
                own = open_ones.get(_thread.get_ident())
                # An event may have ended in another thread: what is open above it goes too.
                while own and any(name == event_name for name, _ in own):
                    name, mark = own.pop()
                    self.recorder.range_end(mark, "preheat")
                    if name == event_name:
                        break

        logger.log_event_start = wraps(log_event_start, start)
        logger.log_event_end = wraps(log_event_end, end)

    def leave_modules(self):
        """Unhooks module calls: the steps of the optimizers are the iterations from now
        on. Not if something was compiled, which may depend on the hook."""
        Module, made, original = self.modules or (None, None, None)
        if Module is None or self.compiles or Module.__dict__.get("__call__") is not made:
            return
        self.left, self.modules = self.modules, None
        Module.__call__ = original
        self.update_compiler(made, original)

    def return_to_modules(self):
        """Hooks module calls again."""
        Module, made, original = self.left
        if Module.__dict__.get("__call__") is not original:
            return
        if type(made) is not type(once) and "torch._dynamo.utils" in sys.modules:
            # The compiler was imported meanwhile.
            made = self.modules_function(sys.modules["torch"], original)
        self.left, self.modules = None, (Module, made, original)
        Module.__call__ = made
        self.update_compiler(original, made)

    def update_compiler(self, old, new):
        """Updates the function that the compiler regards as the unpatched call."""
        for name in ("torch._dynamo.utils", "torch._dynamo.variables.nn_module"):
            module = sys.modules.get(name)
            if getattr(module, "__dict__", {}).get("unpatched_nn_module_call") is old:
                module.unpatched_nn_module_call = new

    def torch_optimizers(self, torch):
        """Wraps the step of each class of optimizers, after PyTorch has wrapped it, which
        happens when the first object of a class is created."""
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

    def torch_tensors(self, torch):
        """Wraps the backward calls of tensors, which are the iterations of a program without
        modules and optimizers, until the first step of an optimizer."""
        Tensor = torch.Tensor
        original = Tensor.backward
        made = self.wrapper(original, is_compiling_of(torch), BACKWARD, repr("backward"))
        Tensor.backward = made
        self.tensors = (Tensor, made, original)

    def leave_tensors(self):
        """Unhooks backward calls: the steps of the optimizers are the iterations."""
        Tensor, made, original = self.tensors
        self.tensors = None
        if Tensor.__dict__.get("backward") is made:
            Tensor.backward = original

    def torch_scaler(self, module):
        """A gradient scaler leaves out the step of its optimizer if a gradient is infinite,
        which is usual at first. The iteration ends there all the same."""
        step = vars(module.GradScaler).get("step")
        if step is None:
            return  # It is inherited from a class that is hooked.
        depth = self.depths[OPTIMIZER_STEP]

        def scaled(self_, optimizer, *args, **kwargs):
            count = self.counts.get(OPTIMIZER_STEP, 0)
            result = step(self_, optimizer, *args, **kwargs)
            try:
                if count == self.counts.get(OPTIMIZER_STEP, 0) and not depth.value:
                    name = self.step_of(optimizer)
                    self.end(OPTIMIZER_STEP, self.begin(OPTIMIZER_STEP, name))
            except Exception:
                pass
            return result

        module.GradScaler.step = wraps(scaled, step)

    def torch_events(self, cuda):
        """Records CUDA events with which the program times itself."""
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
        """Records the batches of data loaders, which begin an iteration, and the creation
        of their iterators, which starts the workers."""
        loader = getattr(dataloader, "DataLoader", None)
        if loader is not None and "__iter__" in loader.__dict__:
            iter_of = loader.__dict__["__iter__"]
            loader.__iter__ = self.wrapper(iter_of, never, DATA_FETCH, repr("iter"))
        of = getattr(dataloader, "_BaseDataLoaderIter", None)
        if of is not None and "__next__" in of.__dict__:
            next_of = of.__dict__["__next__"]
            of.__next__ = self.wrapper(next_of, never, DATA_FETCH, repr("DataLoader"))

    def torch_compiler(self, callback):
        """Records compilations through the callbacks of torch.compile. The list of
        callbacks belongs to the program, and a reset clears it, so the functions that
        run the callbacks are wrapped instead."""
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
            self.recorder.event(NOTE, "Iterations of Keras are not recorded: unsupported version.")

    def keras_callbacks(self):
        """Records steps of fit, predict and evaluate, between the callbacks of a batch."""
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
        """Records whole predictions and evaluations, train_on_batch and similar methods, in
        whichever base class they are."""
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

    # Function calls.

    def calls(self, module):
        """Hooks the library functions whose calls are iterations."""
        for path in CALLS[module.__name__]:
            try:
                self.replace_call(module, path, None)
            except Exception:
                pass  # Another version may not have this function.

    def named_call(self, module, path):
        """Hooks the function that the user specified."""
        name = module.__name__ + ":" + path
        try:
            self.replace_call(module, path, name)
        except Exception:
            self.recorder.event(NOTE, "%s is not a function that can be recorded." % name)

    def replace_call(self, module, path, name):
        """Replaces a function of a module, or of a class in it, with one that records its
        calls. The default name is that of the function, after its class if it has one."""
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
        """A replacement for a function that records its calls. A traceback shows it as an
        additional entry with the first line of the original."""
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
        """Records calls of a function of the script itself, whose module is not imported.
        This uses sys.monitoring, which exists since Python 3.12."""
        monitoring = getattr(sys, "monitoring", None)
        if monitoring is None:
            self.recorder.event(
                NOTE,
                "Recording calls of a function of the script itself needs Python 3.12; in older "
                "versions, move the function to a module that the script imports.",
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
            # This event cannot be disabled per function.
            if is_named(code):
                returned(code, offset, None)

        monitoring.register_callback(tool, events.PY_START, started)
        monitoring.register_callback(tool, events.PY_RETURN, returned)
        monitoring.register_callback(tool, events.PY_UNWIND, unwound)
        monitoring.set_events(tool, events.PY_START | events.PY_RETURN | events.PY_UNWIND)

    def sklearn(self, base):
        """Hooks the methods of each class of estimators when it is created."""
        Estimator = base.BaseEstimator
        made = set()

        def hook(cls):
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
                hook(cls)
            except Exception:
                pass  # Otherwise the creation of the class would fail.

        Estimator.__init_subclass__ = classmethod(init_subclass)

    def wrap_estimator(self, owner, name, method):
        named = lambda args: type(args[0]).__name__ + "." + name  # noqa: E731
        if type(method) is type(once):
            setattr(owner, name, self.call_wrapper(method, named))
        elif type(getattr(method, "fn", None)) is type(once):
            # Conditionally available methods: the function is inside the descriptor.
            method.fn = self.call_wrapper(method.fn, named)

    def jax_calls(self, pjit):
        """Records calls of functions that jax.jit compiles, except for those of JAX itself."""
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
        """Records when XLA compiles a module or loads it from a cache. On a GPU it reports
        this through NVTX, on the CPU not at all."""
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

    def numba_compiler(self, dispatcher):
        """Records when Numba compiles a function, not when it loads one from its cache."""
        compiler = dispatcher._FunctionCompiler
        original = compiler._compile_core

        def _compile_core(compiling, *args, **kwargs):
            name = getattr(getattr(compiling, "py_func", None), "__name__", "function")
            token = self.recorder.range_begin("NumbaCompile:#module=%s#" % name)
            try:
                return original(compiling, *args, **kwargs)
            finally:
                self.recorder.range_end(token, "preheat")

        compiler._compile_core = wraps(_compile_core, original)

    def marks(self, module):
        """Connects the preheat package, with which a program names its iterations and marks.
        Other tokens are rejected, because the recorder uses a token as an address.

        An iteration within one of the same name is part of it. The context distinguishes this
        from concurrent tasks of the same thread, which do not contain each other.
        """
        from _contextvars import ContextVar

        tokens = set()
        # The name and token of each iteration around the current code.
        around = ContextVar("preheat.iteration", default=())

        def begin(name):
            enclosing = [each for each in around.get() if each[1] in tokens]
            if any(each[0] == name for each in enclosing):
                return 0
            token = self.begin(NAMED, name)
            tokens.add(token)
            around.set(tuple(enclosing) + ((name, token),))
            return token

        def end(token):
            if token in tokens:
                tokens.discard(token)
                self.end(NAMED, token)

        module.attach(begin, end, lambda name: self.recorder.event(MARK, name))

    def compiled_at(self, original, text):
        """Compiles a text as if it were at the original's position, so that a traceback shows
        the original's file and first line. Returns the names it defines."""
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
            "model_name": self.model_name,
            "__name__": getattr(original, "__module__", None) or __name__,
            "__builtins__": __builtins__,
        }
        exec(compile(tree, file, "exec"), scope)
        return scope

    def wrapper(self, original, is_compiling, which, name):
        """A replacement for a method whose outermost call is an iteration.

        The PyTorch compiler recognizes its own functions by their file, so the wrapper has
        the file of the original. The compiler inspects the function in the attribute
        `_torchdynamo_inline` instead of the wrapper (for an original with a closure it
        would confuse the two, so it is not set), or else `is_compiling` is true: in both
        cases it only sees the original. A traceback shows the wrapper as an additional
        entry with the first line of the original.
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
        # This runs for every module inside a model: the cheapest check comes first, and
        # the usual call does not pack its arguments.
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
    """The name of a called object, or of its class if it has none."""
    name = getattr(args[0], "__name__", None)
    return name if isinstance(name, str) else type(args[0]).__name__


def wraps(function, original):
    """Like functools.wraps, which Python has not loaded at this point."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
        try:
            setattr(function, name, getattr(original, name))
        except AttributeError:
            pass
    function.__dict__.update(getattr(original, "__dict__", {}))
    function.__wrapped__ = original
    return function


def is_compiling_of(torch):
    """The function that is true while PyTorch compiles; the compiler treats it as a constant."""
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

# The user's own module, if any, replaces this one. Python handles its exceptions, or its
# absence, as usual.
sys.modules.pop("sitecustomize", None)
import sitecustomize  # noqa: E402
