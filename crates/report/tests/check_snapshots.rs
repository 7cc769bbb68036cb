//! Snapshots of the renderings of a check.

mod common;
mod snapshot;

use common::check;
use common::rendering::assert_fits;
use preheat_analyze::check::draft;
use preheat_model::check::CheckReport;
use preheat_report::{
    Terminal, check_benchmark_action, check_bmf, check_draft, check_github, check_json,
    check_junit, check_markdown, check_terminal,
};
use snapshot::{assert_snapshot, terminal};

fn at(report: &CheckReport, width: usize) -> String {
    check_terminal(report, &terminal(width, false))
}

#[test]
fn human_readable_reports() {
    for width in [50, 80, 120] {
        assert_snapshot(
            &format!("check-failed-{width}"),
            &at(&check::failed(), width),
        );
    }
    assert_snapshot("check-passed-80", &at(&check::passed(), 80));
    assert_snapshot("check-doubtful-80", &at(&check::doubtful(), 80));
    assert_snapshot("check-doubtful-120", &at(&check::doubtful(), 120));
}

#[test]
fn ci_reports() {
    assert_snapshot("check-failed", &check_markdown(&check::failed()));
    assert_snapshot("check-hostile", &check_markdown(&check::hostile()));
    assert_snapshot("check-failed-github", &check_github(&check::failed()));
    assert_snapshot("check-doubtful-github", &check_github(&check::doubtful()));
    assert_snapshot("check-hostile-github", &check_github(&check::hostile()));
    assert_snapshot("check-failed-junit", &check_junit(&check::failed()));
    assert_snapshot("check-doubtful-junit", &check_junit(&check::doubtful()));
    assert_eq!(check_github(&check::passed()), "");
}

#[test]
fn machine_readable_reports() {
    assert_snapshot("check-doubtful", &check_json(&check::doubtful()));
    assert_snapshot("check-failed-bmf", &check_bmf(&check::failed()));
    assert_snapshot(
        "check-failed-benchmark-action",
        &check_benchmark_action(&check::failed()),
    );
}

#[test]
fn new_budget() {
    let report = check::training();
    let draft = draft(&report, 0.25).unwrap();
    assert_snapshot("check-init", &check_draft(&draft, &report));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for report in check::all() {
        assert_fits(|width, color, unicode| {
            let terminal = Terminal {
                width,
                color,
                unicode,
            };
            check_terminal(&report, &terminal)
        });
    }
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
