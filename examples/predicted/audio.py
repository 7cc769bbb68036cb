import os, torch, torchaudio
print(torchaudio.transforms.MelSpectrogram()(torch.zeros(1, 16000)).shape, flush=True)
os._exit(0)
