import os, torch, torchvision
model = torchvision.models.mobilenet_v3_small().eval()
print(model(torch.zeros(1, 3, 64, 64)).shape, flush=True)
os._exit(0)
