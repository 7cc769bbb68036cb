import os, torch
from sentence_transformers import util
print(util.cos_sim(torch.ones(1, 4), torch.ones(1, 4)), flush=True)
os._exit(0)
