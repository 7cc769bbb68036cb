import torch, torchvision
model = torchvision.models.mobilenet_v3_small(num_classes=10).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(12):
    data = torch.rand(8, 3, 96, 96, device="cuda")
    optimizer.zero_grad()
    loss = model(data).square().mean()
    loss.backward()
    optimizer.step()
    torch.cuda.synchronize()
print(loss.item() >= 0)
