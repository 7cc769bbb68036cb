"""Records the distinct PyTorch operations of a program, and executes each of them once more
on scratch tensors.

A learning start records with a `TorchDispatchMode`: it receives every operation after
autograd and autocast, also those of backward passes, with its exact arguments, and passes
them on unchanged. Only the description of the arguments is kept: shapes, strides, types
and small values, never the contents of a tensor.

A standby executes the recorded operations. It executes only operators of the namespace
`aten` that compute a result from their arguments. Contents are chosen so that all of them
are valid: indices are 0, masks true, probabilities one half.
"""

# The most operations of a program, variants of one operator, and bytes of one description.
MAX_OPERATIONS = 4096
MAX_VARIANTS = 256
MAX_TEXT = 4096

# The steady state has begun after this many operations without a new one, and this many
# times as many as there are distinct ones.
SETTLED, TIMES = 1000, 4

# The most bytes of the scratch tensors of one operation.
MAX_BYTES = 4 << 30

# PyTorch functions between an operation and the program's own code, at most, where the mode can leave.
# Two of them are wrappers of the mode. Then the pending calls until that code goes on: Python makes 32 of
# them at a time.
MAX_BETWEEN, MAX_TRIES = 7, 2048

# Operators that act beyond their arguments, check values that a scratch tensor does not
# have, or refer to a stream or storage of the program.
DENIED = {
    "_assert_async",
    "_assert_scalar",
    "_async_error",
    "_cudnn_rnn",
    "_cudnn_rnn_backward",
    "_debug_has_internal_overlap",
    "_fake_quantize_learnable_per_tensor_affine",
    "_functional_assert_async",
    "_print",
    "from_file",
    "miopen_rnn",
    "miopen_rnn_backward",
    "record_stream",
    "resize_",
    "resize_as_",
    "set_",
    "set_data",
    "sym_constrain_range",
}

# Types of indices.
INTEGERS = {"torch.int64", "torch.int32"}

# Values for which operators have separate kernels; others are alike.
SPECIAL = {0.0, 1.0, -1.0, 2.0, -2.0, 3.0, 0.5, -0.5}

# The settings that choose between kernels: functions of torch._C, without and with a value.
FLAGS = (
    ("_get_cublas_allow_tf32", "_set_cublas_allow_tf32"),
    ("_get_cudnn_allow_tf32", "_set_cudnn_allow_tf32"),
    ("_get_cudnn_benchmark", "_set_cudnn_benchmark"),
    ("_get_cudnn_deterministic", "_set_cudnn_deterministic"),
    ("_get_cudnn_enabled", "_set_cudnn_enabled"),
    ("_get_deterministic_algorithms", "_set_deterministic_algorithms"),
    ("_get_cublas_allow_fp16_reduced_precision_reduction",
     "_set_cublas_allow_fp16_reduced_precision_reduction"),
    ("_get_cublas_allow_bf16_reduced_precision_reduction",
     "_set_cublas_allow_bf16_reduced_precision_reduction"),
)


class Unknown(Exception):
    """An argument that cannot be described."""


def getters(torch):
    """The functions that read the settings, as far as this version has them."""
    found = [getattr(torch._C, get, None) for get, _ in FLAGS]
    return [get for get in found if get]


def read_flags(reading):
    """The settings as numbers; one that cannot be read is -1."""
    values = []
    for get in reading:
        try:
            value = get()
            # Newer versions return pairs.
            values.append(int(value[0]) if isinstance(value, tuple) else int(value))
        except Exception:
            values.append(-1)
    return tuple(values)


def write_flags(torch, values):
    """Sets what differs."""
    now = read_flags(getters(torch))
    names = [pair for pair in FLAGS if hasattr(torch._C, pair[0])]
    for (_, name), value, is_now in zip(names, values, now):
        if value != is_now and value >= 0:
            try:
                getattr(torch._C, name)(bool(value))
            except Exception:
                pass


