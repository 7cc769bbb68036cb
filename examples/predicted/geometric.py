import os, torch
from torch_geometric.nn import GCNConv
layer = GCNConv(4, 2)
print(layer(torch.ones(3, 4), torch.tensor([[0, 1], [1, 2]])).shape, flush=True)
os._exit(0)
