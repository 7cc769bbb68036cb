//! `preheat compare` with saved results: recordings from an H200, lab results, and invalid
//! input.

use std::fs;
use std::path::{Path, PathBuf};

use preheat_model::compare::{CompareKind, Verdict};
use serde_json::Value;

mod support;
use support::{Directory, compare, compared, preheat, run, unpack};

fn lab() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/h200/lab-no-bytecode.json")
}

#[test]
fn compares_gpu_recordings() {
    let directory = Directory::new();
    unpack(&directory, "linear");
    unpack(&directory, "resnet50-train");
    let said = compare(&directory, &["linear", "linear"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let report = compared(&directory);
    assert!(
        report
            .quantities
            .iter()
            .all(|q| q.difference.is_some_and(|by| by.value == 0.0))
    );
    assert!(
        report
            .causes
            .iter()
            .all(|c| c.difference.value == 0.0 && c.items.is_empty())
    );
    assert!(
        report
            .notes
            .iter()
            .any(|note| note == "both sides are the same result")
    );
    assert!(
        report
            .quantities
            .iter()
            .any(|q| q.id.id() == "device-memory")
    );
    let said = compare(&directory, &["linear", "linear", "--fail-on-inconclusive"]);
    assert_eq!(said.code, Some(3), "one start each decides nothing");

    let said = compare(
        &directory,
        &["linear", "resnet50-train", "--html", "page.html"],
    );
    assert_eq!(said.code, Some(0), "{}", said.err);
    let report = compared(&directory);
    let text = &report.headline.text;
    assert!(text.contains("inconclusive with so few starts"), "{text}");
    let loading = report
        .causes
        .iter()
        .find(|cause| cause.cause.as_str() == "kernel loading")
        .expect("kernels are loaded");
    assert!(loading.difference.value > 0.0);
    assert_eq!(loading.items[0].name, "cuLibraryLoadData");
    assert!(
        loading
            .items
            .iter()
            .any(|item| item.name.contains("softmax"))
    );
}

#[test]
fn compares_lab_results_by_series() {
    let directory = Directory::new();
    let mut document: Value = serde_json::from_slice(&fs::read(lab()).unwrap()).unwrap();
    fs::write(directory.join("base.json"), document.to_string()).unwrap();
    // Creating a context takes three times as long.
    for experiment in document["experiments"].as_array_mut().unwrap() {
        if experiment["id"] != "init" {
            continue;
        }
        for series in experiment["series"].as_array_mut().unwrap() {
            if series["name"] == "create context" {
                for value in series["iterations"].as_array_mut().unwrap() {
                    value[0] = (value[0].as_f64().unwrap() * 3.0).into();
                }
            }
        }
    }
    fs::write(directory.join("new.json"), document.to_string()).unwrap();
    let said = compare(&directory, &["base.json", "new.json"]);
    assert_eq!(said.code, Some(1), "{}{}", said.out, said.err);
    let report = compared(&directory);
    assert_eq!(report.kind, CompareKind::Lab);
    let text = &report.headline.text;
    assert!(
        text.starts_with("init, create context (cuda) time: +"),
        "{text}"
    );
    let changed: Vec<&str> = (report.quantities.iter())
        .filter(|quantity| quantity.verdict == Verdict::Slower)
        .filter_map(|quantity| Some(quantity.of.as_ref()?.series.as_str()))
        .collect();
    assert_eq!(changed, ["create context"]);
    assert_eq!(report.quantities.iter().filter(|q| q.regressed).count(), 1);
    let said = compare(&directory, &["base.json", "base.json"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let changed = |q: &preheat_model::compare::QuantityChange| {
        matches!(q.verdict, Verdict::Slower | Verdict::Faster)
    };
    assert!(!compared(&directory).quantities.iter().any(changed));
}

#[test]
fn invalid_input_is_reported() {
    let directory = Directory::new();
    unpack(&directory, "linear");
    let lab = lab();
    let lab = lab.to_str().expect("its path is text");
    let run_document = run(preheat()
        .current_dir(directory.path())
        .args(["report", "linear", "--json", "run.json"]));
    assert_eq!(run_document.code, Some(0), "{}", run_document.err);
    let text = fs::read_to_string(directory.join("run.json")).unwrap();
    let write = |name: &str, text: &str| fs::write(directory.join(name), text).unwrap();
    write("empty.json", "");
    write("cut.json", &text[..text.len() / 2]);
    write("other.json", "{\"schema\": \"preheat.check/1\"}");
    write("newer.json", "{\"schema\": \"preheat.run/7\"}");
    let mut wrong: Value = serde_json::from_str(&text).unwrap();
    wrong["starts"][0]["time_to_first"] = (-1.0).into();
    write("negative.json", &wrong.to_string());
    fs::create_dir(directory.join("nothing")).unwrap();
    for (arguments, part) in [
        (&["linear", "absent.json"][..], "cannot read absent.json"),
        (
            &["linear", "empty.json"],
            "empty.json is not JSON, or is truncated",
        ),
        (
            &["cut.json", "linear"],
            "cut.json is not JSON, or is truncated",
        ),
        (&["linear", "other.json"], "is not a `preheat run`"),
        (&["linear", "newer.json"], "a newer preheat is needed"),
        (
            &["negative.json", "linear"],
            "start 1: time_to_first of -1 s is out of range",
        ),
        (&["linear", "nothing"], "nothing"),
        (
            &["linear", "python train.py"],
            "compare two saved results or two commands",
        ),
        (
            &["python train.py", "run.json"],
            "run.json is a saved result",
        ),
        (&["linear", lab], "compare two of the same type"),
        (&[lab, "run.json"], "BASE is a `preheat lab` result"),
        (
            &["linear", "run.json", "--starts", "4"],
            "--starts applies only to commands",
        ),
        (
            &["linear", "linear", "--output", "x"],
            "--output applies only to commands",
        ),
        (
            &["run.json", "run.json", "--iterations", "kernels"],
            "--iterations needs a recording",
        ),
        (&["-", "-"], "only one of the two can be"),
        (
            &["true | cat", "true"],
            "BASE is not a valid command: `|` is shell syntax",
        ),
        (&["true", "echo 'a"], "NEW is not a valid command"),
        (&["true", ""], "it is empty"),
        (&["linear", "linear", "--max-regression", "0"], "as in 5%"),
        (
            &["linear", "linear", "--min-change", "fast"],
            "a time is written as",
        ),
        (
            &["linear", "linear", "--gate", "speed"],
            "[possible values: time-to-first",
        ),
        (
            &["true", "true", "--all-output", "--html", "-"],
            "the commands write to standard output",
        ),
        (&["linear"], "<NEW>"),
    ] {
        let said = compare(&directory, arguments);
        assert_eq!(
            said.code,
            Some(2),
            "{arguments:?}: {}{}",
            said.out,
            said.err
        );
        assert!(said.err.contains(part), "{arguments:?}: {}", said.err);
        assert!(!said.err.contains("panicked"), "{}", said.err);
    }
    // One side is standard input.
    let piped = fs::File::open(directory.join("run.json")).unwrap();
    let said = run(preheat()
        .current_dir(directory.path())
        .args(["compare", "linear", "-"])
        .stdin(piped));
    assert_eq!(said.code, Some(0), "{}", said.err);
}

#[test]
fn a_saved_comparison_is_shown_again() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/h200");
    let directory = Directory::new();
    let first = kept.join("first/train.json");
    let again = kept.join("first/train_initialized.json");
    let (first, again) = (first.to_str().unwrap(), again.to_str().unwrap());
    let shown = compare(&directory, &[first, again]);
    fs::rename(directory.join("compare.json"), directory.join("saved.json")).unwrap();
    let report = |arguments: &[&str]| {
        run(preheat()
            .current_dir(directory.path())
            .arg("report")
            .args(arguments))
    };
    let said = report(&["saved.json"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(said.out, shown.out);
    let said = report(&["saved.json", "--html", "page.html"]);
    assert_eq!(said.out, "wrote page.html\n", "{}", said.err);
    let page = fs::read_to_string(directory.join("page.html")).unwrap();
    assert!(page.contains("preheat compare"));
    let said = report(&["saved.json", "--csv", "x.csv"]);
    assert_eq!(said.code, Some(2));
    // It is not a side of another comparison.
    let said = compare(&directory, &["saved.json", first]);
    assert_eq!(said.code, Some(2));
    assert!(
        said.err.contains("saved.json is a comparison"),
        "{}",
        said.err
    );
}
