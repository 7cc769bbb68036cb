//! Recordings of programs, and invariants of every report.

use preheat_analyze::run::{Findings, analyze};
use preheat_model::Machine;
use preheat_model::run::trace::{Process, StartTrace};
use preheat_model::run::{
    Cause, Manifest, RECORDING_SCHEMA, Recording, RunReport, RunSettings, StartInfo, Temperature,
};

use super::ns;

pub fn start(processes: Vec<Process>, end: f64) -> StartTrace {
    StartTrace {
        end: ns(end),
        pid: processes[0].pid,
        processes,
        ..StartTrace::default()
    }
}

pub fn recording(iterations: &str, starts: Vec<StartTrace>) -> Recording {
    let info = |(index, start): (usize, &StartTrace)| StartInfo {
        directory: format!("start-{index}"),
        temperature: Temperature::Process,
        exec: 1_000_000_000,
        end: 1_000_000_000 + start.end,
        pid: start.pid,
        exit_code: 0,
        peak_resident: 1 << 30,
        evicted: None,
        unrecorded: None,
    };
    Recording {
        manifest: Manifest {
            schema: RECORDING_SCHEMA.to_owned(),
            preheat: "0.1.0".to_owned(),
            created: "2026-01-01T00:00:00Z".to_owned(),
            command: vec!["python".to_owned(), "train.py".to_owned()],
            directory: "/home/me".to_owned(),
            machine: Machine {
                os: "Linux".to_owned(),
                kernel: "6.1".to_owned(),
                cpu: "a processor".to_owned(),
                cores: 2,
                memory: 1 << 34,
            },
            settings: RunSettings {
                iterations: iterations.parse().expect("a rule"),
                starts: starts.len(),
                seed: 7,
                limit: 1 << 28,
                synchronize: false,
                ended_early: None,
                ended_with: None,
            },
            environment: Vec::new(),
            starts: starts.iter().enumerate().map(info).collect(),
            timers: Default::default(),
            started_plainly: None,
            optional_imports: Vec::new(),
            shared_imports: Vec::new(),
            notes: Vec::new(),
        },
        starts,
    }
}

/// Analyzes one start, and checks the invariants.
pub fn findings(iterations: &str, start: StartTrace) -> Findings {
    let findings = analyze(&recording(iterations, vec![start]));
    check(&findings);
    findings
}

/// Checks the invariants of a report.
pub fn check(findings: &Findings) {
    let report = &findings.report;
    let total = report.time_to_first.value;
    let sum: f64 = report.causes.iter().map(|cause| cause.seconds).sum();
    assert!((sum - total).abs() <= 1e-6 * total, "{sum} is not {total}");
    for start in &report.starts {
        if let Some(time) = start.time_to_first {
            let sum: f64 = start.causes.iter().map(|cause| cause.seconds).sum();
            assert!((sum - time).abs() < 1e-9, "{sum} is not {time}");
        }
    }
    for cause in &report.causes {
        let items: f64 = cause.items.iter().map(|item| item.seconds).sum();
        assert!(items <= cause.seconds * 1.0001 + 1e-9, "{cause:?}");
    }
    for start in &findings.starts {
        let path = &start.path;
        assert!(path.first().is_none_or(|part| part.begin == 0));
        assert!(path.windows(2).all(|pair| pair[0].end == pair[1].begin));
    }
    let view = &findings.view;
    assert!(view.path.len() <= 1500 && view.memory.len() <= 600 && view.rows.len() <= 12);
    assert!(view.rows.iter().map(|row| row.bars.len()).sum::<usize>() <= 3000);
}

/// Milliseconds of a cause.
pub fn of(report: &RunReport, cause: Cause) -> f64 {
    let found = report.causes.iter().find(|found| found.cause == cause);
    found.map_or(0.0, |found| found.seconds * 1e3)
}

/// Milliseconds of an item, which must exist.
pub fn item(report: &RunReport, cause: Cause, name: &str) -> f64 {
    let found = report.causes.iter().find(|found| found.cause == cause);
    let items = found.map_or(&[][..], |found| &found.items[..]);
    let item = items.iter().find(|item| item.name == name);
    item.unwrap_or_else(|| panic!("{name} is not in {items:?}"))
        .seconds
        * 1e3
}

pub fn close(found: f64, planted: f64) {
    let off = (found - planted).abs();
    assert!(off <= 0.01 * planted + 1e-6, "{found} is not {planted}");
}
