import os
import patsy

print(patsy.dmatrix("a + b", {"a": [1.0, 2.0], "b": [3.0, 4.0]}).shape, flush=True)
os._exit(0)
