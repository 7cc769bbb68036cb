import time
import torch
from torch.utils.data import DataLoader, TensorDataset

def main():
    data = TensorDataset(torch.randn(256, 3, 64, 64), torch.randint(0, 10, (256,)))
    loader = DataLoader(data, batch_size=32, num_workers=2)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.LazyLinear(10)).cuda()
    net(torch.zeros(1, 3, 64, 64, device="cuda"))
    opt = torch.optim.AdamW(net.parameters())
    began = time.time()
    for i, (x, y) in enumerate(loader):
        loss = torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda())
        opt.zero_grad(); loss.backward(); opt.step()
        print(f"step {i}: {time.time() - began:.4f} s, loss {loss.item():.3f}")
        began = time.time()

if __name__ == "__main__":
    main()
