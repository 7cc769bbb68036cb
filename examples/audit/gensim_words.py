import random
import time
from gensim.models import Word2Vec

random.seed(1)
words = [f"w{i}" for i in range(2000)]
sentences = [random.choices(words, k=20) for _ in range(2000)]
model = Word2Vec(vector_size=50, min_count=1, workers=2, seed=1)
model.build_vocab(sentences)
for number in range(15):
    began = time.perf_counter()
    model.train(sentences, total_examples=len(sentences), epochs=1)
    print(f"epoch {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
