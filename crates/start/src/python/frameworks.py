"""JAX and CuPy: what a learning start records about them, and how a standby prepares them.

For JAX, the standby initializes the backend and reads ahead the executables that the program reads
from the JAX compilation cache. A key of that cache names everything that an executable depends on,
so an executable that was read ahead is the one that the program would read. For CuPy, it creates the
context, and handles of the libraries that the program had loaded when it ended.
"""

import sys

# Parts of the names of options that backends may depend on.
OF_BACKENDS = ("platform", "device", "client", "backend", "collective", "memory", "cuda", "gpu")

CUDA = "cuda"
# The most executables that are read ahead.
MAX_EXECUTABLES = 512
# JAX reserves most of the GPU memory when its backend comes up, unless one of these is set.
PREALLOCATES = "XLA_PYTHON_CLIENT_PREALLOCATE"
ALLOCATOR = "XLA_PYTHON_CLIENT_ALLOCATOR"
HANDLES = ("cublas", "cusolver", "cusparse")


class JaxUse:
    """In a learning start: the executables that the program asks the cache for."""

    def __init__(self, at_exit):
        """`at_exit` registers a function."""
        self.executables, self.is_hooked = {}, False
        self.at_exit, self.found = at_exit, None

    def see_imports(self):
        """Called after imports."""
        cache = sys.modules.get("jax._src.compilation_cache")
        real = getattr(cache, "get_executable_and_time", None)
        if self.is_hooked or real is None:
            return
        self.is_hooked = True
        # JAX has registered a function that removes its backends; this one is called before.
        self.at_exit(self.end)

        def get_executable_and_time(cache_key, compile_options, *rest):
            self.see(cache_key, compile_options, rest)
            return real(cache_key, compile_options, *rest)

        cache.get_executable_and_time = get_executable_and_time

    def see(self, key, options, rest):
        try:
            devices = [device.id for device in rest[1]]
            options = options.SerializeAsString().hex()
            self.executables[key] = [rest[0].platform, options, devices]
        except Exception:
            pass  # Another version of JAX.

    def end(self):
        self.found = self.record()

    def record(self):
        """A dictionary for the file; none if JAX has had no backend."""
        if self.found:
            return self.found
        bridge = sys.modules.get("jax._src.xla_bridge")
        if not getattr(bridge, "_backends", None):
            return None
        distributed = sys.modules.get("jax._src.distributed")
        state = getattr(distributed, "global_state", None)
        return {
            "backends": sorted(bridge._backends),
            "options": options(),
            "distributed": getattr(state, "client", None) is not None,
            "executables": list(self.executables.items())[:MAX_EXECUTABLES],
        }


def options():
    """The options of JAX that its backends may depend on."""
    config = getattr(sys.modules.get("jax"), "config", None)
    values = getattr(config, "values", None) or {}
    return {
        name: str(value)
        for name, value in values.items()
        if any(part in name for part in OF_BACKENDS)
    }


def why_no_jax(learned, environment):
    """The reason why the JAX backend cannot be brought up ahead; None if it can."""
    if learned["distributed"]:
        return "the program uses jax.distributed"
    now = options()
    for name, value in learned.get("options", {}).items():
        if now.get(name) != value:
            return "the program changes the JAX option %s" % name
    if not now or "options" not in learned:
        return "the JAX options are unknown"
    off = environment.get(PREALLOCATES, "").lower() in ("false", "f", "0")
    if not off and environment.get(ALLOCATOR, "").lower() != "platform":
        return (
            "JAX would preallocate most of the GPU's memory; %s=false turns that off"
            % PREALLOCATES
        )
    return None


def bring_up_jax(jax, learned, platform=CUDA):
    """Backend, a matrix product and random numbers, and the executables of the cache."""
    from jax._src import compilation_cache, config

    backend = jax.devices(platform)[0].client
    # Not into the user's cache.
    with config.enable_compilation_cache(False), jax.default_device(jax.devices(platform)[0]):
        ones = jax.numpy.ones((64, 64))
        both = (ones @ ones, jax.random.normal(jax.random.key(0), (64,)))
        jax.block_until_ready(both)
        del ones, both
    compilation_cache.reset_cache()
    ready = read_ahead(compilation_cache, learned["executables"], backend)
    # The program may still choose another directory.
    compilation_cache.reset_cache()
    give(compilation_cache, ready, backend)
    return len(ready)


def read_ahead(cache, executables, backend):
    """The executables that the cache holds, by their keys."""
    from jax._src.lib import xla_client

    devices = {device.id: device for device in backend.devices()}
    ready = {}
    for key, (platform, options, numbers) in executables:
        if platform != backend.platform:
            continue
        try:
            options = xla_client.CompileOptions.ParseFromString(bytes.fromhex(options))
            chosen = xla_client.DeviceList(tuple(devices[number] for number in numbers))
            found = cache.get_executable_and_time(key, options, backend, chosen)
        except Exception:
            continue  # The program gets the error, if it is one.
        if found[0] is not None:
            ready[key] = found
    return ready


def give(cache, ready, backend):
    """Has the program's first request for each executable answered from memory."""
    real = cache.get_executable_and_time

    def get_executable_and_time(cache_key, compile_options, its_backend, *rest):
        # The devices, and since JAX 0.11 the callbacks into the program, which belong to it.
        found = None if any(rest[1:]) else ready.pop(cache_key, None)
        if not ready:
            cache.get_executable_and_time = real
        if found is not None and its_backend is backend:
            return found
        return real(cache_key, compile_options, its_backend, *rest)

    if ready:
        cache.get_executable_and_time = get_executable_and_time


def record_cupy(maps="/proc/self/maps"):
    """The libraries that CuPy has loaded, which it does when it needs a handle; none without
    CuPy."""
    if "cupy.cuda.device" not in sys.modules:
        return None
    with open(maps, "rb") as file:
        loaded = file.read()
    return {"handles": [name for name in HANDLES if b"/lib%s.so" % name.encode() in loaded]}


def bring_up_cupy(cupy, learned, devices):
    for number in devices:
        with cupy.cuda.Device(number):
            cupy.cuda.runtime.free(0)
            for name in learned["handles"]:
                getattr(cupy.cuda.device, "get_%s_handle" % name)()
            # The arrays are released at once.
            scratch = cupy.zeros((64, 64), "float32")
            if "cublas" in learned["handles"]:
                scratch @ scratch
            del scratch
            cupy.cuda.runtime.deviceSynchronize()
    cupy.get_default_memory_pool().free_all_blocks()
    cupy.get_default_pinned_memory_pool().free_all_blocks()
