import os
import seaborn

print(len(seaborn.color_palette("viridis", 7)), flush=True)
os._exit(0)
