import os
import time
from rdkit import Chem
from rdkit.Chem import AllChem, Descriptors

WARM_UP = int(os.environ.get("WARM_UP", 0))

smiles = ["CC(=O)Oc1ccccc1C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "CC(C)Cc1ccc(cc1)C(C)C(=O)O"]
for number in range(-WARM_UP, 25):
    began = time.perf_counter()
    for text in smiles:
        molecule = Chem.AddHs(Chem.MolFromSmiles(text))
        AllChem.EmbedMolecule(molecule, randomSeed=7)
        AllChem.MMFFOptimizeMolecule(molecule)
        Descriptors.MolLogP(molecule)
    print(f"batch {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
