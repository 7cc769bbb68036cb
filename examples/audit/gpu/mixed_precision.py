import time, torch, torchvision
torch.manual_seed(0)
model = torchvision.models.efficientnet_b0().cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(8, 3, 128, 128, device="cuda"); y = torch.randint(0, 1000, (8,), device="cuda")
scaler = torch.amp.GradScaler("cuda")
def step():
    with torch.autocast("cuda"):
        loss = torch.nn.functional.cross_entropy(model(x), y)
    opt.zero_grad(set_to_none=True)
    scaler.scale(loss).backward(); scaler.step(opt); scaler.update()
    torch.cuda.synchronize()
times = []
for _ in range(8):
    t = time.perf_counter(); step(); times.append(time.perf_counter() - t)
print(" ".join(f"{t:.4f}" for t in times))
