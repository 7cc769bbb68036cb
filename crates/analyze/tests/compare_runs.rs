//! Comparisons of two runs: the headline, its causes and items, the gate and the notes.

mod simulated;

use preheat_analyze::compare::{RunInput, Settings, compare_runs};
use preheat_model::Quantity;
use preheat_model::compare::{Change, CompareKind, CompareReport, Compared, Verdict};
use preheat_model::run::trace::Clock;
use preheat_model::run::{
    AllItems, Cause, CauseSeconds, ImportedModule, Item, IterationUnit, RegionReport, RunReport,
    Temperature,
};
use preheat_model::stats::{Estimate, Rng};
use simulated::{Truth, run};

fn reports(starts: usize, noise: f64, seed: u64) -> (RunReport, RunReport) {
    let truth = Truth {
        starts,
        first: 0.5,
        noise,
        two_levels: false,
        draw: Rng::normal,
    };
    let mut rng = Rng::new(seed);
    (run(&truth, &mut rng), run(&truth, &mut rng))
}

/// Adds this much time of a cause to each start of the run.
fn plant(report: &mut RunReport, cause: Cause, seconds: f64) {
    for start in &mut report.starts {
        match start.causes.iter_mut().find(|part| part.cause == cause) {
            Some(part) => part.seconds += seconds,
            None => start.causes.push(CauseSeconds { cause, seconds }),
        }
        start.time_to_first = start.time_to_first.map(|time| time + seconds);
    }
}

fn module(name: &str, parent: Option<usize>, own: f64) -> ImportedModule {
    ImportedModule {
        name: name.to_owned(),
        detail: String::new(),
        parent,
        own,
    }
}

fn with_modules(modules: Vec<ImportedModule>) -> AllItems {
    AllItems {
        modules,
        ..AllItems::default()
    }
}

fn compared(base: (&RunReport, &AllItems), new: (&RunReport, &AllItems)) -> CompareReport {
    compared_with(base, new, &Settings::new(CompareKind::Runs, "0.1.0"))
}

fn compared_with(
    base: (&RunReport, &AllItems),
    new: (&RunReport, &AllItems),
    settings: &Settings,
) -> CompareReport {
    let input = |source, (report, all_items)| RunInput {
        source,
        report,
        all_items: Some(all_items),
    };
    compare_runs(&input("a", base), &input("b", new), settings)
}

fn verdict(report: &CompareReport, id: &str) -> Verdict {
    let found = report
        .quantities
        .iter()
        .find(|quantity| quantity.id.id() == id);
    found.expect("it exists").verdict
}

#[test]
fn the_headline_names_the_planted_import() {
    let (base, mut new) = reports(10, 0.01, 1);
    plant(&mut new, Cause::PythonImports, 1.9);
    let before = with_modules(vec![module("torch", None, 1.2)]);
    let after = with_modules(vec![
        module("torch", None, 1.2),
        module("helpers", None, 0.01),
        module("sympy", Some(1), 0.5),
        module("sympy.core", Some(2), 1.39),
    ]);
    let report = compared((&base, &before), (&new, &after));
    assert_eq!(report.headline.text, "+1.9 s: Python imports, sympy is new");
    assert_eq!(
        report.headline.quantity.map(|of| of.id()),
        Some("time-to-first")
    );
    assert_eq!(report.headline.cause, Some(Cause::PythonImports));
    assert_eq!(report.headline.items, ["sympy"]);
    assert_eq!((report.verdict, report.regressed), (Verdict::Slower, true));
    assert_eq!(report.causes[0].cause, Cause::PythonImports);
    assert_eq!(report.causes[0].items[0].change, Change::New);
    // The causes add up to the change.
    let sum: f64 = report.causes.iter().map(|c| c.difference.value).sum();
    assert!((sum - 1.9).abs() < 0.1, "{sum}");

    let report = compared((&new, &after), (&base, &before));
    assert_eq!(
        report.headline.text,
        "−1.9 s: Python imports, sympy is gone"
    );
    assert_eq!((report.verdict, report.regressed), (Verdict::Faster, false));
}

