//! Checks of generated runs, and how often they err.

use preheat_analyze::check::{Budget, DraftError, check, draft, measured};
use preheat_model::Machine;
use preheat_model::check::{CheckReport, CheckSettings, Line, LineKind, Verdict};
use preheat_model::run::{
    Cause, CauseSeconds, IterationRule, IterationUnit, IterationsBy, MemoryReport, RUN_SCHEMA,
    RunReport, RunSettings, StartReport, Temperature,
};
use preheat_model::stats::{Estimate, Rng};

/// A start: three quarters imports, one quarter kernels; only the first iteration is slow.
fn start(at: usize, total: f64, first: f64) -> StartReport {
    let part = |cause, share| CauseSeconds {
        cause,
        seconds: share * total,
    };
    StartReport {
        temperature: Temperature::Process,
        first_start: at == 0,
        exit_code: 0,
        time_to_first: Some(total),
        wall: total + 1.0,
        causes: vec![
            part(Cause::PythonImports, 0.75),
            part(Cause::KernelLoading, 0.25),
        ],
        iterations: (0..20).map(|i| if i == 0 { first } else { 0.01 }).collect(),
        peak_resident: 1 << 30,
        peak_device: Some(1 << 29),
        evicted: None,
        damaged: false,
    }
}

fn run(starts: Vec<StartReport>) -> RunReport {
    let none = Estimate {
        value: 1.0,
        low: None,
        high: None,
    };
    RunReport {
        schema: RUN_SCHEMA.to_owned(),
        preheat: "0.1.0".to_owned(),
        created: "2026-03-01T12:34:56Z".to_owned(),
        command: vec!["./train".to_owned()],
        directory: "/".to_owned(),
        machine: Machine {
            os: String::new(),
            kernel: String::new(),
            cpu: String::new(),
            cores: 1,
            memory: 1,
        },
        settings: RunSettings {
            iterations: IterationRule::Auto,
            starts: starts.len(),
            seed: 1,
            limit: 1,
            synchronize: false,
            ended_early: None,
            ended_with: None,
        },
        environment: Vec::new(),
        iterations_by: IterationsBy::Python,
        iteration: "steps".to_owned(),
        unit: Some(IterationUnit::OptimizerStep),
        first_begin: None,
        time_to_first: none,
        first: None,
        steady: None,
        ratio: None,
        class: None,
        consistency: None,
        warmup: None,
        excess: None,
        second: None,
        best: None,
        first_to_second: None,
        counted_starts: 0,
        causes: Vec::new(),
        first_excess: Vec::new(),
        second_excess: Vec::new(),
        other_threads: Vec::new(),
        regions: Vec::new(),
        marks: Vec::new(),
        memory: MemoryReport::default(),
        ladder: Vec::new(),
        remedies: Vec::new(),
        starts,
        notes: Vec::new(),
    }
}

/// Five starts of 4 s, the first of which took 9 s and does not count.
fn five() -> RunReport {
    let times = [9.0, 3.9, 4.0, 4.1, 4.0];
    let starts = times.iter().enumerate();
    run(starts.map(|(at, time)| start(at, *time, 0.5)).collect())
}

fn checked(report: &RunReport, budget: &str) -> CheckReport {
    let budget = Budget::read(budget).unwrap();
    check(report, &budget, CheckSettings::default()).unwrap()
}

fn line(report: &RunReport, budget: &str) -> Line {
    checked(report, budget).lines.pop().unwrap()
}

