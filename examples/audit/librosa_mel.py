import time
import numpy as np
import librosa

rate = 22_050
sound = np.sin(2 * np.pi * 440 * np.arange(4 * rate) / rate).astype(np.float32)
for number in range(20):
    began = time.perf_counter()
    mel = librosa.feature.melspectrogram(y=sound + number, sr=rate)
    onsets = librosa.onset.onset_strength(S=librosa.power_to_db(mel), sr=rate)
    print(f"onsets {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