#[test]
fn two_causes_are_named_where_none_is_most_of_it() {
    let (base, mut new) = reports(10, 0.01, 2);
    plant(&mut new, Cause::KernelLoading, 0.6);
    plant(&mut new, Cause::KernelCompilation, 0.5);
    let nothing = AllItems::default();
    let report = compared((&base, &nothing), (&new, &nothing));
    let text = &report.headline.text;
    assert!(text.contains(" s: kernel loading (+"), "{text}");
    assert!(text.contains(" and kernel compilation (+"), "{text}");
}

#[test]
fn two_items_are_named_together() {
    let (base, mut new) = reports(10, 0.01, 3);
    plant(&mut new, Cause::LibraryLoading, 1.0);
    let item = |name: &str, seconds| Item {
        seconds,
        inclusive: seconds,
        count: 1,
        ..Item::named(name)
    };
    let mut after = AllItems::default();
    after.items[Cause::LibraryLoading.index()] = vec![
        item("libone.so", 0.45),
        item("libtwo.so", 0.4),
        item("libthree.so", 0.1),
    ];
    let report = compared((&base, &AllItems::default()), (&new, &after));
    let text = &report.headline.text;
    assert!(
        text.ends_with("library loading, libone.so and libtwo.so are new"),
        "{text}"
    );
}

#[test]
fn iterations_of_different_kinds_cannot_fail() {
    let (mut base, mut new) = reports(10, 0.03, 4);
    for start in &mut new.starts {
        start.iterations.iter_mut().for_each(|time| *time *= 2.0);
    }
    let nothing = AllItems::default();
    let (step, call) = (IterationUnit::OptimizerStep, IterationUnit::ModelCall);
    for (of_base, of_new, unit, fails) in [
        ("steps of SGD", "steps of SGD", Some(step), true),
        ("steps of SGD", "steps of Adam", Some(step), true),
        ("steps of SGD", "calls of Linear", Some(call), false),
        // A document of an earlier version.
        ("steps of SGD", "steps of SGD", None, true),
        ("steps of SGD", "calls of Linear", None, false),
    ] {
        of_base.clone_into(&mut base.iteration);
        of_new.clone_into(&mut new.iteration);
        new.unit = unit;
        let report = compared((&base, &nothing), (&new, &nothing));
        assert_eq!(report.regressed, fails, "{of_base} against {of_new}");
        for id in ["first", "steady", "ratio", "warmup", "excess"] {
            let mut of = report.quantities.iter();
            assert_eq!(of.any(|quantity| quantity.id.id() == id), fails, "{id}");
        }
        let mentions = |note: &String| note.contains(of_base) && note.contains(of_new);
        assert_eq!(report.notes.iter().any(mentions), of_base != of_new);
    }
}

#[test]
fn a_slower_first_iteration_is_reported_where_the_time_to_first_hides_it() {
    let (base, mut new) = reports(10, 0.03, 4);
    for start in &mut new.starts {
        start.iterations[0] *= 1.2;
    }
    new.first_excess = vec![CauseSeconds {
        cause: Cause::KernelLoading,
        seconds: 0.1,
    }];
    let nothing = AllItems::default();
    let report = compared((&base, &nothing), (&new, &nothing));
    let text = &report.headline.text;
    assert!(text.starts_with("first iteration +"), "{text}");
    assert!(text.ends_with("%): kernel loading"), "{text}");
    assert!(report.regressed);
    // The gate contains only the requested quantities.
    let mut settings = Settings::new(CompareKind::Runs, "0");
    settings.gate = vec![Quantity::Steady.into()];
    let steady = compared_with((&base, &nothing), (&new, &nothing), &settings);
    assert!(!steady.regressed);
    settings.gate = vec![Quantity::First.into()];
    settings.floors.seconds = 0.2;
    let floored = compared_with((&base, &nothing), (&new, &nothing), &settings);
    assert_eq!(verdict(&floored, "first"), Verdict::Slower);
    assert!(!floored.regressed, "0.1 s is below the floor");
    settings.floors.seconds = 1e-3;
    settings.max_regression = 0.3;
    let allowed = compared_with((&base, &nothing), (&new, &nothing), &settings);
    assert!(!allowed.regressed, "20 % are allowed");
}

