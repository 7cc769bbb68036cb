"""ResNet-50 with PyTorch, training or inference, on made-up images.

    preheat run -- python examples/resnet50.py train
    preheat run -- python examples/resnet50.py infer

Environment: ITERATIONS (default 60), BATCH (default 8), PINNED=1 (copy the images from
page-locked memory), and those of timing.py.
"""

import os
import sys

from timing import Timers, count

timers = Timers()
with timers.measured("import torch"):
    import torch
    from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
if device == "cuda":
    timers.synchronize = torch.cuda.synchronize
training = (sys.argv[1:] or ["train"])[0] == "train"
batch = int(os.environ.get("BATCH", "8"))


def convolution(inputs, outputs, size, stride=1):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False),
        nn.BatchNorm2d(outputs),
    )


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.body = nn.Sequential(
            convolution(inputs, width, 1),
            nn.ReLU(inplace=True),
            convolution(width, width, 3, stride),
            nn.ReLU(inplace=True),
            convolution(width, 4 * width, 1),
        )
        same = stride == 1 and inputs == 4 * width
        self.shortcut = nn.Identity() if same else convolution(inputs, 4 * width, 1, stride)

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


class ResNet50(nn.Module):
    def __init__(self, classes=1000):
        super().__init__()
        layers = [convolution(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
        inputs = 64
        for width, blocks, stride in [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)]:
            for block in range(blocks):
                layers.append(Bottleneck(inputs, width, stride if block == 0 else 1))
                inputs = 4 * width
        self.features = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.classifier = nn.Linear(inputs, classes)

    def forward(self, x):
        return self.classifier(self.features(x))


with timers.measured("model"):
    model = ResNet50()
with timers.measured("model to device"):
    model = model.to(device)

images = torch.randn(batch, 3, 224, 224)
pinned = os.environ.get("PINNED") == "1" and device == "cuda"
if pinned:
    with timers.measured("pin the images"):
        images = images.pin_memory()
labels = torch.randint(0, 1000, (batch,), device=device)
if training:
    model.train()
    with timers.measured("optimizer"):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()
else:
    model.eval()

for _ in timers.loop(count(60)):
    if training:
        optimizer.zero_grad()
        loss = loss_of(model(images.to(device, non_blocking=pinned)), labels)
        loss.backward()
        optimizer.step()
    else:
        with torch.inference_mode():
            answer = model(images.to(device, non_blocking=pinned)).argmax(1).cpu()

timers.write()
print(f"{device}: {f'loss {loss.item():.3f}' if training else f'class {int(answer[0])}'}")
