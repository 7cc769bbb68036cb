# The experiments with PyTorch. Each runs in a fresh process: exactly one is called.
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
    """Memory that is really there: on the CPU an empty tensor has no pages yet."""
    elements = size_in_bytes // 4
    made = torch.empty(elements, device=dev) if ON_GPU else torch.zeros(elements)
    synchronize()
    return made


def is_out_of_memory(error):
    return isinstance(error, (MemoryError, RuntimeError)) and "memory" in str(error).lower()


def alloc():
    n = pick(30, 12)
    four = 4 * TENSOR * TENSOR
    setup = 0.0
    if ON_GPU:
        setup, _ = timed(lambda: (torch.cuda.init(), torch.cuda.synchronize()))
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
    # PyTorch frees into its own pool on a GPU: free and allocate is the pool.
    iterations("allocate 4 MiB from the pool" if ON_GPU else "free 4 MiB, allocate again", times)
    if ON_GPU:
        times = []
        for _ in range(n):
            torch.cuda.empty_cache()
            times.append(timed(lambda: tensor(four))[0])
        iterations("allocate 4 MiB after trimming the pool", times)


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
        # All are held: PyTorch would give freed pinned memory out again.
        times, held = [], []
        for _ in range(min(max((64 << 20) // size, 3), pick(10, 6))):
            seconds, pinned = timed(lambda: torch.empty(size // 4, pin_memory=True))
            held.append(pinned)
            times.append(seconds)
        iterations("pin host memory", times, size)
        pinned.fill_(1)
        copies(pinned, "host to device, pinned", "device to host, pinned")


def prealloc():
    torch.cuda.synchronize()
    held = None
    if VARIANT != "after nothing":
        seconds, held = timed(lambda: tensor(1 << 30))
        stage("allocate 1 GiB", seconds)
        if VARIANT != "1 GiB held":
            held = None  # released to PyTorch's pool
    kept, times = [], []
    for _ in range(pick(20, 10)):
        seconds, made = timed(lambda: tensor(4 * TENSOR * TENSOR))
        kept.append(made)
        times.append(seconds)
    iterations("allocate 4 MiB", times)


def train(initialized=False, optimize=True, backward=True):
    seconds, model = timed(lambda: nn.Linear(10, 10))
    stage("build the model", seconds)
    loss_of = nn.MSELoss()
    optimizer = None
    if optimize:
        # The first optimizer imports much of what `import torch` left out.
        seconds, optimizer = timed(lambda: torch.optim.SGD(model.parameters(), lr=0.01))
        stage("build the optimizer", seconds)
    if initialized:
        seconds, _ = timed(lambda: tensor(4))
        stage("initialize the device", seconds)

    def iterate():
        x = torch.randn(1, 10, device=dev)
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
        model.to(dev)
        iterate()

    # The first iteration moves the model, and so brings the device up.
    later = pick(200, 60) - 1
    iterations("iteration", [timed(first)[0]] + [timed(iterate)[0] for _ in range(later)])
    if backward:
        return

    x = torch.randn(1, 10, device=dev)
    target = torch.zeros(1, 10, device=dev)

    def recording():
        loss_of(model(x), target)
        synchronize()

    def plain():
        with torch.no_grad():
            loss_of(model(x), target)
        synchronize()

    recorded, not_recorded = [], []
    for _ in range(pick(200, 60)):
        recorded.append(timed(recording)[0])
        not_recorded.append(timed(plain)[0])
    iterations("forward, recording the graph", recorded)
    # All graphs are alive, so equal ids would mean one graph that was used again.
    graphs = [loss_of(model(x), target).grad_fn for _ in range(20)]
    count("graph recordings", [int(id(g) not in map(id, graphs[:i])) for i, g in enumerate(graphs)])
    iterations("forward, not recording", not_recorded)


def network():
    if VARIANT == "conv":
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


def infer():
    seconds, (model, shape) = timed(network)
    stage("build the model", seconds)
    n = pick(40, 20) if VARIANT == "mlp, large" else pick(100, 40)
    inputs = [torch.randn(*shape) for _ in range(n)]
    host, device = [resident()], [0.0]

    def read_memory():
        free, total = torch.cuda.mem_get_info() if ON_GPU else (0, 0)
        return resident(), float(total - free)

    def keep_memory():
        on_host, on_device = read_memory()
        host.append(on_host)
        device.append(on_device)

    def infer_on(value):
        return timed(lambda: model(value.to(dev)).cpu())[0]

    fresh, resident_times = [], []
    with torch.no_grad():
        # The first inference moves the model, and so brings the device up.
        fresh.append(timed(lambda: (model.to(dev), infer_on(inputs[0])))[0])
        kept = inputs[0].to(dev)
        for value in inputs[1:]:
            # In turns, each after the same reading of memory.
            keep_memory()
            fresh.append(infer_on(value))
            read_memory()
            resident_times.append(timed(lambda: model(kept).cpu())[0])
        keep_memory()
        iterations("inference, fresh input", fresh)
        iterations("inference, resident input", resident_times)
        memory("host memory", host)
        if ON_GPU:
            memory("device memory", device)
        if ON_GPU and VARIANT == "mlp, large":
            long_launches()


def long_launches():
    """Work that outlasts its own launch, timed with and without waiting for it."""
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
    elif EXPERIMENT == "alloc":
        alloc()
    elif EXPERIMENT == "transfer":
        transfer()
    elif EXPERIMENT == "prealloc":
        prealloc()
    elif EXPERIMENT == "train":
        train()
    elif EXPERIMENT == "train-initialized":
        train(initialized=True)
    elif EXPERIMENT == "train-no-optimizer":
        train(optimize=False, backward=VARIANT == "no optimizer")
    elif EXPERIMENT == "infer":
        infer()
    else:
        fail("the script for torch has no experiment " + EXPERIMENT)


try:
    main()
except (AssertionError, RuntimeError):
    # Asked only now: asking initializes the driver, which is part of what is measured.
    if ON_GPU and not torch.cuda.is_available():
        fail("this PyTorch finds no CUDA device; install a build with CUDA, or use --device cpu")
    raise
write(line="end")