#[test]
fn an_excess_that_halves_is_faster_however_long_the_start_takes() {
    let (mut base, mut new) = reports(10, 0.002, 5);
    for (report, by) in [(&mut base, 1.0), (&mut new, 0.5)] {
        // The start takes ten seconds, the warm-up half a second.
        plant(report, Cause::PythonImports, 10.0);
        for start in &mut report.starts {
            let steady = start.iterations[start.iterations.len() - 1];
            start.iterations[0] = steady + (start.iterations[0] - steady) * by;
        }
    }
    let nothing = AllItems::default();
    let report = compared((&base, &nothing), (&new, &nothing));
    assert_eq!(verdict(&report, "excess"), Verdict::Faster);
    assert_eq!(
        verdict(&compared((&base, &nothing), (&base, &nothing)), "excess"),
        Verdict::Same
    );
}

#[test]
fn memory_growth_fails_although_times_are_faster() {
    let (mut base, mut new) = reports(10, 0.01, 5);
    plant(&mut base, Cause::Idle, 1.0);
    for start in &mut new.starts {
        start.peak_device = start.peak_device.map(|bytes| 2 * bytes);
    }
    let nothing = AllItems::default();
    let report = compared((&base, &nothing), (&new, &nothing));
    assert_eq!(verdict(&report, "time-to-first"), Verdict::Faster);
    assert!(report.regressed);
    // The headline is about the regression, and does not hide the gain.
    let text = &report.headline.text;
    let gain = text.strip_prefix("peak device memory +1.76 GiB (+100 %). Faster: ");
    assert!(
        gain.is_some_and(|gain| gain.starts_with("time to first (−")),
        "{text}"
    );
}

#[test]
fn a_cause_that_changed_alone_is_named_after_the_time_to_first() {
    let (mut base, mut new) = reports(10, 0.01, 5);
    // Idle time hides the change in the sum.
    for (at, start) in base.starts.iter_mut().chain(&mut new.starts).enumerate() {
        let seconds = 2.0 + (at * 7 % 10) as f64;
        start.causes.push(CauseSeconds {
            cause: Cause::Idle,
            seconds,
        });
        start.time_to_first = start.time_to_first.map(|time| time + seconds);
    }
    plant(&mut new, Cause::PythonImports, 0.4);
    let nothing = AllItems::default();
    let report = compared((&base, &nothing), (&new, &nothing));
    let text = &report.headline.text;
    assert!(
        text.starts_with("time to first: no conclusive change. Python imports grew by "),
        "{text}"
    );
}

#[test]
fn a_change_that_is_significant_alone_has_its_direction() {
    let nothing = AllItems::default();
    let mut found = 0;
    for seed in 0..40 {
        let (base, mut new) = reports(5, 0.05, seed);
        plant(&mut new, Cause::PythonImports, 0.12);
        let report = compared((&base, &nothing), (&new, &nothing));
        for quantity in &report.quantities {
            let alone = quantity.p.is_some_and(|p| p < 0.05);
            let corrected = quantity.adjusted_p.is_some_and(|p| p < 0.05);
            let expected = alone && !corrected && quantity.verdict == Verdict::Inconclusive;
            assert_eq!(quantity.uncorrected().is_some(), expected, "{quantity:?}");
            if let Some(verdict) = quantity.uncorrected() {
                found += 1;
                let by = quantity.difference.unwrap();
                assert_eq!(verdict == Verdict::Slower, by.low.unwrap() > 0.0);
                assert!(
                    quantity.why.contains("not after correction"),
                    "{}",
                    quantity.why
                );
            }
        }
        assert!(report.tests() > report.quantities.len());
    }
    assert!(found > 0);
}

