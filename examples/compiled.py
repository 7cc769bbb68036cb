"""A small transformer with torch.compile: most of its cold start is compilation.

    preheat run --temperature process,caches -- python examples/compiled.py

Environment: ITERATIONS (default 60), and those of timing.py.
"""

from timing import Timers, count

timers = Timers()
with timers.measured("import torch"):
    import torch
    from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
if device == "cuda":
    timers.synchronize = torch.cuda.synchronize


class Block(nn.Module):
    def __init__(self, width=256, heads=4):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


with timers.measured("model to device"):
    model = nn.Sequential(*[Block() for _ in range(2)], nn.Linear(256, 64)).to(device)
with timers.measured("compile and optimizer"):
    compiled = torch.compile(model, fullgraph=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

for _ in timers.loop(count(60)):
    optimizer.zero_grad()
    loss = compiled(torch.randn(4, 64, 256, device=device)).square().mean()
    loss.backward()
    optimizer.step()

timers.write()
print(f"{device}: loss {loss.item():.4f}")