class Recorder:
    """Collects descriptions of operations on the given type of device."""

    def __init__(self, torch, device_type, settled):
        """`settled` is called once, when the steady state has begun."""
        self.torch, self.device_type, self.settled = torch, device_type, settled
        self.known, self.variants, self.operations = set(), {}, []
        self.in_fork = lambda args: None
        self.since, self.is_active, self.runs_backward = 0, True, False
        self.plain = (torch.Tensor, torch.nn.Parameter)
        self.reading = getters(torch)

    def see(self, operator, args, kwargs, is_main):
        """Called before each operation."""
        found = self.found = [False]
        try:
            key = (
                operator,
                tuple([self.key(each) for each in args]),
                tuple([(name, self.key(kwargs[name])) for name in sorted(kwargs)]),
            )
        except Unknown:
            return
        if not found[0]:
            return  # Not on the device.
        if not is_main:
            self.runs_backward = True
        key += (read_flags(self.reading),)
        if key in self.known:
            self.since += 1
            if self.since >= max(SETTLED, TIMES * len(self.known)):
                self.stop()
            return
        self.since = 0
        count = self.variants.get(operator, 0)
        if len(self.operations) >= MAX_OPERATIONS:
            self.stop()
        elif count < MAX_VARIANTS:
            self.known.add(key)
            self.variants[operator] = count + 1
            named = {name: args_of(self, value) for name, value in kwargs.items()}
            self.operations.append((operator, args_of(self, args), named, key[3]))

    def stop(self):
        if self.is_active:
            self.is_active = False
            self.settled()

    def key(self, value):
        """Equal for arguments that are alike."""
        torch = self.torch
        if isinstance(value, torch.Tensor):
            if type(value) not in self.plain or value.layout is not torch.strided:
                raise Unknown
            device = value.device
            if device.type == self.device_type:
                self.found[0] = True
            return (value.shape, value.stride(), value.dtype, device.type, device.index)
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, float):
            return value if value in SPECIAL else "float"
        if isinstance(value, int):
            return value
        if isinstance(value, (list, tuple)):
            return tuple([self.key(each) for each in value])
        if isinstance(value, torch.device):
            if value.type == self.device_type:
                self.found[0] = True
            return value
        if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
            return value
        if isinstance(value, torch.Generator):
            return ("generator", value.device)
        raise Unknown

    def lines(self):
        """Each operation as a line of JSON; those that are too long are left out."""
        import json

        for operator, args, kwargs, flags in self.operations:
            name = operator._schema.name
            text = json.dumps([name, operator._overloadname, args, kwargs, flags])
            if len(text) <= MAX_TEXT and is_permitted(name):
                yield text


def args_of(recorder, value):
    """The description of arguments that is stored."""
    torch = recorder.torch
    if isinstance(value, torch.Tensor):
        shape, stride = list(value.shape), list(value.stride())
        return {"tensor": [shape, stride, str(value.dtype), str(value.device)]}
    if isinstance(value, (list, tuple)):
        return [args_of(recorder, each) for each in value]
    if isinstance(value, float):
        # JSON has no infinity.
        return {"float": repr(value)}
    for kind in ("device", "dtype", "layout", "memory_format"):
        if isinstance(value, getattr(torch, kind)):
            return {kind: str(value)}
    if isinstance(value, torch.Generator):
        return {"generator": str(value.device)}
    return value


def is_permitted(name):
    namespace, _, operator = name.partition("::")
    return namespace == "aten" and operator not in DENIED