fn gated(ids: &[&str]) -> Settings {
    let mut settings = Settings::new(CompareKind::Runs, "0");
    let all = Quantity::ALL.map(Compared::Quantity);
    let gated = |of: &Compared| ids.contains(&of.id());
    settings.gate = all.into_iter().filter(gated).collect();
    assert_eq!(settings.gate.len(), ids.len());
    settings
}

#[test]
fn a_gate_on_unmeasured_quantities_is_inconclusive() {
    let nothing = AllItems::default();
    let (mut base, mut new) = reports(10, 0.01, 11);
    let inconclusive = |base: &RunReport, new: &RunReport, settings: &Settings| {
        let report = compared_with((base, &nothing), (new, &nothing), settings);
        assert!(!report.regressed);
        let noted = (report.notes.iter()).any(|note| note.contains("is gated"));
        (report.inconclusive, noted)
    };
    let usual = Settings::new(CompareKind::Runs, "0");
    assert_eq!(inconclusive(&base, &new, &usual), (false, false));
    // Without a device on either side, device memory is missing, which only matters if it
    // was requested.
    for start in base.starts.iter_mut().chain(&mut new.starts) {
        start.peak_device = None;
    }
    let device = gated(&["device-memory"]);
    let both = gated(&["time-to-first", "device-memory"]);
    assert_eq!(inconclusive(&base, &new, &usual), (false, false));
    assert_eq!(inconclusive(&base, &new, &device), (true, true));
    assert_eq!(inconclusive(&base, &new, &both), (true, true));
    let report = compared_with((&base, &nothing), (&new, &nothing), &both);
    assert_eq!(report.verdict, Verdict::Inconclusive);
    // A quantity that only one side has is inconclusive, requested or not.
    base.starts[3].peak_device = Some(1 << 30);
    assert_eq!(inconclusive(&base, &new, &usual), (true, false));
    base.starts[3].peak_device = None;
    // Iterations of different kinds are not compared.
    new.unit = Some(IterationUnit::ModelCall);
    assert_eq!(inconclusive(&base, &new, &usual), (false, false));
    assert_eq!(inconclusive(&base, &new, &gated(&["first"])), (true, true));
    let some = gated(&["time-to-first", "first"]);
    assert_eq!(inconclusive(&base, &new, &some), (true, true));
    // No start counts.
    base.starts.clear();
    new.starts.clear();
    assert_eq!(inconclusive(&base, &new, &usual), (true, false));
    assert_eq!(inconclusive(&base, &new, &device), (true, true));
}

#[test]
fn a_start_without_a_steady_state_counts_in_first() {
    let nothing = AllItems::default();
    let (base, mut new) = reports(10, 0.01, 12);
    // Two starts were cut off before they settled, with different first iterations.
    for start in &mut new.starts[2..4] {
        start.iterations = vec![5.0, 0.02];
    }
    let report = compared((&base, &nothing), (&new, &nothing));
    let level = |id: &str| {
        let mut all = report.quantities.iter();
        let found = all
            .find(|quantity| quantity.id.id() == id)
            .expect("it exists");
        found.new.clone().expect("new has it")
    };
    let (first, steady, ratio) = (level("first"), level("steady"), level("ratio"));
    assert_eq!(first.values.len(), 9);
    assert_eq!(
        first.values.iter().filter(|value| **value == 5.0).count(),
        2
    );
    assert_eq!((steady.values.len(), ratio.values.len()), (7, 7));
    // If none settles, there is no steady iteration.
    for start in &mut new.starts {
        start.iterations.truncate(1);
    }
    let report = compared((&base, &nothing), (&new, &nothing));
    let first = report
        .quantities
        .iter()
        .find(|q| q.id.id() == "first")
        .unwrap();
    assert_eq!(first.new.as_ref().unwrap().values.len(), 9);
}

