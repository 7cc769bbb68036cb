import time
from tinygrad import Context, Tensor, nn

class Net:
    def __init__(self):
        self.one, self.two = nn.Linear(64, 128), nn.Linear(128, 10)

    def __call__(self, x):
        return self.two(self.one(x).relu())

net = Net()
optimizer = nn.optim.SGD(nn.state.get_parameters(net), lr=0.01)
for number in range(15):
    began = time.perf_counter()
    with Context(TRAINING=1):
        optimizer.zero_grad()
        loss = net(Tensor.ones(32, 64)).square().mean().backward()
        optimizer.step()
        value = loss.item()
    print(f"step {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
