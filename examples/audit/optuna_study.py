import time
import optuna

optuna.logging.set_verbosity(optuna.logging.WARNING)

def objective(trial):
    x = trial.suggest_float("x", -10, 10)
    kind = trial.suggest_categorical("kind", ["a", "b"])
    total = sum((x - i) ** 2 for i in range(20000))
    return total if kind == "a" else total + 1

study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
for number in range(40):
    began = time.perf_counter()
    study.optimize(objective, n_trials=1)
    print(f"trial {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