#[test]
fn an_unchanged_result_reports_its_interval() {
    let (base, new) = reports(10, 0.01, 6);
    let nothing = AllItems::default();
    let report = compared((&base, &nothing), (&new, &nothing));
    assert_eq!(report.verdict, Verdict::Same);
    let text = &report.headline.text;
    assert!(
        text.starts_with("no change: time to first is the same, −"),
        "{text}"
    );
    let (base, new) = reports(5, 0.5, 7);
    let report = compared((&base, &nothing), (&new, &nothing));
    assert_eq!(report.verdict, Verdict::Inconclusive);
    assert!(report.inconclusive && !report.regressed);
    assert!(report.headline.text.contains("run more starts"));
}

#[test]
fn few_starts_are_inconclusive_with_a_reason() {
    let nothing = AllItems::default();
    for starts in [1, 2, 3] {
        let (base, mut new) = reports(starts, 0.01, 8);
        plant(&mut new, Cause::Idle, 5.0);
        let report = compared((&base, &nothing), (&new, &nothing));
        assert!(report.inconclusive && !report.regressed);
        let mut all = report.quantities.iter();
        assert!(all.all(|quantity| {
            quantity.verdict == Verdict::Inconclusive
                && quantity.p.is_none()
                && quantity.why.contains("an interval needs 3 starts per side")
        }));
        let text = &report.headline.text;
        assert!(
            text.contains("inconclusive with so few starts: idle"),
            "{text}"
        );
        assert!(
            report
                .notes
                .iter()
                .any(|note| note.starts_with("too few starts"))
        );
    }
}

#[test]
fn differing_sides_are_compared_with_notes() {
    let nothing = AllItems::default();
    let (base, mut new) = reports(6, 0.01, 9);
    new.machine.cpu = "another".to_owned();
    new.machine.cores = 4;
    new.preheat = "0.2.0".to_owned();
    new.environment = vec![("CUDA_MODULE_LOADING".to_owned(), "EAGER".to_owned())];
    for start in &mut new.starts {
        start.temperature = Temperature::Disk;
        start.peak_device = None;
    }
    let report = compared((&base, &nothing), (&new, &nothing));
    for part in [
        "processor a processor against another, cores 16 against 4",
        "base was recorded by preheat 0.1.0, new by 0.2.0",
        "the sides have no temperature in common: base is process, new is disk",
        "the environment differs: CUDA_MODULE_LOADING",
    ] {
        let noted = report.notes.iter().any(|note| note.contains(part));
        assert!(noted, "{part}: {:#?}", report.notes);
    }
    assert_eq!(verdict(&report, "time-to-first"), Verdict::Same);
    assert_eq!(verdict(&report, "device-memory"), Verdict::Inconclusive);
    let memory = (report.quantities.iter()).find(|one| one.id.id() == "device-memory");
    assert_eq!(memory.unwrap().why, "new has no value");
}

#[test]
fn runs_without_recordings_are_compared_too() {
    let nothing = AllItems::default();
    let (mut base, mut new) = reports(6, 0.01, 10);
    // Nothing was recorded: only the time to the end is known.
    for start in base.starts.iter_mut().chain(&mut new.starts) {
        start.time_to_first = None;
        start.causes.clear();
        start.iterations.clear();
    }
    let report = compared((&base, &nothing), (&new, &nothing));
    assert_eq!(verdict(&report, "time-to-first"), Verdict::Same);
    assert!(report.causes.is_empty());
    assert!(
        report
            .headline
            .text
            .contains("the time to the end is the same")
    );
    base.starts.clear();
    new.starts.clear();
    let report = compared((&base, &nothing), (&new, &nothing));
    assert!(report.quantities.is_empty());
    assert_eq!(report.verdict, Verdict::Inconclusive);
    assert!(report.headline.text.starts_with("nothing to compare"));
}

