//! `preheat classify` with files of every format.

mod support;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use preheat_model::classify::{ClassifyReport, Format, Measures};
use preheat_model::run::RunReport;
use preheat_model::stats::{Class, Rng};
use support::{Directory, Said, preheat, python_with, run};

/// `n` iterations of 10 ms, the first `slow` of which take `factor` times as long.
fn start(rng: &mut Rng, n: usize, slow: usize, factor: f64) -> Vec<f64> {
    (0..n)
        .map(|at| if at < slow { 0.01 * factor } else { 0.01 })
        .map(|level| level * (0.01 * rng.normal()).exp())
        .collect()
}

fn climbing(rng: &mut Rng, n: usize) -> Vec<f64> {
    (0..n)
        .map(|at| 0.01 * (2.0 * at as f64 / n as f64).exp() * (0.01 * rng.normal()).exp())
        .collect()
}

/// A CSV of benchmarks that are named after their class.
fn csv() -> String {
    let mut rng = Rng::new(1);
    let mut text = "process_exec_idx, bench_name".to_owned();
    (0..200).for_each(|at| text.push_str(&format!(", {at}")));
    for index in 0..5 {
        for (name, times) in [
            ("flat", start(&mut rng, 200, 0, 1.0)),
            ("cold-first", start(&mut rng, 200, 1, 50.0)),
            ("warmup", start(&mut rng, 200, 30, 3.0)),
            ("slowdown", start(&mut rng, 200, 50, 0.7)),
            ("no steady state", climbing(&mut rng, 200)),
        ] {
            text.push_str(&format!("\n{index}, {name}"));
            times
                .iter()
                .for_each(|time| text.push_str(&format!(", {time}")));
        }
    }
    text
}

