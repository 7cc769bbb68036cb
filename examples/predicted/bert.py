import os, torch
from transformers import BertConfig, BertModel
size = {"num_hidden_layers": 1, "hidden_size": 64, "num_attention_heads": 2}
model = BertModel(BertConfig(**size, intermediate_size=64))
print(model(input_ids=torch.zeros(1, 8, dtype=torch.long)).last_hidden_state.shape, flush=True)
os._exit(0)
