//! A differential fuzzer: it generates programs and changes at random, and checks that a start
//! with preheat cannot be distinguished from a plain start.
//!
//! PREHEAT_FUZZ_CASES sets the number of cases (200 by default), PREHEAT_FUZZ_SEED the first seed,
//! and PREHEAT_FUZZ_PROGRAM repeats the program of a failure. PREHEAT_FUZZ_RESULTS names a file for
//! the numbers.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, thread};

#[path = "start/files.rs"]
mod files;
mod support;
#[path = "start/warm.rs"]
mod warm;
mod fuzz {
    pub mod case;
    pub mod change;
    pub mod known;
    pub mod program;
    pub mod random;
}
use fuzz::case::{AHEAD, Case, Outcome};
use fuzz::change::{CHANGES, Change};
use fuzz::known::{ANY, KNOWN};
use fuzz::program::Program;
use fuzz::random::Random;
use warm::Warm;

/// Changes that each program meets: none, and some others.
const CHANGES_EACH: u64 = 5;

/// Numbers of a run.
#[derive(Default)]
struct Tally {
    cases: u64,
    /// The number of starts by the first words of preheat's message.
    ways: BTreeMap<String, u64>,
    /// Programs that have no warm parent, by the reason.
    refused: BTreeMap<String, u64>,
    /// Known differences that were met.
    known: BTreeMap<&'static str, u64>,
    failures: Vec<String>,
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("it is a number"))
}

#[test]
fn generated_programs_are_the_same_plainly_and_warm() {
    let Some(python) = support::python_with("numpy") else {
        return;
    };
    let cases = number("PREHEAT_FUZZ_CASES").unwrap_or(200);
    let seed = number("PREHEAT_FUZZ_SEED").unwrap_or(1);
    let (first, programs) = match number("PREHEAT_FUZZ_PROGRAM") {
        Some(program) => (program, 1),
        None => (seed * 1_000_000, cases.div_ceil(CHANGES_EACH)),
    };
    let (next, tally) = (AtomicU64::new(0), Mutex::new(Tally::default()));
    let workers = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let warm = Warm::with(python.clone()).expect("a directory");
                let packages = warm.venv();
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= programs {
                        return;
                    }
                    try_program(first + at, &warm, &packages, &tally);
                }
            });
        }
    });
    let tally = tally.into_inner().expect("nobody has failed with it");
    let summary = summary(&tally, first);
    println!("{summary}");
    if let Some(path) = std::env::var_os("PREHEAT_FUZZ_RESULTS") {
        fs::write(path, &summary).expect("the results are written");
    }
    assert!(
        tally.failures.is_empty(),
        "{} of {} cases differ:\n{}",
        tally.failures.len(),
        tally.cases,
        tally.failures.join("\n")
    );
    let count = |way: &str| tally.ways.get(way).copied().unwrap_or(0);
    let warm = count("started warm") + count(AHEAD);
    assert!(
        programs == 1 || warm * 3 > tally.cases,
        "too few were warm:\n{summary}"
    );
}

/// One program, and its starts after some changes.
fn try_program(serial: u64, warm: &Warm, packages: &std::path::Path, tally: &Mutex<Tally>) {
    let mut random = Random::new(serial);
    let program = Program::new(&mut random, format!("fz{serial}"));
    let mut case = Case::new(warm, packages, &program);
    let mut changes = vec![Change::of("nothing")];
    while (changes.len() as u64) < CHANGES_EACH {
        let change = &CHANGES[random.below(CHANGES.len())];
        if !changes.iter().any(|other| other.name == change.name) {
            changes.push(change);
        }
    }
    if let Some(why) = &case.refusal {
        let mut tally = tally.lock().expect("nobody has failed with it");
        *tally.refused.entry(reason(why)).or_default() += 1;
    }
    for change in changes {
        let Outcome { how, difference } = case.after(change);
        let mut tally = tally.lock().expect("nobody has failed with it");
        tally.cases += 1;
        let way = [AHEAD, "started warm", "started plainly"]
            .into_iter()
            .find(|way| how.contains(way));
        *tally
            .ways
            .entry(way.unwrap_or("unknown").into())
            .or_default() += 1;
        if difference.is_empty() {
            continue;
        }
        let known = KNOWN.iter().find(|known| {
            let has = |name: &&str| program.has(name);
            (known.change == ANY || known.change == change.name) && known.statements.iter().all(has)
        });
        match known {
            Some(known) => *tally.known.entry(known.why).or_default() += 1,
            None => tally.failures.push(format!(
                "== PREHEAT_FUZZ_PROGRAM={serial}, {}\n{how}\n{difference}-- program\n{}",
                change.name,
                case.shown()
            )),
        }
    }
}

/// A reason without what differs from program to program.
fn reason(why: &str) -> String {
    let why = why
        .trim()
        .trim_start_matches("preheat: there is no warm parent: ");
    let words = why
        .split(' ')
        .filter(|word| !word.contains("fz") && !word.contains('/'));
    words.collect::<Vec<_>>().join(" ")
}

fn summary(tally: &Tally, first: u64) -> String {
    let mut text = format!("{} cases, from program {first} on\n", tally.cases);
    let tables = [
        ("starts", &tally.ways),
        ("programs without a warm parent", &tally.refused),
    ];
    for (title, table) in tables {
        let _ = writeln!(text, "\n{title}:");
        for (name, count) in table {
            let _ = writeln!(text, "{count:>6}  {name}");
        }
    }
    let _ = writeln!(text, "\nknown differences that were met:");
    for (why, count) in &tally.known {
        let _ = writeln!(text, "{count:>6}  {why}");
    }
    let _ = writeln!(text, "\nunexpected differences: {}", tally.failures.len());
    text
}

/// Few generated programs ask for what these changes change.
#[test]
fn namespaces_and_limits_are_those_of_the_start() {
    let Some(python) = support::python_with("numpy") else {
        return;
    };
    let warm = Warm::with(python).expect("a directory");
    let packages = warm.venv();
    let statements = [
        "numpy",
        "m_host",
        "m_processors",
        "m_limit",
        "host",
        "processors",
        "limits",
    ];
    let program = Program::of(&statements, "fznamespaces".into());
    let mut case = Case::new(&warm, &packages, &program);
    for name in [
        "nothing",
        "limits_stack",
        "limits_memory",
        "limits_processors",
        "other_host",
        "other_network",
        "other_mounts",
    ] {
        let Outcome { how, difference } = case.after(Change::of(name));
        assert!(difference.is_empty(), "{name}: {how}\n{difference}");
        assert!(name != "nothing" || how.contains("started warm"), "{how}");
    }
}

#[test]
fn known_differences_are_still_there() {
    let Some(python) = support::python_with("numpy") else {
        return;
    };
    let warm = Warm::with(python).expect("a directory");
    let packages = warm.venv();
    let mut gone = String::new();
    for (at, known) in KNOWN.iter().enumerate() {
        let program = Program::of(known.statements, format!("fzknown{at}"));
        let mut case = Case::new(&warm, &packages, &program);
        let change = match known.change {
            ANY => "nothing",
            change => change,
        };
        let Outcome { how, difference } = case.after(Change::of(change));
        if difference.is_empty() {
            let _ = writeln!(gone, "{:?} after {change}: {how}", known.statements);
        }
    }
    assert!(
        gone.is_empty(),
        "these are the same plainly and warm now; their lines in fuzz/known.rs go:\n{gone}"
    );
}
