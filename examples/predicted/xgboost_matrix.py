import os
import numpy as np
import xgboost

print(xgboost.DMatrix(np.ones((10, 3))).num_row(), flush=True)
os._exit(0)
