"""Uses of PyTorch, for processes that were started warm."""

import sys

import torch
from torch.utils.data import DataLoader, TensorDataset


def numbers():
    print(torch.get_num_threads(), torch.get_num_interop_threads(), torch.__version__)
    torch.manual_seed(3)
    print(torch.randn(3))


def chance():
    """Not to be compared: it must differ from start to start."""
    print(torch.initial_seed())
    print(torch.randn(3))


def train():
    torch.manual_seed(3)
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.randn(64, 8)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item())


def parallel():
    """OpenMP, and threads for the backward pass."""
    torch.manual_seed(3)
    values = torch.randn(400, 400)
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        print(threads, torch.get_num_threads(), (values @ values).double().sum().item() != 0)
        print(torch.sort(values.flatten())[0][::20000])
    print(torch.__config__.parallel_info().count("OpenMP") > 0)


def forked():
    import os

    print(torch.ones(1000, 1000).sum().item(), flush=True)
    process = os.fork()
    if process == 0:
        print(torch.ones(100).sum().item(), flush=True)
        os._exit(0)
    os.waitpid(process, 0)


def load():
    data = TensorDataset(torch.arange(32.0))
    for (batch,) in DataLoader(data, batch_size=8, num_workers=2):
        print(batch.tolist())


if __name__ == "__main__":
    globals()[sys.argv[1]]()
