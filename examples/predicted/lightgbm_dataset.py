import os
import lightgbm
import numpy as np

print(lightgbm.Dataset(np.ones((10, 3))).construct().num_data(), flush=True)
os._exit(0)
