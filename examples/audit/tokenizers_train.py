import random
import time
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

random.seed(1)
text = [" ".join(random.choices("the quick brown fox jumps over lazy dogs while reading books".split(), k=30)) for _ in range(400)]
tokenizer = Tokenizer(models.BPE(unk_token="?"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer.train_from_iterator(text, trainers.BpeTrainer(vocab_size=500, special_tokens=["?"], show_progress=False))
for number in range(30):
    began = time.perf_counter()
    tokenizer.encode_batch(text)
    print(f"encode {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