#[test]
fn failed_and_unreadable_starts_are_left_out_with_a_note() {
    let (base, mut new) = reports(10, 0.03, 4);
    let nothing = AllItems::default();
    for start in &mut new.starts[4..] {
        start.exit_code = 3;
        start.time_to_first = Some(0.01);
    }
    new.starts[1].damaged = true;
    let report = compared((&base, &nothing), (&new, &nothing));
    assert_eq!(report.new.counted_starts, 2);
    let noted = |words: &str| report.notes.iter().any(|note| note.contains(words));
    assert!(noted("new: 6 of 10 starts failed (exit code 3)"));
    assert!(noted("new: 1 of 10 starts have unreadable parts"));
    // A program that always fails cannot be compared.
    new.starts.iter_mut().for_each(|start| start.exit_code = 3);
    let failed = compared((&base, &nothing), (&new, &nothing));
    assert_eq!(failed.new.counted_starts, 0);
    assert!(failed.inconclusive && !failed.regressed);
    // Two programs that always fail can.
    let (mut base, mut new) = reports(10, 0.03, 4);
    for start in base.starts.iter_mut().chain(&mut new.starts) {
        start.exit_code = 1;
    }
    let both = compared((&base, &nothing), (&new, &nothing));
    assert_eq!(both.new.counted_starts, 9);
}

#[test]
fn the_end_of_a_program_is_not_compared_with_a_first_iteration() {
    let (base, mut new) = reports(10, 0.03, 4);
    for start in &mut new.starts {
        start.time_to_first = None;
        start.iterations.clear();
        start.wall = 100.0;
    }
    let nothing = AllItems::default();
    let report = compared((&base, &nothing), (&new, &nothing));
    assert_eq!(verdict(&report, "time-to-first"), Verdict::Inconclusive);
    assert!(!report.regressed && report.inconclusive);
}

/// A region that takes this long in each start, with 1 % noise.
fn region(report: &RunReport, from: u32, seconds: f64, seed: u64) -> RegionReport {
    let mut rng = Rng::new(seed);
    let firsts = (report.starts.iter())
        .map(|_| Some(seconds * (0.01 * rng.normal()).exp()))
        .collect();
    RegionReport {
        name: format!("train.py:{from}–{}", from + 6),
        file: Some("/home/me/train.py".to_owned()),
        from: Some(from),
        to: Some(from + 6),
        function: Some("<module>".to_owned()),
        helper: None,
        clock: Some(Clock::Time),
        count: 2,
        first: Estimate {
            value: seconds,
            low: None,
            high: None,
        },
        second: None,
        best: None,
        ratio: None,
        causes: Vec::new(),
        second_causes: Vec::new(),
        unfinished: None,
        firsts,
        paired_by_order: false,
        around: None,
        iterates: false,
        code: None,
        repeats: None,
    }
}

