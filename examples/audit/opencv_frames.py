"""Needs python3-opencv from Debian."""
import time
import cv2
import numpy as np

rng = np.random.default_rng(0)
cascade = cv2.HOGDescriptor()
cascade.setSVMDetector(cv2.HOGDescriptor_getDefaultPeopleDetector())
for number in range(20):
    frame = rng.integers(0, 255, (320, 320, 3), dtype=np.uint8)
    began = time.perf_counter()
    grey = cv2.GaussianBlur(cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY), (9, 9), 2)
    edges = cv2.Canny(grey, 50, 150)
    found, _ = cascade.detectMultiScale(grey)
    print(f"frame {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