#[test]
fn every_quantity_is_measured_correctly_and_can_be_met_or_exceeded() {
    let report = five();
    for (key, value, kept, exceeded) in [
        ("time_to_first", 4.0, "\"4.1 s\"", "\"3.8 s\""),
        ("first", 0.5, "\"501 ms\"", "\"499 ms\""),
        ("steady", 0.01, "\"11 ms\"", "\"9 ms\""),
        ("first_ratio", 50.0, "51", "\"49x\""),
        ("warmup", 1.0, "1", "0"),
        ("excess", 0.49, "\"491 ms\"", "\"489 ms\""),
        ("device_memory", 536870912.0, "\"513 MiB\"", "\"511 MiB\""),
        ("host_memory", 1073741824.0, "\"1.1 GiB\"", "\"1 GB\""),
        ("cause.\"PYTHON IMPORTS\"", 3.0, "\"3.1 s\"", "\"2.8 s\""),
        ("cause.\"graph capture\"", 0.0, "\"1 us\"", ""),
    ] {
        let pass = line(&report, &format!("{key} = {kept}"));
        let found = pass.measured.unwrap();
        assert!(
            (found.value - value).abs() < 1e-3 * value.max(1e-9),
            "{key}: {found:?}"
        );
        assert!(found.low.unwrap() <= found.value && found.high.unwrap() >= found.value);
        assert_eq!((pass.verdict, pass.starts), (Verdict::Pass, 4), "{key}");
        assert!(pass.used.unwrap() <= 1.0 && pass.reason.is_empty());
        if !exceeded.is_empty() {
            let fail = line(&report, &format!("{key} = {exceeded}"));
            assert_eq!(fail.verdict, Verdict::Fail, "{key}: {fail:?}");
            assert!(
                fail.reason.contains("the whole interval"),
                "{}",
                fail.reason
            );
            assert!(fail.used.is_none_or(|used| used > 1.0));
        }
    }
}

#[test]
fn uncertain_limits_are_inconclusive() {
    let line = line(&five(), "time_to_first = \"3.99 s\"");
    assert_eq!(line.verdict, Verdict::Inconclusive);
    assert!(
        line.reason.contains("4 starts are too few to decide"),
        "{}",
        line.reason
    );
    assert_eq!(
        checked(&five(), "time_to_first = \"3.99 s\"").verdict,
        Verdict::Inconclusive
    );
}

#[test]
fn without_an_interval_nothing_fails() {
    for (starts, counted) in [(1, 1), (2, 1), (3, 2)] {
        let report = run((0..starts).map(|at| start(at, 4.0, 0.5)).collect());
        let open = line(&report, "time_to_first = \"3.99 s\"");
        assert_eq!(
            (open.verdict, open.starts),
            (Verdict::Inconclusive, counted)
        );
        let hint = "; use --starts 4 or more (the first does not count)";
        assert!(open.reason.contains(hint), "{}", open.reason);
        let kept = line(&report, "time_to_first = \"4.01 s\"");
        assert_eq!(kept.verdict, Verdict::Pass);
    }
    let report = run(vec![start(1, 4.0, 0.5)]);
    let few = Budget::read("starts = 5\nfirst = \"1 s\"").unwrap();
    let error = check(&report, &few, CheckSettings::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("at least 5 starts") && error.contains("has 1"),
        "{error}"
    );
    assert!(error.contains("--starts 5"), "{error}");
}

#[test]
fn missing_measurements_fail_unless_allowed() {
    let mut report = five();
    for start in &mut report.starts {
        start.iterations.clear();
        start.peak_device = None;
    }
    let budget = Budget::read(
        "first = \"1 s\"\nwarmup = 3\ndevice_memory = \"1 GiB\"\n[temperature.disk]\nfirst = \"1 s\"",
    )
    .unwrap();
    let strict = check(&report, &budget, CheckSettings::default()).unwrap();
    assert_eq!(strict.verdict, Verdict::Fail);
    for line in &strict.lines {
        assert_eq!((line.verdict, line.measured), (Verdict::Fail, None));
        assert!(
            line.reason.starts_with("not measured: no "),
            "{}",
            line.reason
        );
    }
    assert!(strict.lines[3].reason.contains("--temperature disk"));
    let settings = CheckSettings {
        allow_missing: true,
        ..CheckSettings::default()
    };
    let lenient = check(&report, &budget, settings).unwrap();
    assert_eq!(lenient.verdict, Verdict::Pass);
    assert!(
        lenient
            .lines
            .iter()
            .all(|line| line.verdict == Verdict::NotMeasured)
    );
}

