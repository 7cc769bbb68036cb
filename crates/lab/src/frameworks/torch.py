# The PyTorch experiments. Each runs in a fresh process: exactly one is called.
start = clock()
import torch
import torch.nn as nn

stage("import", clock() - start)

ON_GPU = DEVICE == "cuda"
dev = torch.device(DEVICE)


def synchronize():
    if ON_GPU:
        torch.cuda.synchronize()


def tensor(size_in_bytes):
    """Allocates memory with pages: on the CPU, an empty tensor has none yet."""
    elements = size_in_bytes // 4
    made = torch.empty(elements, device=dev) if ON_GPU else torch.zeros(elements)
    synchronize()
    return made


def bring_up():
    torch.cuda.init()
    torch.cuda.synchronize()


def is_out_of_memory(error):
    return isinstance(error, (MemoryError, RuntimeError)) and "memory" in str(error).lower()


def alloc():
    n = pick(30, 12)
    four = 4 * TENSOR * TENSOR
    setup = 0.0
    if ON_GPU:
        setup, _ = timed(bring_up)
        stage("initialize the device", setup)
    kept, times = [], []
    for _ in range(n):
        seconds, made = timed(lambda: tensor(four))
        kept.append(made)
        times.append(seconds)
    del made
    if ON_GPU:
        iterations("allocate 4 MiB, context ready", times)
    iterations("allocate 4 MiB, from nothing", [setup + times[0]] + times[1:])
    kept.clear()

    held = tensor(four)
    times = []
    for _ in range(n):
        del held
        seconds, held = timed(lambda: tensor(four))
        times.append(seconds)
    del held
    # On a GPU, PyTorch frees into its pool: freeing and allocating measures the pool.
    iterations("allocate 4 MiB from the pool" if ON_GPU else "free 4 MiB, allocate again", times)
    if ON_GPU:
        times = []
        for _ in range(n):
            torch.cuda.empty_cache()
            times.append(timed(lambda: tensor(four))[0])
        iterations("allocate 4 MiB after trimming the pool", times)


def randn():
    made = torch.randn(TENSOR, TENSOR, device=dev)
    synchronize()
    return made


def alloc_randn():
    """Allocates as many scripts do: with a kernel that fills the memory and must be loaded."""
    setup = 0.0
    if ON_GPU:
        setup, _ = timed(bring_up)
        stage("initialize the device", setup)
    kept, times = [], []
    for _ in range(pick(30, 12)):
        seconds, made = timed(randn)
        kept.append(made)
        times.append(seconds)
    if ON_GPU:
        iterations("randn 4 MiB, context ready", times)
    iterations("randn 4 MiB, from nothing", [setup + times[0]] + times[1:])


