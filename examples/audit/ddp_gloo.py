"""Two ranks of DistributedDataParallel on the CPU; rank 0 prints."""
import os
import time
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

def main(rank, port):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1)))
    optimizer = torch.optim.Adam(model.parameters())
    x, y = torch.randn(128, 64), torch.randn(128, 1)
    for number in range(30):
        began = time.perf_counter()
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        if rank == 0:
            print(f"step {number} {time.perf_counter() - began:.6f}", flush=True)
            if number == 0:
                print(f"first_at {time.time():.6f}", flush=True)
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(main, args=(20000 + os.getpid() % 20000,), nprocs=2)