#[test]
fn starts_that_failed_fail_the_check() {
    let mut report = five();
    report.starts[2].exit_code = 139;
    let found = checked(&report, "time_to_first = \"9 s\"");
    assert_eq!(found.verdict, Verdict::Fail);
    assert_eq!(found.lines[0].limit, LineKind::ExitCode);
    assert!(
        found.lines[0]
            .reason
            .contains("1 of 5 starts ended with exit code 139")
    );
    assert_eq!(found.lines[1].verdict, Verdict::Pass);
    // A required exit code makes it pass.
    for start in &mut report.starts {
        start.exit_code = 143;
    }
    assert_eq!(checked(&report, "exit_code = 143").verdict, Verdict::Pass);
    assert_eq!(checked(&report, "first = \"1 s\"").verdict, Verdict::Fail);
    assert_eq!(draft(&report, 0.25).unwrap().exit_code, Some(143));
    report.starts[0].exit_code = 0;
    assert_eq!(
        draft(&report, 0.25).unwrap_err(),
        DraftError::DifferentExitCodes
    );
}

#[test]
fn colder_starts_have_separate_limits() {
    let mut report = five();
    for (at, time) in [8.0, 8.1, 7.9].into_iter().enumerate() {
        report.starts.push(StartReport {
            temperature: Temperature::Disk,
            ..start(5 + at, time, 0.9)
        });
    }
    let budget =
        "time_to_first = \"5 s\"\n[temperature.disk]\ntime_to_first = \"6 s\"\nfirst = \"1 s\"";
    let verdicts: Vec<Verdict> = (checked(&report, budget).lines.iter())
        .map(|line| line.verdict)
        .collect();
    assert_eq!(verdicts, [Verdict::Pass, Verdict::Fail, Verdict::Pass]);
    let all = measured(&report);
    assert_eq!(
        all.iter()
            .filter(|m| m.temperature == Temperature::Disk)
            .count(),
        1
    );
    assert_eq!(all.len(), 8 + 2 + 1);
    let drafted = draft(&report, 0.25).unwrap();
    assert_eq!(drafted.lines.last().unwrap().most, "10 s");
    assert!(drafted.lines.last().unwrap().colder);
}

#[test]
fn empty_runs_are_explained() {
    let empty = run(Vec::new());
    assert!(
        line(&empty, "first = \"1 s\"")
            .reason
            .contains("has no start")
    );
    assert!(draft(&empty, 0.25).is_err());
    assert!(measured(&empty).is_empty());
    // Only the total duration was recorded.
    let mut bare = five();
    for start in &mut bare.starts {
        start.time_to_first = None;
        start.causes.clear();
    }
    assert_eq!(
        line(&bare, "time_to_first = \"6 s\"").verdict,
        Verdict::Pass
    );
    let cause = line(&bare, "cause.idle = \"1 s\"");
    assert!(
        cause.reason.contains("no start was recorded"),
        "{}",
        cause.reason
    );
}

/// A program that is exactly at its limit must not fail builds more often than the one in
/// forty that a 95 % interval errs on one side, with some tolerance for chance.
#[test]
fn a_program_at_its_limit_fails_rarely_and_one_above_it_often() {
    let mut rng = Rng::new(11);
    let budget = Budget::read("time_to_first = \"4 s\"\nfirst = \"500 ms\"").unwrap();
    let mut failed = |factor: f64, trials: u64| {
        let mut failed = [0; 2];
        for trial in 0..trials {
            let mut noise = || factor * (0.03 * rng.normal()).exp();
            let starts = (0..10).map(|at| start(at, 4.0 * noise(), 0.5 * noise()));
            let mut report = run(starts.collect());
            report.settings.seed = trial;
            // Steady iterations do not matter here, and resampling them takes long.
            for start in &mut report.starts {
                start.iterations.truncate(4);
            }
            let found = check(&report, &budget, CheckSettings::default()).unwrap();
            for (count, line) in failed.iter_mut().zip(&found.lines) {
                *count += usize::from(line.verdict == Verdict::Fail);
            }
        }
        failed
    };
    let at_limit = failed(1.0, 300);
    let above = failed(1.1, 100);
    println!("{at_limit:?} of 300 at the limit, {above:?} of 100 a tenth above it");
    assert!(at_limit.iter().all(|count| *count <= 15), "{at_limit:?}");
    assert!(above.iter().all(|count| *count >= 95), "{above:?}");
}
