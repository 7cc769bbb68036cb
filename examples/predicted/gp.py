import os, torch, gpytorch
class Model(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.RBFKernel()
    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))
x = torch.linspace(0, 1, 20)
likelihood = gpytorch.likelihoods.GaussianLikelihood()
model = Model(x, x.sin(), likelihood)
model.eval(), likelihood.eval()
print(likelihood(model(torch.tensor([0.5]))).mean.shape, flush=True)
os._exit(0)
