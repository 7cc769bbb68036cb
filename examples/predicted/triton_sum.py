import torch
import triton
import triton.language as tl
@triton.jit
def scale(source, target, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(source + at, mask=at < count)
    tl.store(target + at, tl.exp(value) * tl.sum(value, 0), mask=at < count)
@triton.jit
def product(a, b, c, N: tl.constexpr):
    rows, columns = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    at = rows * N + columns
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))
x = torch.ones(4096, device="cuda")
y = torch.empty_like(x)
a = torch.ones(64, 64, device="cuda", dtype=torch.float16)
c = torch.empty(64, 64, device="cuda")
for _ in range(12):
    scale[(4,)](x, y, 4096, BLOCK=1024)
    product[(1,)](a, a, c, N=64)
    torch.cuda.synchronize()
print(float(y[0]), float(c[0, 0]))
