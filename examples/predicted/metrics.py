import os, torch, torchmetrics
accuracy = torchmetrics.classification.MulticlassAccuracy(num_classes=5)
print(float(accuracy(torch.arange(5), torch.arange(5))), flush=True)
os._exit(0)
