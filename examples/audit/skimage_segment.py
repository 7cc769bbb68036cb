import time
from skimage import data, filters, measure, morphology

image = data.coins()

def segment(image):
    smooth = filters.gaussian(image, 1.0)
    mask = smooth > filters.threshold_otsu(smooth)
    labels = measure.label(morphology.binary_opening(mask, morphology.disk(2)))
    return len(measure.regionprops(labels))

for number in range(25):
    began = time.perf_counter()
    count = segment(image)
    print(f"image {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