#[test]
fn timed_regions_are_compared_among_all_quantities() {
    let (mut base, mut new) = reports(10, 0.01, 21);
    let nothing = AllItems::default();
    let without = compared((&base, &nothing), (&new, &nothing));
    base.regions = vec![region(&base, 17, 0.19, 1), region(&base, 30, 0.05, 2)];
    new.regions = vec![region(&new, 22, 0.002, 3), region(&new, 35, 0.05, 4)];
    let report = compared((&base, &nothing), (&new, &nothing));
    let rows = report.quantities.iter().filter(|of| of.id.id() == "region");
    let rows: Vec<_> = rows.collect();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0].name, "train.py:17–23 → 22–28");
    assert_eq!(
        (rows[0].verdict, rows[1].verdict),
        (Verdict::Faster, Verdict::Same)
    );
    assert!(!rows[0].gated && !report.regressed);
    // The first start of the series does not count.
    assert_eq!(rows[0].base.as_ref().unwrap().values.len(), 9);
    let text = &report.headline.text;
    assert!(
        text.starts_with("first execution of train.py:17–23 → 22–28 −188 ms (−99 %)"),
        "{text}"
    );
    // One family: two more members increase the adjustment of the smallest p-value.
    let smallest = |report: &CompareReport| {
        let of = report
            .causes
            .iter()
            .map(|cause| (cause.p, cause.adjusted_p));
        let of = of.filter_map(|(p, adjusted)| Some((p?, adjusted?)));
        of.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap()
    };
    assert_eq!(smallest(&without).0, smallest(&report).0);
    assert!(smallest(&report).1 >= smallest(&without).1);
    let tested = report.quantities.iter().filter(|of| of.p.is_some()).count()
        + report.causes.iter().filter(|of| of.p.is_some()).count();
    let (p, adjusted) = (rows[0].p.unwrap(), rows[0].adjusted_p.unwrap());
    assert!(
        (adjusted / p - tested as f64).abs() < 1e-6,
        "{}",
        adjusted / p
    );
}

#[test]
fn a_region_that_both_time_stands_for_iterations_that_differ() {
    let (mut base, mut new) = reports(10, 0.01, 23);
    let nothing = AllItems::default();
    base.unit = Some(IterationUnit::Region);
    base.regions = vec![region(&base, 10, 0.3, 1), region(&base, 17, 0.19, 2)];
    base.regions[1].iterates = true;
    new.regions = vec![region(&new, 10, 0.3, 3), region(&new, 22, 0.002, 4)];
    // The iterations of new are its steps, the first of which is a warm-up.
    for start in &mut new.starts {
        start.iterations[0] *= 50.0;
    }
    let report = compared((&base, &nothing), (&new, &nothing));
    let firsts: Vec<_> = (report.quantities.iter())
        .filter(|of| of.id.id() == "first")
        .collect();
    let [first] = firsts[..] else {
        panic!("one region is the iteration: {firsts:?}");
    };
    assert_eq!(first.name, "train.py:17–23 → 22–28");
    assert_eq!((first.verdict, first.gated), (Verdict::Faster, true));
    assert!(!report.regressed && !report.quantities.iter().any(|of| of.id.id() == "steady"));
    assert!(
        (report.headline.text).starts_with("first execution of train.py:17–23 → 22–28 −188 ms"),
        "{}",
        report.headline.text
    );
    let note = "in place of the first iteration";
    assert!(report.notes.iter().any(|other| other.contains(note)));
    // A region that became slower fails, as the first iteration would.
    let report = compared((&new, &nothing), (&base, &nothing));
    assert!(report.regressed);
    // The same region of both sides is the iteration, wherever its lines are.
    new.unit = base.unit;
    new.regions[1].iterates = true;
    let report = compared((&base, &nothing), (&new, &nothing));
    assert!(report.quantities.iter().any(|of| of.id.id() == "steady"));
    assert!(!report.notes.iter().any(|other| other.contains(note)));
}

#[test]
fn steady_work_is_compared_only_with_steady_work() {
    let nothing = AllItems::default();
    let (mut base, mut new) = reports(10, 0.01, 25);
    // The same time: two iterations against three, which settle.
    for report in [&mut base, &mut new] {
        for start in &mut report.starts {
            start.causes.retain(|part| part.cause != Cause::SteadyWork);
        }
    }
    plant(&mut base, Cause::OwnCpu, 0.2);
    plant(&mut new, Cause::SteadyWork, 0.2);
    for (iteration, why) in [
        (
            base.iteration.clone(),
            "only one side has enough iterations",
        ),
        ("calls of Linear".to_owned(), "not comparable"),
    ] {
        if iteration != base.iteration {
            new.unit = Some(IterationUnit::ModelCall);
        }
        new.iteration = iteration;
        let report = compared((&base, &nothing), (&new, &nothing));
        let has = |cause| report.causes.iter().any(|change| change.cause == cause);
        assert!(!has(Cause::SteadyWork) && has(Cause::OwnCpu));
        let changed = |verdict| matches!(verdict, Verdict::Slower | Verdict::Faster);
        let mut changes = report.causes.iter().filter(|of| changed(of.verdict));
        assert!(changes.next().is_none(), "{:?}", report.causes);
        let note = "steady work is counted as the program's own CPU time";
        let note = report.notes.iter().find(|other| other.starts_with(note));
        assert!(note.unwrap().contains(why), "{note:?}");
    }
    // Both separate it.
    plant(&mut base, Cause::SteadyWork, 0.1);
    new.unit = base.unit;
    let report = compared((&base, &nothing), (&new, &nothing));
    let mut causes = report.causes.iter();
    assert!(causes.any(|change| change.cause == Cause::SteadyWork));
}

