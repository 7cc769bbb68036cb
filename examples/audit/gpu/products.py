import time
import torch

a = torch.randn(2048, 2048, device="cuda")
for i in range(2):
    began = time.time()
    b = a @ a
    torch.cuda.synchronize()
    print(f"product {i}: {time.time() - began:.4f} s")
