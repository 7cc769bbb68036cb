import time
from pyscf import gto, scf

for number in range(8):
    began = time.perf_counter()
    water = gto.M(atom=f"O 0 0 0; H 0 0 {0.95 + number / 100}; H 0 0.95 0", basis="6-31g", verbose=0)
    energy = scf.RHF(water).kernel()
    print(f"energy {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