#[test]
fn a_region_stands_for_iterations_that_differ_though_it_is_none() {
    let nothing = AllItems::default();
    let (mut base, mut new) = reports(10, 0.01, 26);
    base.unit = Some(IterationUnit::ModelCall);
    // The longest of those that both repeat.
    for report in [&mut base, &mut new] {
        let mut regions = vec![
            region(report, 10, 0.9, 1),
            region(report, 17, 0.1, 2),
            region(report, 30, 0.2, 3),
        ];
        regions[1].count = 2;
        regions[2].count = 2;
        regions[0].count = 1;
        report.regions = regions;
    }
    let report = compared((&base, &nothing), (&new, &nothing));
    let firsts = report.quantities.iter().filter(|of| of.id.id() == "first");
    let names: Vec<&str> = firsts.map(|first| first.name.as_str()).collect();
    assert_eq!(names, ["train.py:30–36"]);
    let note = "in place of the first iteration";
    assert!(report.notes.iter().any(|other| other.contains(note)));
}

#[test]
fn a_few_iterations_settle_in_all_starts_or_in_none() {
    let (base, mut new) = reports(10, 0.01, 24);
    let nothing = AllItems::default();
    for (at, start) in new.starts.iter_mut().enumerate() {
        start.iterations = match at {
            3 => vec![5.0, 0.02, 0.5],
            _ => vec![5.0, 0.02, 0.02],
        };
    }
    let report = compared((&base, &nothing), (&new, &nothing));
    let steady = report.quantities.iter().find(|of| of.id.id() == "steady");
    assert!(steady.unwrap().new.is_none());
    // Those that all settle do in `run`, too.
    new.starts[3].iterations = vec![5.0, 0.02, 0.02];
    let report = compared((&base, &nothing), (&new, &nothing));
    let steady = report.quantities.iter().find(|of| of.id.id() == "steady");
    assert!(steady.unwrap().new.is_some());
}

#[test]
fn a_region_fails_a_comparison_only_if_gated() {
    let (mut base, mut new) = reports(10, 0.01, 22);
    base.regions = vec![region(&base, 17, 0.1, 1)];
    new.regions = vec![region(&new, 17, 0.2, 2), region(&new, 40, 0.1, 3)];
    let nothing = AllItems::default();
    let report = compared((&base, &nothing), (&new, &nothing));
    assert_eq!((report.verdict, report.regressed), (Verdict::Slower, false));
    let note = "only new times train.py:40–46";
    assert!(
        report.notes.iter().any(|other| other == note),
        "{:?}",
        report.notes
    );
    let mut settings = Settings::new(CompareKind::Runs, "0.1.0");
    settings.gate = vec![Compared::Region];
    let report = compared_with((&base, &nothing), (&new, &nothing), &settings);
    assert!(report.regressed);
    // A document of an earlier version does not have them by start.
    base.regions[0].firsts.clear();
    let report = compared((&base, &nothing), (&new, &nothing));
    assert!(!report.quantities.iter().any(|of| of.id.id() == "region"));
}
