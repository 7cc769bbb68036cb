import os
import catboost
import numpy as np

print(catboost.Pool(np.ones((10, 3))).num_row(), flush=True)
os._exit(0)
