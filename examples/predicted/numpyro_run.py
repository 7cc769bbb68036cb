import os, numpyro, numpyro.distributions as dist
print(float(dist.Normal(0.0, 1.0).log_prob(0.5)), flush=True)
os._exit(0)
