//! Made-up iteration times with known classes, classified by the real code.

use preheat_analyze::classify::judge;
use preheat_model::classify::{CLASSIFY_SCHEMA, ClassifyReport, Format, Measures, Times, Unread};
use preheat_model::stats::Rng;

/// A report and its times.
pub struct Judged {
    pub report: ClassifyReport,
    pub times: Vec<Times>,
}

/// `n` iterations of 10 ms, the first `slow` of which take `factor` times as long.
fn start(rng: &mut Rng, n: usize, slow: usize, factor: f64) -> Vec<f64> {
    (0..n)
        .map(|at| if at < slow { 0.01 * factor } else { 0.01 })
        .map(|level| level * (0.01 * rng.normal()).exp())
        .collect()
}

/// Iterations that only get slower.
fn climbing(rng: &mut Rng, n: usize) -> Vec<f64> {
    (0..n)
        .map(|at| 0.01 * (2.0 * at as f64 / n as f64).exp() * (0.01 * rng.normal()).exp())
        .collect()
}

fn times(name: &str, starts: Vec<Vec<f64>>) -> Times {
    Times {
        name: name.to_owned(),
        measures: Measures::Iterations,
        starts,
        notes: Vec::new(),
    }
}

/// Classifies the times as if they came from this file.
pub fn judged(file: &str, format: Format, times: Vec<Times>) -> Judged {
    let benchmarks = (times.iter())
        .map(|times| judge(times, file, format, 1, 1).expect("they are times"))
        .collect();
    Judged {
        report: ClassifyReport {
            schema: CLASSIFY_SCHEMA.to_owned(),
            preheat: "0.1.0".to_owned(),
            seed: 1,
            files: 1,
            benchmarks,
            unread: Vec::new(),
            notes: Vec::new(),
        },
        times,
    }
}

/// One benchmark of ten starts that warms up.
pub fn one() -> Judged {
    let mut rng = Rng::new(5);
    let lengths = [31, 34, 29, 30, 33, 30, 32, 31, 30, 34];
    let starts = (lengths.iter())
        .map(|slow| start(&mut rng, 400, *slow, 3.0))
        .collect();
    judged(
        "results/fannkuch.csv",
        Format::WarmupStats,
        vec![times("fannkuch", starts)],
    )
}

/// Runs of hyperfine: two commands.
pub fn starts() -> Judged {
    let mut rng = Rng::new(6);
    let mut series = |name: &str, slow: usize| Times {
        measures: Measures::Starts,
        notes: vec!["these are starts, not iterations".to_owned()],
        ..times(name, vec![start(&mut rng, 30, slow, 2.0)])
    };
    let times = vec![series("./program --fast", 0), series("python train.py", 2)];
    judged("hyperfine.json", Format::Hyperfine, times)
}

/// All classes, starts that disagree, and files that could not be read.
pub fn many() -> Judged {
    let mut rng = Rng::new(7);
    let mut all = Vec::new();
    let shapes = [
        ("spectral_norm:CPython:default-python", 0, 1.0),
        ("nbody:PyPy:default-python", 1, 200.0),
        ("fannkuch_redux:PyPy:default-python", 40, 3.0),
        ("binarytrees:Graal:default-java", 2, 1.4),
        ("fasta:HHVM:default-php", 60, 0.7),
    ];
    for (name, slow, factor) in shapes {
        let starts = (0..10)
            .map(|_| start(&mut rng, 300, slow, factor))
            .collect();
        all.push(times(name, starts));
    }
    let never = (0..10).map(|_| climbing(&mut rng, 300)).collect();
    all.push(times("richards:JRuby:default-ruby", never));
    let mut mixed: Vec<Vec<f64>> = (0..8).map(|_| start(&mut rng, 300, 1, 20.0)).collect();
    mixed.push(climbing(&mut rng, 300));
    mixed.push(start(&mut rng, 300, 30, 2.0));
    all.push(times("dacapo.h2 (size=large)", mixed));
    let mut found = judged("krun.json.bz2", Format::Krun, all);
    found.report.files = 3;
    found.report.notes = vec!["krun.json.bz2: 1 benchmark has no start that completed".to_owned()];
    found.report.unread = vec![Unread {
        file: "broken.json".to_owned(),
        why: "line 3, column 14, .results[0].times[7]: -0.5 is not a time: it is below 0"
            .to_owned(),
    }];
    found
}

/// Names that try to inject markup, and more benchmarks than a page plots.
pub fn hostile() -> Judged {
    let mut rng = Rng::new(8);
    let evil = "<script>alert(1)</script>\u{1b}[31m\"'&";
    let many = (0..70).map(|at| {
        let name = format!("{evil}{}{at}", "very-long-".repeat(12));
        times(&name, vec![start(&mut rng, 40, at % 3, 5.0)])
    });
    let mut found = judged(evil, Format::Lines, many.collect());
    found.report.unread = vec![Unread {
        file: evil.to_owned(),
        why: evil.to_owned(),
    }];
    found.report.notes = vec![evil.to_owned()];
    found
}

/// Only files that could not be read.
pub fn empty() -> Judged {
    let mut found = judged("none", Format::Json, Vec::new());
    found.report.unread = many().report.unread;
    found
}