def alloc_sweep():
    synchronize()
    for size in sizes(pick(1 << 30, 64 << 20)):
        try:
            times = []
            for _ in range(min(max((512 << 20) // size, 3), pick(20, 8))):
                if ON_GPU:
                    torch.cuda.empty_cache()
                times.append(timed(lambda: tensor(size))[0])
            iterations("allocate", times, size)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            skip("allocate of %d MiB and more" % (size >> 20), str(error).splitlines()[0])
            break


def pinned_or_randn():
    """Moves a pinned tensor, then creates a tensor on the device: two different operations
    that one of the articles compares. Pinning initializes the device, before any timer."""
    pinned = torch.zeros(TENSOR, TENSOR).pin_memory()
    kept, moves, randns = [], [], []

    def move():
        kept.append(pinned.to(dev))
        synchronize()

    for _ in range(pick(30, 10)):
        moves.append(timed(move)[0])
        seconds, made = timed(randn)
        kept.append(made)
        randns.append(seconds)
    iterations("move 4 MiB from pinned memory", moves)
    iterations("randn 4 MiB, context ready", randns)


def transfer():
    torch.cuda.synchronize()
    sweep = VARIANT == "sweep"
    for size in sizes(pick(256 << 20, 16 << 20)):
        if (size != 4 * TENSOR * TENSOR) != sweep:
            continue
        target = tensor(size)
        n = min(max((pick(256, 64) << 20) // size, 4), pick(30, 10))
        pageable = torch.ones(size // 4)

        def copies(host, up, down):
            def send():
                target.copy_(host)
                torch.cuda.synchronize()

            def fetch():
                host.copy_(target)
                torch.cuda.synchronize()

            iterations(up, [timed(send)[0] for _ in range(n)], size)
            iterations(down, [timed(fetch)[0] for _ in range(n)], size)

        copies(pageable, "host to device, pageable", "device to host, pageable")
        # All are held: PyTorch would reuse freed pinned memory.
        times, held = [], []
        for _ in range(min(max((64 << 20) // size, 3), pick(10, 6))):
            seconds, pinned = timed(lambda: torch.empty(size // 4, pin_memory=True))
            held.append(pinned)
            times.append(seconds)
        iterations("pin host memory", times, size)
        pinned.fill_(1)
        copies(pinned, "host to device, pinned", "device to host, pinned")
        source = torch.ones(size // 4, device=dev)

        def within():
            target.copy_(source)
            torch.cuda.synchronize()

        iterations("device to device", [timed(within)[0] for _ in range(n)], size)


def prealloc():
    torch.cuda.synchronize()
    held = None
    if VARIANT != "after nothing":
        seconds, held = timed(lambda: tensor(1 << 30))
        stage("allocate 1 GiB", seconds)
        if VARIANT != "1 GiB held":
            held = None  # released to the PyTorch memory pool
    kept, times = [], []
    for _ in range(pick(20, 10)):
        seconds, made = timed(lambda: tensor(4 * TENSOR * TENSOR))
        kept.append(made)
        times.append(seconds)
    iterations("allocate 4 MiB", times)


def train(initialized=False, optimize=True, backward=True):
    if initialized:

        def initialize():
            made = torch.zeros(1).to(dev)
            synchronize()
            return made

        seconds, dummy = timed(initialize)
        stage("initialize the device", seconds)
        if "pause" in VARIANT:
            time.sleep(0.2)
        del dummy
    seconds, model = timed(lambda: nn.Linear(10, 10))
    stage("build the model", seconds)
    resident_input = None
    if ON_DEVICE:

        def move():
            model.to(dev)
            moved = torch.randn(1, 10).to(dev)
            synchronize()
            return moved

        seconds, resident_input = timed(move)
        stage("move the model to the device", seconds)
    loss_of = nn.MSELoss()
    optimizer = None
    if optimize:
        # The first optimizer imports many modules that `import torch` left out.
        seconds, optimizer = timed(lambda: torch.optim.SGD(model.parameters(), lr=0.01))
        stage("build the optimizer", seconds)

    def iterate():
        x = torch.randn(1, 10, device=dev) if resident_input is None else resident_input
        target = torch.zeros(1, 10, device=dev)
        if not backward:
            with torch.no_grad():
                loss_of(model(x), target)
        else:
            if optimizer is not None:
                optimizer.zero_grad()
            else:
                model.zero_grad()
            loss_of(model(x), target).backward()
            if optimizer is not None:
                optimizer.step()
        synchronize()

    def first():
        if resident_input is None:
            model.to(dev)  # which initializes the device
        iterate()

    later = pick(200, 60) - 1
    iterations("iteration", [timed(first)[0]] + [timed(iterate)[0] for _ in range(later)])
    if not backward:
        autograd(model, loss_of)


def autograd(model, loss_of):
    """The same forward pass without and with a recorded graph, and with its backward pass."""
    x = torch.randn(1, 10, device=dev)
    target = torch.zeros(1, 10, device=dev)

    def plain():
        with torch.no_grad():
            loss_of(model(x), target)
        synchronize()

    def recording():
        loss_of(model(x), target)
        synchronize()

    def backward():
        loss_of(model(x), target).backward()
        synchronize()

    recorded, not_recorded, whole = [], [], []
    # Interleaved, so that drift of the machine affects all three alike.
    for _ in range(pick(200, 60)):
        recorded.append(timed(recording)[0])
        not_recorded.append(timed(plain)[0])
        whole.append(timed(backward)[0])
        for parameter in model.parameters():
            parameter.grad = None
    iterations("forward, recording the graph", recorded)
    # All graphs are alive, so equal ids would mean that a graph was reused.
    graphs = [loss_of(model(x), target).grad_fn for _ in range(20)]
    count("graph recordings", [int(id(g) not in map(id, graphs[:i])) for i, g in enumerate(graphs)])
    iterations("forward, not recording", not_recorded)
    iterations("forward and backward", whole)


def twice(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(),
        nn.Conv2d(outputs, outputs, 3, padding=1), nn.ReLU(),
    )


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        a, b, c = UNET_CHANNELS
        self.down = nn.ModuleList([twice(3, a), twice(a, b)])
        self.bottom = twice(b, c)
        self.up = nn.ModuleList([nn.ConvTranspose2d(c, b, 2, 2), nn.ConvTranspose2d(b, a, 2, 2)])
        self.merge = nn.ModuleList([twice(2 * b, b), twice(2 * a, a)])
        self.last = nn.Conv2d(a, 1, 1)

    def forward(self, x):
        skipped = []
        for block in self.down:
            x = block(x)
            skipped.append(x)
            x = nn.functional.max_pool2d(x, 2)
        x = self.bottom(x)
        for up, merge in zip(self.up, self.merge):
            x = merge(torch.cat([up(x), skipped.pop()], 1))
        return self.last(x)


def network():
    if MODEL == "unet":
        return UNet().eval(), (1, 3, UNET_SIZE, UNET_SIZE)
    if MODEL == "conv":
        model = nn.Sequential(
            nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 16, 3), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10),
        )
        return model.eval(), (1, 1, 28, 28)
    batch, inputs, width = MLP_SHAPE
    model = nn.Sequential(
        nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10),
    )
    return model.eval(), (batch, inputs)


def in_use():
    free, total = torch.cuda.mem_get_info()
    return float(total - free)


def infer():
    seconds, (model, shape) = timed(network)
    stage("build the model", seconds)
    n = {"mlp, large": pick(40, 20), "unet": pick(20, 10)}.get(MODEL, pick(100, 40))
    inputs = [torch.randn(*shape) for _ in range(n)]
    with torch.no_grad():
        if ON_DEVICE:
            infer_on_device(model, inputs[0], n)
        else:
            infer_from_nothing(model, inputs)


def infer_on_device(model, value, n):
    def move():
        model.to(dev)
        moved = value.to(dev)
        synchronize()
        return moved

    seconds, kept = timed(move)
    stage("move the model to the device", seconds)
    readings = MemoryReadings(in_use, lambda: float(torch.cuda.memory_allocated()))
    times = []
    for _ in range(n):
        times.append(timed(lambda: model(kept).cpu())[0])
        readings.keep()
    iterations("inference, resident input", times)
    readings.write()


def infer_from_nothing(model, inputs):
    readings = MemoryReadings(in_use, lambda: float(torch.cuda.memory_allocated()))

    def infer_on(value):
        return timed(lambda: model(value.to(dev)).cpu())[0]

    # The first inference initializes the device and moves the model, in separately timed
    # steps.
    began = clock()
    if ON_GPU:
        bring_up()
    up = clock()
    model.to(dev)
    moved = inputs[0].to(dev)
    synchronize()
    there = clock()
    output = model(moved)
    synchronize()
    done = clock()
    output.cpu()
    fresh, resident_times = [clock() - began], []
    if ON_GPU:
        stage("first inference: initialize the device", up - began)
        stage("first inference: allocate and copy", there - up)
    stage("first inference: forward", done - there)
    kept = inputs[0].to(dev)
    for value in inputs[1:]:
        # Interleaved, each after the same memory reading.
        readings.keep()
        fresh.append(infer_on(value))
        readings.read()
        resident_times.append(timed(lambda: model(kept).cpu())[0])
    readings.keep()
    iterations("inference, fresh input", fresh)
    iterations("inference, resident input", resident_times)
    readings.write()
    # The same computation with weights that are new to the device, in a process where
    # everything else is set up: shows what then remains of a first inference.
    if MODEL == "mlp":
        others = [network()[0] for _ in range(6)]
        times = [timed(lambda: other.to(dev)(inputs[0].to(dev)).cpu())[0] for other in others]
        iterations("inference, new weights", times)
    if ON_GPU and MODEL == "mlp, large":
        long_launches()


def long_launches():
    """Work that takes longer than its launch, timed with and without waiting for it."""
    a = torch.randn(4096, 4096, device=dev)
    torch.mm(a, a)
    torch.cuda.synchronize()
    synchronized, naive = [], []
    for _ in range(pick(20, 8)):
        synchronized.append(timed(lambda: (torch.mm(a, a), torch.cuda.synchronize()))[0])
        naive.append(timed(lambda: torch.mm(a, a))[0])
        torch.cuda.synchronize()
    iterations("long launch, synchronized", synchronized)
    iterations("long launch, not synchronized", naive)


def main():
    if EXPERIMENT == "alloc" and VARIANT == "sweep":
        alloc_sweep()
    elif EXPERIMENT == "alloc" and VARIANT == "randn":
        alloc_randn()
    elif EXPERIMENT == "alloc":
        alloc()
    elif EXPERIMENT == "transfer" and VARIANT == "pinned copy or randn":
        pinned_or_randn()
    elif EXPERIMENT == "transfer":
        transfer()
    elif EXPERIMENT == "prealloc":
        prealloc()
    elif EXPERIMENT == "train":
        train()
    elif EXPERIMENT == "train-initialized":
        train(initialized=True)
    elif EXPERIMENT == "train-no-optimizer":
        train(optimize=False, backward=VARIANT != "forward only")
    elif EXPERIMENT == "infer":
        infer()
    else:
        fail("the script for torch has no experiment " + EXPERIMENT)


try:
    main()
except (AssertionError, RuntimeError):
    # Checked only now: the query initializes the driver, which is part of the measurement.
    if ON_GPU and not torch.cuda.is_available():
        fail("this PyTorch does not find a CUDA device; install a build with CUDA, or use --device cpu")
    raise
write(line="end")
