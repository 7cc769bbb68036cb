"""Array expressions and a raw kernel with CuPy: the first iteration compiles both.

    preheat run -- python examples/cupy_kernels.py

Environment: ITERATIONS (default 50), and those of timing.py.
"""

from timing import Timers, count

timers = Timers()
with timers.measured("import cupy"):
    import cupy
timers.synchronize = cupy.cuda.Device().synchronize

scale = cupy.RawKernel(
    """
extern "C" __global__ void scale(float *values, float by, int count) {
    int at = blockDim.x * blockIdx.x + threadIdx.x;
    if (at < count) values[at] *= by;
}
""",
    "scale",
)
values = cupy.ones(1 << 20, dtype=cupy.float32)

for number in timers.loop(count(50)):
    scale((values.size // 256,), (256,), (values, cupy.float32(0.5), cupy.int32(values.size)))
    values = cupy.tanh(values) + cupy.sqrt(cupy.abs(values)) * 0.25
    total = values.sum()

timers.write()
print(f"sum {float(total):.1f}")
