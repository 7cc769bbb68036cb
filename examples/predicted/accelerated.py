import os, torch
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
model = accelerator.prepare(torch.nn.Linear(4, 1))
print(model(torch.ones(2, 4)).shape, flush=True)
os._exit(0)