fn file(directory: &Directory, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = directory.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

/// Runs `classify` in `directory` with these arguments; writes the document to `judged.json`.
fn classify(directory: &Directory, arguments: &[&str]) -> (Said, ClassifyReport) {
    let said = run(preheat()
        .current_dir(directory.path())
        .args(["classify", "--json", "judged.json"])
        .args(arguments)
        .stdin(Stdio::null()));
    let text = fs::read_to_string(directory.join("judged.json")).expect("the JSON is there");
    (said, serde_json::from_str(&text).expect("it is a report"))
}

/// Runs `classify` with this standard input.
fn piped(input: &[u8], arguments: &[&str]) -> Said {
    let mut child = preheat()
        .arg("classify")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that fails early closes the pipe before everything is read.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    Said {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn benchmarks_have_their_planted_classes() {
    let directory = Directory::new();
    file(&directory, "all.csv", csv());
    let (said, report) = classify(&directory, &["all.csv", "--html", "judged.html"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let headline = "5 benchmarks: 1 flat, 1 cold-first, 1 warmup, 1 slowdown, 1 with no steady";
    assert!(said.out.starts_with(headline), "{}", said.out);
    let mut discards = Vec::new();
    for benchmark in &report.benchmarks {
        assert_eq!(benchmark.class.as_str(), benchmark.name);
        assert_eq!(benchmark.format, Format::WarmupStats);
        assert_eq!(
            (benchmark.file.as_str(), benchmark.starts.len()),
            ("all.csv", 5)
        );
        let intervals = [
            Some(benchmark.first),
            benchmark.steady,
            benchmark.ratio,
            benchmark.excess,
        ];
        let settled = benchmark.class != Class::NoSteadyState;
        for interval in &intervals[usize::from(!settled) * 3..] {
            assert_eq!(interval.is_some(), settled, "{}", benchmark.name);
        }
        assert!(intervals.iter().flatten().all(|i| i.low.is_some()));
        discards.push(benchmark.discard);
    }
    assert_eq!(discards, [Some(0), Some(1), Some(30), Some(50), None]);
    let page = fs::read_to_string(directory.join("judged.html")).unwrap();
    assert_eq!(page.matches("<svg class=\"chart").count(), 5);
}

#[test]
fn the_same_files_give_the_same_document_in_their_order() {
    let directory = Directory::new();
    let mut rng = Rng::new(2);
    let names: Vec<String> = (0..24).map(|at| format!("{at}.json")).collect();
    for (at, name) in names.iter().enumerate() {
        // Long and short files, so that workers overtake each other.
        let length = if at % 3 == 0 { 800 } else { 20 };
        let starts: Vec<_> = (0..8).map(|_| start(&mut rng, length, 1, 9.0)).collect();
        file(&directory, name, serde_json::to_string(&starts).unwrap());
    }
    let arguments: Vec<&str> = names.iter().map(String::as_str).collect();
    let (said, report) = classify(&directory, &arguments);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let order: Vec<&str> = report.benchmarks.iter().map(|b| &*b.file).collect();
    assert_eq!(order, arguments);
    assert_eq!(report.benchmarks[1].name, "1");
    let (again, same) = classify(&directory, &arguments);
    assert_eq!((said.out, &report), (again.out, &same));
    let (_, other) = classify(&directory, &[&arguments[..], &["--seed", "2"]].concat());
    assert_eq!(other.seed, 2);
    assert_ne!(other.benchmarks[0].ratio, same.benchmarks[0].ratio);
}

#[test]
fn numbers_are_piped_in() {
    let mut rng = Rng::new(3);
    let mut text = String::new();
    for _ in 0..4 {
        for time in start(&mut rng, 50, 1, 100.0) {
            text.push_str(&format!("{}\n", time * 1e3));
        }
        text.push('\n');
    }
    for arguments in [&["--unit", "ms"][..], &["-", "--unit", "ms"]] {
        let said = piped(text.as_bytes(), arguments);
        assert_eq!(said.code, Some(0), "{}", said.err);
        let first = "standard input: only the first iteration is slow, ";
        assert!(said.out.starts_with(first), "{}", said.out);
        assert!(
            said.out
                .contains("4 starts of 50 iterations · one number per line"),
            "{}",
            said.out
        );
        assert!(
            said.out
                .ends_with("Discard the first iteration of each start.\n"),
            "{}",
            said.out
        );
    }
    let said = piped(text.as_bytes(), &["--unit", "ms", "--json", "-"]);
    let report: ClassifyReport = serde_json::from_str(&said.out).unwrap();
    assert!((report.benchmarks[0].steady.unwrap().value / 0.01 - 1.0).abs() < 0.02);
    // The human-readable report goes to standard error then.
    assert!(said.err.starts_with("standard input: "), "{}", said.err);
}

#[test]
fn compressed_krun_results() {
    let directory = Directory::new();
    let mut rng = Rng::new(4);
    let starts: Vec<_> = (0..3).map(|_| start(&mut rng, 60, 5, 4.0)).collect();
    let krun = serde_json::json!({
        "audit": {"uname": "Linux"}, "config": "", "pexec_flags": {"b:v:d": ["C", "C", "C"]},
        "wallclock_times": {"b:v:d": starts, "not run:v:d": []},
    });
    let mut packed = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    packed.write_all(krun.to_string().as_bytes()).unwrap();
    // Detected from the content, not from the file name.
    file(&directory, "results", packed.finish().unwrap());
    let (said, report) = classify(&directory, &["results"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(report.benchmarks[0].format, Format::Krun);
    assert_eq!(report.benchmarks[0].discard, Some(5));
    assert_eq!(
        report.notes,
        ["results: 1 benchmark has no start that completed"]
    );
}

#[test]
fn recorded_runs_keep_their_class() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/h200");
    let directory = Directory::new();
    for name in ["linear", "compiled", "resnet50-train", "jax"] {
        let path = docs.join(format!("{name}.json"));
        let run: RunReport = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let (said, report) = classify(&directory, &[path.to_str().unwrap()]);
        assert_eq!(said.code, Some(0), "{}", said.err);
        let judged = &report.benchmarks[0];
        assert_eq!(judged.format, Format::Run);
        assert_eq!(Some(judged.class), run.class, "{name}");
        assert_eq!(
            judged.ratio.map(|r| r.value),
            run.ratio.map(|r| r.value),
            "{name}"
        );
    }
}

#[test]
fn documents_conform_to_the_schema() {
    let Some(python) = python_with("jsonschema") else {
        return;
    };
    const VALIDATE: &str = "
import json, sys, jsonschema
schema, document = (json.load(open(path)) for path in sys.argv[1:])
jsonschema.Draft202012Validator.check_schema(schema)
jsonschema.Draft202012Validator(schema).validate(document)
";
    let directory = Directory::new();
    file(&directory, "all.csv", csv());
    file(&directory, "bad.json", "[1, NaN]");
    let hyperfine = r#"{"results": [{"command": "a", "times": [0.2, 0.1, 0.1, 0.1]}]}"#;
    file(&directory, "h.json", hyperfine);
    let (said, report) = classify(&directory, &["all.csv", "bad.json", "h.json"]);
    assert_eq!(said.code, Some(2));
    assert_eq!(report.benchmarks[5].measures, Measures::Starts);
    let schema = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/schema/preheat.classify-2.schema.json");
    let validated = run(Command::new(&python)
        .args(["-c", VALIDATE])
        .arg(schema)
        .arg(directory.join("judged.json")));
    assert_eq!(validated.code, Some(0), "{}", validated.err);
}