def mode(torch, recorder, os, sys, thread, ctypes):
    """Returns the dispatch mode that records; the caller enters it. It leaves the PyTorch stack of
    modes when the recording has ended, since it slows down every operation."""
    from torch.utils import _python_dispatch as dispatch

    process, main = os.getpid(), thread.get_ident()
    # PyTorch 1 handles its stack of modes in Python, where a pending call would interrupt it.
    can_leave = not hasattr(torch._C, "_set_torch_dispatch_mode")
    package = os.path.dirname(torch.__file__) + os.sep

    class Operations(dispatch.TorchDispatchMode):
        # Operations at which the mode could leave since the recording ended, the calls of `leave`
        # that remain after one of them, and whether one is pending.
        ended = tries = 0
        is_pending = False

        # A learning start may compile: those functions are to be compiled as ever.
        @classmethod
        def ignore_compile_internals(cls):
            return True

        def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            is_main = thread.get_ident() == main
            if recorder.is_active:
                try:
                    if os.getpid() != process:
                        recorder.in_fork(args)
                    else:
                        recorder.see(operator, args, kwargs, is_main)
                except Exception:
                    recorder.is_active = False
            if is_main and not recorder.is_active:
                self.leave_soon()
            return operator(*args, **kwargs)

        def leave_soon(self):
            """PyTorch puts a mode back on its stack after each operation, so a mode cannot leave
            during one. Python makes a pending call between two instructions of the main thread;
            the first ones come before the operation has ended."""
            if can_leave and is_own_code_near(sys._getframe(2), package):
                self.ended += 1
                # Another mode may stay above this one for long: at each power of two.
                if self.ended & (self.ended - 1) == 0:
                    self.tries = MAX_TRIES
                    if not self.is_pending:
                        self.call_leave()

        def call_leave(self):
            self.is_pending = ctypes.pythonapi.Py_AddPendingCall(self.call, None) == 0

        def leave(self, _):
            self.is_pending = False
            try:
                is_on_top = dispatch._get_current_dispatch_mode() is self
                if is_on_top and is_own_code(sys._getframe(1), package):
                    self.__exit__(None, None, None)
                elif self.tries > 0:
                    self.tries -= 1
                    self.call_leave()
            except Exception:
                pass
            return 0

    operations = Operations()
    operations.call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(operations.leave)
    # Never freed: a call may still be pending when PyTorch no longer refers to the mode.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(operations.call))
    return operations


def is_own_code(frame, package):
    """Returns True in a function of the program that no mode has called. A mode is not on the PyTorch
    stack of modes while it is called, nor during some functions of PyTorch."""
    if frame.f_code.co_filename.startswith(package):
        return False
    while frame is not None:
        if frame.f_code.co_name == "__torch_dispatch__":
            return False
        frame = frame.f_back
    return True


def is_own_code_near(frame, package):
    """Returns True if the operation is called by the program's own code, or almost."""
    for _ in range(MAX_BETWEEN):
        if frame is None or not frame.f_code.co_filename.startswith(package):
            break
        frame = frame.f_back
    return frame is not None and is_own_code(frame, package)


