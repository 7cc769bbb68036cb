//! Snapshots of the renderings of a check. `PREHEAT_UPDATE_SNAPSHOTS=1` updates them.

mod common;

use std::path::Path;

use common::check;
use preheat_analyze::check::draft;
use preheat_model::check::CheckReport;
use preheat_report::{
    Terminal, check_benchmark_action, check_bmf, check_draft, check_github, check_json,
    check_junit, check_markdown, check_terminal,
};

fn compare(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/snapshots")
        .join(name);
    if std::env::var_os("PREHEAT_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&file, text).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == text,
        "{} is not what is shown now:\n{text}",
        file.display()
    );
}

fn at(report: &CheckReport, width: usize) -> String {
    let terminal = Terminal {
        width,
        color: false,
        unicode: true,
    };
    check_terminal(report, &terminal)
}

#[test]
fn human_readable_reports() {
    for width in [50, 80, 120] {
        compare(
            &format!("check-failed-{width}.txt"),
            &at(&check::failed(), width),
        );
    }
    compare("check-passed-80.txt", &at(&check::passed(), 80));
    compare("check-doubtful-80.txt", &at(&check::doubtful(), 80));
    compare("check-doubtful-120.txt", &at(&check::doubtful(), 120));
}

#[test]
fn ci_reports() {
    compare("check-failed.md", &check_markdown(&check::failed()));
    compare("check-hostile.md", &check_markdown(&check::hostile()));
    compare("check-failed-github.txt", &check_github(&check::failed()));
    compare(
        "check-doubtful-github.txt",
        &check_github(&check::doubtful()),
    );
    compare("check-hostile-github.txt", &check_github(&check::hostile()));
    compare("check-failed-junit.xml", &check_junit(&check::failed()));
    compare("check-doubtful-junit.xml", &check_junit(&check::doubtful()));
    assert_eq!(check_github(&check::passed()), "");
}

#[test]
fn machine_readable_reports() {
    compare("check-doubtful.json", &check_json(&check::doubtful()));
    compare("check-failed-bmf.json", &check_bmf(&check::failed()));
    compare(
        "check-failed-benchmark-action.json",
        &check_benchmark_action(&check::failed()),
    );
}

#[test]
fn new_budget() {
    let report = check::training();
    let draft = draft(&report, 0.25).unwrap();
    compare("check-init.toml", &check_draft(&draft, &report));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for report in check::all() {
        for width in [1, 10, 24, 40, 60, 79, 80, 100, 120, 200] {
            for (color, unicode) in [(false, false), (false, true), (true, true)] {
                let terminal = Terminal {
                    width,
                    color,
                    unicode,
                };
                let text = check_terminal(&report, &terminal);
                for line in bare(&text).lines() {
                    assert!(line.chars().count() <= width, "{width}: {line:?}");
                    assert_eq!(line, line.trim_end());
                    assert!(!line.chars().any(char::is_control));
                    assert!(unicode || line.is_ascii());
                }
                assert!(text.ends_with('\n') && !text.ends_with("\n\n"));
            }
        }
    }
}

/// Removes color escapes.
fn bare(text: &str) -> String {
    let mut bare = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        bare.push_str(before);
        rest = after.split_once('m').map_or("", |(_, after)| after);
    }
    bare + rest
}

#[test]
fn each_annotation_is_one_line() {
    let text = check_github(&check::hostile());
    assert_eq!(text.lines().count(), 4);
    for line in text.lines() {
        assert!(line.starts_with("::error "), "{line}");
        let (properties, _) = line["::error ".len()..].split_once("::").unwrap();
        for property in properties.split(',') {
            assert!(property.contains('='), "{line}");
        }
    }
}
