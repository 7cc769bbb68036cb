import torch
layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
model = torch.nn.TransformerEncoder(layer, 8).half().cuda().eval()
data = torch.randn(4, 128, 512, device="cuda").half()
with torch.inference_mode():
    for _ in range(12):
        result = model(data)
        torch.cuda.synchronize()
print(result.shape)