class Rehearsal:
    """Executes recorded operations."""

    def __init__(self, torch, free):
        """`free` returns how many bytes of the device are free."""
        self.torch, self.free = torch, free
        self.done, self.failed, self.skipped = 0, [], 0

    def run(self, lines, denied=()):
        """Executes each operation once. An error of the device, after which nothing works
        any more, is raised as `Broken`."""
        import json

        torch = self.torch
        before = read_flags(getters(torch))
        try:
            with torch.no_grad():
                for line in lines:
                    name, overload, args, kwargs, flags = json.loads(line)
                    if not is_permitted(name) or name in denied:
                        self.skipped += 1
                        continue
                    write_flags(torch, flags)
                    self.execute(name, overload, args, kwargs)
        finally:
            write_flags(torch, before)

    def execute(self, name, overload, args, kwargs):
        torch = self.torch
        try:
            packet = getattr(torch.ops.aten, name.partition("::")[2])
            operator = getattr(packet, overload or "default")
        except AttributeError:
            self.skipped += 1  # Another version of PyTorch.
            return
        try:
            limit = min(MAX_BYTES, self.free() // 4)
            if not is_suitable([args, list(kwargs.values())], limit):
                self.skipped += 1
                return
            named = {key: self.make(value) for key, value in kwargs.items()}
            result = operator(*self.make(args), **named)
            del result
            self.done += 1
        except Exception as error:
            if is_broken(error):
                raise Broken(name, error)
            self.failed.append((name, str(error)))
        try:
            self.synchronize()
        except Exception as error:
            raise Broken(name, error)

    def synchronize(self):
        if self.torch.cuda.is_initialized():
            self.torch.cuda.synchronize()

    def make(self, value):
        torch = self.torch
        if isinstance(value, list):
            return [self.make(each) for each in value]
        if not isinstance(value, dict):
            return value
        ((kind, what),) = value.items()
        if kind == "tensor":
            return self.tensor(*what)
        if kind == "float":
            return float(what)
        if kind == "device":
            return torch.device(what)
        if kind == "generator":
            return generator(torch, what)
        return getattr(torch, what.rpartition(".")[2])

    def tensor(self, shape, stride, dtype, device):
        torch = self.torch
        dtype = getattr(torch, dtype.rpartition(".")[2])
        if dtype.is_floating_point or dtype.is_complex:
            value = 0.5
        else:
            value = dtype == torch.bool
        whole = torch.empty(length(shape, stride), dtype=dtype, device=device)
        if dtype.itemsize >= 2 if hasattr(dtype, "itemsize") else True:
            whole.fill_(value)
        else:
            whole.view(torch.uint8).fill_(int(bool(value)))
        return whole.as_strided(shape, stride)


class Broken(Exception):
    """The device has failed; with the operator."""


def is_broken(error):
    text = str(error)
    kind = type(error).__name__
    if kind == "OutOfMemoryError" or "out of memory" in text:
        return False
    return kind == "AcceleratorError" or "CUDA error" in text


def generator(torch, device):
    device = torch.device(device)
    if device.type == "cpu":
        return torch.default_generator
    return torch.cuda.default_generators[device.index or 0]


def length(shape, stride):
    """Elements of the storage of a tensor."""
    if 0 in shape:
        return 0
    return 1 + sum((count - 1) * step for count, step in zip(shape, stride))


def is_suitable(arguments, limit):
    """Returns whether the tensors together are small enough, and no index tensor could point into
    an empty one, which would be out of range."""
    tensors = []

    def visit(value):
        if isinstance(value, dict) and "tensor" in value:
            tensors.append(value["tensor"])
        elif isinstance(value, list):
            for each in value:
                visit(each)

    visit(arguments)
    lengths = [length(shape, stride) for shape, stride, *_ in tensors]
    has_indices = any(dtype in INTEGERS for _, _, dtype, _ in tensors)
    # At most sixteen bytes each: a complex number of two doubles.
    return sum(lengths) * 16 <= limit and not (0 in lengths and has_indices)


def shield(torch):
    """The state that a rehearsal changes; calling the result restores it."""
    cpu = torch.get_rng_state()
    devices = []
    if torch.cuda.is_initialized():
        devices = [
            (each, each.get_state()) for each in getattr(torch.cuda, "default_generators", ())
        ]

    def restore():
        torch.set_rng_state(cpu)
        for each, state in devices:
            each.set_state(state)

    return restore


def call_in_backward(torch, device, function):
    """Calls a function in the thread in which backward passes on a device run. Each thread has its
    own handles of cuDNN and cuBLAS, and its own plans of convolutions."""

    class Calls(torch.autograd.Function):
        @staticmethod
        def forward(context, value):
            return value.clone()

        @staticmethod
        def backward(context, gradient):
            function()
            return gradient

    with torch.enable_grad():
        value = torch.ones(1, device=device, requires_grad=True)
        Calls.apply(value).sum().backward()


def clean(torch):
    """Gives all memory back, and sets the statistics to what a fresh process has."""
    for name in ("_cuda_clearCublasWorkspaces", "_host_emptyCache", "_accelerator_emptyHostCache"):
        function = getattr(torch._C, name, None)
        if function:
            try:
                function()
            except Exception:
                pass
    torch.cuda.empty_cache()
    for device in range(torch.cuda.device_count()):
        torch.cuda.reset_peak_memory_stats(device)
        torch.cuda.reset_accumulated_memory_stats(device)
