import time
import torch
from transformers import GPT2Config, GPT2LMHeadModel

model = GPT2LMHeadModel(GPT2Config(n_layer=4, n_head=8, n_embd=512)).cuda().eval()
prompt = torch.randint(0, 1000, (1, 16), device="cuda")
for i in range(2):
    began = time.perf_counter()
    out = model.generate(prompt, max_new_tokens=20, do_sample=False, pad_token_id=0)
    torch.cuda.synchronize()
    print(f"request {i}: {time.perf_counter() - began:.4f} s, {out.shape[1]} tokens")
