import os, torch
from botorch.models import SingleTaskGP
x = torch.rand(10, 2, dtype=torch.double)
print(SingleTaskGP(x, x.sum(1, keepdim=True)).num_outputs, flush=True)
os._exit(0)
