import os, torch, pytorch_lightning
class Model(pytorch_lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, index):
        return self.layer(batch).sum()
print(Model().training_step(torch.ones(2, 4), 0).shape, flush=True)
os._exit(0)
