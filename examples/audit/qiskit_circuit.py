import time
from qiskit import QuantumCircuit, transpile
from qiskit_aer import AerSimulator

simulator = AerSimulator()
for number in range(15):
    began = time.perf_counter()
    circuit = QuantumCircuit(12)
    for qubit in range(11):
        circuit.h(qubit)
        circuit.rz(0.1 * number, qubit)
        circuit.cx(qubit, qubit + 1)
    circuit.measure_all()
    counts = simulator.run(transpile(circuit, simulator), shots=200).result().get_counts()
    print(f"run {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
