//! Compares our changepoints with those of `ruptures` on PyPI, an independent
//! implementation.
//!
//! Uses the Python in the virtual environment PREHEAT_TEST_VENV. Without it, or without
//! ruptures in it, the test prints a note and passes, unless PREHEAT_TEST_REQUIRE contains
//! "ruptures".

#[path = "../../../tests/missing.rs"]
mod missing;

use std::env;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use preheat_analyze::stats::pelt;
use preheat_model::stats::Rng;
use serde_json::{Value, json};

const SCRIPT: &str = r#"
import json, sys
import numpy, ruptures
from ruptures.costs import CostNormal
answers = []
for case in json.load(sys.stdin):
    values = numpy.array(case["values"])
    model = CostNormal(add_small_diag=False)
    search = ruptures.Pelt(custom_cost=model, min_size=case["min_size"], jump=1)
    theirs = search.fit(values).predict(case["penalty"])
    def total(ends):
        starts = [0] + ends[:-1]
        return sum(model.error(s, e) + case["penalty"] for s, e in zip(starts, ends))
    answers.append({"theirs": theirs, "their_cost": total(theirs), "our_cost": total(case["ours"])})
json.dump(answers, sys.stdout)
"#;

/// The Python to use, or why there is none.
fn python() -> Result<PathBuf, String> {
    let venv = env::var_os("PREHEAT_TEST_VENV").ok_or("PREHEAT_TEST_VENV is not set")?;
    let python = PathBuf::from(venv).join("bin/python");
    let found = Command::new(&python)
        .args(["-c", "import ruptures"])
        .stderr(Stdio::null())
        .status();
    match found {
        Ok(status) if status.success() => Ok(python),
        _ => Err(format!("{} cannot import it", python.display())),
    }
}

/// A series of segments with these (length, level, spread).
fn series(rng: &mut Rng, segments: &[(usize, f64, f64)]) -> Vec<f64> {
    let mut values = Vec::new();
    for (length, level, spread) in segments {
        values.extend((0..*length).map(|_| level + spread * rng.normal()));
    }
    values
}

fn all_series() -> Vec<Vec<f64>> {
    let mut rng = Rng::new(2024);
    let mut all = Vec::new();
    for n in [10, 17, 40, 100, 250, 400] {
        // Nothing changes; the level changes; the spread; both, and back again.
        all.push(series(&mut rng, &[(n, 5.0, 0.3)]));
        all.push(series(
            &mut rng,
            &[(n / 3, 2.0, 0.1), (n - n / 3, 1.0, 0.1)],
        ));
        all.push(series(
            &mut rng,
            &[(n / 2, 0.0, 0.01), (n - n / 2, 0.0, 0.2)],
        ));
        let (a, b) = (n / 4, n / 5);
        let back = [(a, 1.0, 0.02), (b, 1.2, 0.1), (n - a - b, 1.0, 0.02)];
        all.push(series(&mut rng, &back));
    }
    // Many segments of any length and size.
    for _ in 0..20 {
        let count = 2 + rng.below(12);
        let segments: Vec<_> = (0..count)
            .map(|_| (3 + rng.below(30), rng.normal(), 0.2 * rng.normal().exp()))
            .collect();
        all.push(series(&mut rng, &segments));
    }
    all
}

#[test]
fn changepoints_agree_with_ruptures() {
    let python = match python() {
        Ok(python) => python,
        Err(why) => {
            missing::missing("ruptures", &why.to_string());
            return;
        }
    };
    let mut cases = Vec::new();
    for (i, values) in all_series().into_iter().enumerate() {
        // The penalty that classes use, and a low one with many changepoints.
        let usual = 15.0 * (values.len() as f64).ln();
        for (penalty, min_size) in [(usual, 2), (8.0, 2 + i % 4)] {
            let ours = pelt::breakpoints(&values, penalty, min_size);
            cases.push(json!({
                "values": values, "penalty": penalty, "min_size": min_size, "ours": ours,
            }));
        }
    }
    let answers = run_ruptures(&python, &json!(cases));
    assert_eq!(answers.len(), cases.len());

    let (mut same, mut cuts) = (0, 0);
    for (case, answer) in cases.iter().zip(&answers) {
        let number = |key: &str| answer[key].as_f64().unwrap();
        cuts += case["ours"].as_array().unwrap().len() - 1;
        if case["ours"] == answer["theirs"] {
            same += 1;
            continue;
        }
        // ruptures drops a start immediately, even while a segment beginning there could
        // not be long enough yet, and so occasionally misses the best cut when segments are
        // about as short as allowed.
        let (ours, theirs) = (number("our_cost"), number("their_cost"));
        assert_eq!(case["penalty"], 8.0, "{case} {answer}");
        println!(
            "{} against {}: {ours} < {theirs}",
            case["ours"], answer["theirs"]
        );
        assert!(
            ours < theirs - 1e-6,
            "ruptures found better: {case} {answer}"
        );
    }
    let all = cases.len();
    println!("{same} of {all} the same, {cuts} changepoints");
    assert!(same * 10 >= all * 9, "only {same} of {all} are the same");
    assert!(cuts > 100, "the series are too easy: {cuts} changepoints");
}

fn run_ruptures(python: &PathBuf, cases: &Value) -> Vec<Value> {
    let mut child = Command::new(python)
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(cases.to_string().as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "the script failed");
    serde_json::from_slice(&output.stdout).unwrap()
}
