//! Reports on generated measurements with known answers.

use preheat_analyze::lab::analyze;
use preheat_model::Machine;
use preheat_model::lab::{
    Evidence, ExperimentId, Measured, MeasuredDevice, Outcome, Sample, SampleKind, Settings, Setup,
    Skipped, Start, Subject, Verdict, names,
};
use preheat_model::stats::{Class, Rng};

const STARTS: usize = 8;

/// Builds measurements: each series has a first value and a steady value, with 2 % noise.
struct Builder {
    rng: Rng,
    setups: Vec<Setup>,
    framework: Option<String>,
}

impl Builder {
    fn new() -> Builder {
        Builder {
            rng: Rng::new(11),
            setups: Vec::new(),
            framework: None,
        }
    }

    fn setup(&mut self, experiment: ExperimentId, variant: &str) -> &mut Setup {
        self.setups.push(Setup {
            experiment,
            subject: Subject {
                device: "cuda".into(),
                framework: self.framework.clone(),
            },
            variant: variant.into(),
            starts: (0..STARTS)
                .map(|_| Start {
                    outcome: Outcome::Completed,
                    samples: vec![],
                    skipped: vec![],
                })
                .collect(),
        });
        self.setups.last_mut().expect("it was just added")
    }

    fn noisy(&mut self, value: f64) -> f64 {
        value * (1.0 + 0.02 * self.rng.normal())
    }

    /// Adds a series to the last setup.
    fn series(&mut self, name: &str, size: Option<u64>, first: f64, steady: f64) -> &mut Builder {
        for start in 0..STARTS {
            let mut values = vec![self.noisy(first)];
            values.extend((0..30).map(|_| self.noisy(steady)));
            self.push(start, name, SampleKind::Iterations, size, values);
        }
        self
    }

    fn stage(&mut self, name: &str, seconds: f64) -> &mut Builder {
        for start in 0..STARTS {
            let value = self.noisy(seconds);
            self.push(start, name, SampleKind::Stage, None, vec![value]);
        }
        self
    }

    fn memory(&mut self, name: &str, values: &[f64]) -> &mut Builder {
        for start in 0..STARTS {
            self.push(start, name, SampleKind::Memory, None, values.to_vec());
        }
        self
    }

    fn count(&mut self, name: &str, each: f64) -> &mut Builder {
        for start in 0..STARTS {
            self.push(start, name, SampleKind::Count, None, vec![each; 10]);
        }
        self
    }

    fn push(
        &mut self,
        start: usize,
        name: &str,
        kind: SampleKind,
        size: Option<u64>,
        values: Vec<f64>,
    ) {
        let setup = self.setups.last_mut().expect("a setup was added");
        setup.starts[start].samples.push(Sample {
            name: name.into(),
            kind,
            size,
            values,
        });
    }

    fn measured(self) -> Measured {
        Measured {
            command: vec!["preheat".into(), "lab".into()],
            created: "2026-01-01T00:00:00Z".into(),
            settings: Settings {
                seed: 3,
                starts: STARTS,
                quick: false,
                ended_early: None,
            },
            machine: Machine {
                os: "an OS".into(),
                kernel: "6.1".into(),
                cpu: "a CPU".into(),
                cores: 2,
                memory: 1 << 34,
            },
            devices: vec![MeasuredDevice {
                kind: "cuda".into(),
                name: "a GPU".into(),
                driver: "1.0".into(),
                memory: 1 << 36,
                facts: vec![],
            }],
            frameworks: vec![],
            setups: self.setups,
        }
    }
}

/// A GPU that behaves as the claims expect.
fn textbook_gpu() -> Measured {
    let mut b = Builder::new();
    b.setup(ExperimentId::Alloc, "");
    b.stage(names::INITIALIZE, 0.25)
        .series(names::CONTEXT_READY, None, 130e-6, 50e-6)
        .series(names::FROM_NOTHING, None, 0.25, 50e-6)
        .series(names::FROM_POOL, None, 60e-6, 2e-6)
        .series(names::AFTER_TRIM, None, 60e-6, 50e-6);
    b.setup(ExperimentId::Transfer, "");
    let four = Some(4 << 20);
    b.series(names::H2D_PAGEABLE, four, 500e-6, 400e-6)
        .series(names::H2D_PINNED, four, 90e-6, 80e-6)
        .series(names::PIN, four, 2e-3, 1.6e-3);
    for (variant, steady) in [
        (names::AFTER_NOTHING, 50e-6),
        (names::AFTER_HELD, 50e-6),
        (names::AFTER_RELEASED, 2e-6),
    ] {
        b.setup(ExperimentId::Prealloc, variant);
        b.series(names::ALLOCATE_4_MIB, None, steady, steady);
    }
    b.setup(ExperimentId::Train, names::MODEL_FROM_NOTHING);
    b.series(names::ITERATION, None, 0.3, 60e-6);
    b.setup(ExperimentId::TrainInitialized, names::MODEL_FROM_NOTHING);
    b.series(names::ITERATION, None, 0.05, 60e-6);
    b.setup(ExperimentId::TrainNoOptimizer, names::NO_OPTIMIZER);
    b.series(names::ITERATION, None, 0.3, 50e-6);
    b.setup(ExperimentId::TrainNoOptimizer, names::FORWARD_ONLY);
    b.series(names::FORWARD_RECORDING, None, 33e-6, 33e-6)
        .series(names::FORWARD_PLAIN, None, 22e-6, 22e-6);
    b.count(names::RECORDINGS, 1.0);
    for (variant, first, steady) in [(names::MLP, 0.3, 80e-6), (names::MLP_LARGE, 0.4, 150e-6)] {
        b.setup(ExperimentId::Infer, variant);
        b.series(names::FRESH_INPUT, None, first, steady)
            .series(names::COMPUTE, None, 200e-6, 40e-6)
            .series(names::RESIDENT_INPUT, None, 60e-6, 60e-6)
            .memory(names::DEVICE_MEMORY, &[0.0, 5e8, 5e8, 5e8, 5e8]);
    }
    for (variant, from_source) in [(names::CACHE_EMPTY, 0.08), (names::CACHE_FILLED, 0.004)] {
        b.setup(ExperimentId::Launch, variant);
        b.stage("initialize driver", 0.1)
            .stage(names::CREATE_CONTEXT, 0.12)
            .stage("intermediate to machine code", 0.04)
            .stage("load", 0.001)
            .stage(names::FIRST_LAUNCH, 0.002)
            .series(names::LAUNCH_FROM_SOURCE, None, from_source, 10e-6)
            .series(names::LONG_LAUNCH, None, 3e-3, 3e-3)
            .series(names::LONG_LAUNCH_NAIVE, None, 5e-6, 5e-6);
    }
    b.measured()
}

#[test]
fn the_textbook_gpu_gets_the_expected_verdicts() {
    let report = analyze(&textbook_gpu(), "0.0.0").expect("a device was measured");
    let against: Vec<u8> = report
        .claims
        .iter()
        .filter(|claim| claim.verdict != Verdict::Holds)
        .map(|claim| claim.id)
        .collect();
    // Holding the block does not help (8); only frameworks can decide on recording (13).
    assert_eq!(against, [8, 13], "{:#?}", report.claims);
    for claim in &report.claims {
        assert_eq!(claim.verdict == Verdict::NotMeasurable, claim.id == 13);
        assert!(
            claim.id == 13 || claim.sentence.starts_with("On cuda: "),
            "{}",
            claim.sentence
        );
    }
}

#[test]
fn the_floor_leaves_compilation_out() {
    let report = analyze(&textbook_gpu(), "0.0.0").expect("a device was measured");
    let floor = &report.floors[0];
    assert!((floor.seconds - 0.223).abs() < 0.02, "{floor:?}");
    assert!(
        floor
            .parts
            .iter()
            .all(|(name, _)| name != "intermediate to machine code")
    );
}

#[test]
fn the_first_start_is_reported_separately() {
    let mut measured = textbook_gpu();
    let train = measured
        .setups
        .iter_mut()
        .find(|u| u.experiment == ExperimentId::Train);
    let first = &mut train.expect("it exists").starts[0].samples[0].values[0];
    *first = 30.0;
    let report = analyze(&measured, "0.0.0").expect("a device was measured");
    let series = report
        .experiments
        .iter()
        .find(|e| e.id == ExperimentId::Train)
        .map(|e| &e.series[0]);
    let series = series.expect("it exists");
    assert_eq!(series.first_start.map(|start| start.first), Some(30.0));
    assert!(
        series.first < 0.4,
        "the first start affects the others: {}",
        series.first
    );
    assert_eq!(series.class, Some(Class::ColdFirst));
}

#[test]
fn few_starts_give_no_verdict() {
    let mut measured = textbook_gpu();
    for setup in &mut measured.setups {
        setup.starts.truncate(2);
    }
    let report = analyze(&measured, "0.0.0").expect("a device was measured");
    // Nothing here can decide on recordings (13).
    let decided = report
        .claims
        .iter()
        .filter(|claim| claim.verdict != Verdict::Inconclusive);
    assert_eq!(decided.map(|claim| claim.id).collect::<Vec<_>>(), [13]);
}

#[test]
fn claims_without_experiments_are_not_measurable() {
    let mut measured = textbook_gpu();
    measured.setups.clear();
    let report = analyze(&measured, "0.0.0").expect("a device was named");
    assert!(
        report
            .claims
            .iter()
            .all(|claim| claim.verdict == Verdict::NotMeasurable)
    );
    assert!(report.experiments.is_empty());
}

#[test]
fn failures_and_gaps_are_reported_once() {
    let mut measured = textbook_gpu();
    let setup = &mut measured.setups[0];
    setup.starts[2].outcome = Outcome::Failed("it broke".into());
    for start in &mut setup.starts {
        start.skipped.push(Skipped {
            what: "1 GiB".into(),
            why: "no memory".into(),
        });
    }
    let report = analyze(&measured, "0.0.0").expect("a device was measured");
    let alloc = &report.experiments[0];
    assert_eq!(alloc.skipped.len(), 1);
    assert_eq!(
        (alloc.failures[0].start, alloc.failures[0].what.as_str()),
        (2, "it broke")
    );
}

#[test]
fn invalid_values_of_a_start_are_left_out() {
    let mut measured = textbook_gpu();
    let samples = &mut measured.setups[0].starts[3].samples;
    samples[1].values[5] = f64::NAN;
    samples[2].values.clear();
    samples[3].values[0] = -1.0;
    let report = analyze(&measured, "0.0.0").expect("a device was measured");
    let ready = report.experiments[0]
        .series
        .iter()
        .find(|s| s.name == names::CONTEXT_READY);
    let iterations = &ready.expect("it exists").iterations;
    assert_eq!(iterations.len(), STARTS);
    assert!(iterations[3].is_empty() && !iterations[4].is_empty());
}

#[test]
fn a_report_can_be_analysed_again() {
    let mut measured = textbook_gpu();
    // The first start of training failed, one of the launches midway, and one setup
    // altogether.
    let failed = Start {
        outcome: Outcome::Failed("it broke".into()),
        samples: vec![],
        skipped: vec![],
    };
    for setup in &mut measured.setups {
        match setup.experiment {
            ExperimentId::Train => setup.starts[0] = failed.clone(),
            ExperimentId::Launch => {
                setup.starts[2].samples.truncate(2);
                setup.starts[2].outcome = failed.outcome.clone();
            }
            ExperimentId::TrainInitialized => setup.starts = vec![failed.clone(); 2],
            _ => {}
        }
    }
    let report = analyze(&measured, "0.0.0").expect("a device was measured");
    let text = serde_json::to_string(&report).expect("it serializes");
    let kept = serde_json::from_str(&text).expect("it is a report");
    let again = analyze(&Measured::from_report(&kept), "0.0.0").expect("a device was measured");
    assert!(again == report, "the report changed");
}

/// The evidence for a claim, from the only subject.
fn evidence(b: Builder, id: u8) -> Evidence {
    let report = analyze(&b.measured(), "0.0.0").expect("a device was measured");
    let claim = report.claims.iter().find(|claim| claim.id == id);
    let evidence = &claim.expect("all are judged").evidence;
    assert_eq!(evidence.len(), 1, "{evidence:#?}");
    evidence[0].clone()
}

/// A builder for measurements of a framework.
fn with(framework: &str) -> Builder {
    Builder {
        framework: Some(framework.into()),
        ..Builder::new()
    }
}

#[test]
fn set_up_is_judged_by_its_share() {
    // The whole first allocation is set-up, and the remainder equals 32 later ones.
    let mut b = with("torch");
    b.setup(ExperimentId::Alloc, "");
    b.stage(names::INITIALIZE, 0.326)
        .series(names::CONTEXT_READY, None, 450e-6, 14e-6)
        .series(names::FROM_NOTHING, None, 0.326, 14e-6);
    let found = evidence(b, 1);
    assert_eq!(found.verdict, Verdict::Holds, "{}", found.sentence);
    assert!(
        found.sentence.starts_with("set-up takes 1"),
        "{}",
        found.sentence
    );
}

#[test]
fn the_first_allocation_after_the_block_decides() {
    let mut b = Builder::new();
    b.setup(ExperimentId::Prealloc, names::AFTER_NOTHING);
    b.series(names::ALLOCATE_4_MIB, None, 10e-3, 7e-6);
    b.setup(ExperimentId::Prealloc, names::AFTER_HELD);
    b.stage(names::BIG_BLOCK, 13e-3)
        .series(names::ALLOCATE_4_MIB, None, 70e-6, 7e-6);
    let found = evidence(b, 8);
    assert_eq!(found.verdict, Verdict::Holds, "{}", found.sentence);
    for words in [
        "µs after 1 GiB was held, which itself takes 1",
        "ms without it",
    ] {
        assert!(found.sentence.contains(words), "{}", found.sentence);
    }
    assert!(
        found
            .basis
            .iter()
            .any(|basis| basis.series == names::BIG_BLOCK)
    );
}

#[test]
fn initializing_is_judged_with_the_model_on_the_device() {
    let mut b = with("torch");
    for (id, nothing, there) in [
        (ExperimentId::Train, 0.5, 0.19),
        (ExperimentId::TrainInitialized, 0.17, 0.19),
    ] {
        b.setup(id, names::MODEL_FROM_NOTHING);
        b.series(names::ITERATION, None, nothing, 1e-3);
        b.setup(id, names::MODEL_ON_DEVICE);
        b.series(names::ITERATION, None, there, 1e-3);
    }
    b.setup(ExperimentId::TrainInitialized, names::MODEL_AFTER_PAUSE);
    b.series(names::ITERATION, None, 0.18, 1e-3);
    // From nothing, two thirds would be removed.
    let found = evidence(b, 11);
    assert_eq!(found.verdict, Verdict::DoesNotHold, "{}", found.sentence);
    assert!((found.value.value - 1.0).abs() < 0.05);
    assert!(
        found.sentence.contains("with a pause of 0.2 s"),
        "{}",
        found.sentence
    );
    assert!(
        found.sentence.contains("; from nothing it goes from"),
        "{}",
        found.sentence
    );
}

#[test]
fn the_excess_is_set_up_in_a_framework_too() {
    let infer = |again: f64| {
        let mut b = with("jax");
        b.setup(ExperimentId::Infer, names::MLP);
        b.stage(names::FIRST_INITIALIZE, 0.2)
            .series(names::FRESH_INPUT, None, 0.4, 1e-3)
            .series(names::NEW_WEIGHTS, None, again, again);
        evidence(b, 17)
    };
    let found = infer(3e-3);
    assert_eq!(found.verdict, Verdict::Holds, "{}", found.sentence);
    assert!(
        found.sentence.contains("driver and context 5"),
        "{}",
        found.sentence
    );
    assert_eq!(infer(0.35).verdict, Verdict::DoesNotHold);
}

#[test]
fn preallocated_memory_is_reported_as_such() {
    let gib = f64::from(1 << 30);
    let mut b = with("jax");
    b.setup(ExperimentId::Infer, names::MLP);
    b.memory(
        names::DEVICE_MEMORY,
        &[0.0, 48.0 * gib, 48.0 * gib, 48.0 * gib],
    )
    .memory(names::ARRAY_MEMORY, &[0.0, 1e6, 1e6, 1e6])
    .memory(names::HOST_MEMORY, &[1e8, 4e9, 4e9, 4e9]);
    let found = evidence(b, 18);
    for words in [
        "of device memory",
        "jax preallocates 75 %",
        "the first take 977 KiB",
    ] {
        assert!(found.sentence.contains(words), "{}", found.sentence);
    }
    let mut b = with("jax");
    b.setup(ExperimentId::Infer, names::MLP);
    b.memory(names::HOST_MEMORY, &[1e8, 4e9, 4e9, 4e9]);
    let found = evidence(b, 18);
    assert_eq!(
        (found.verdict, found.enough_starts),
        (Verdict::Inconclusive, None)
    );
    assert!(
        found.sentence.contains("device memory could not be read"),
        "{}",
        found.sentence
    );
}

#[test]
fn the_excess_must_grow_for_every_subject() {
    let mut b = with("jax");
    for (variant, excess) in [
        (names::MLP, 0.3),
        (names::MLP_LARGE, 0.4),
        (names::UNET, 0.9),
    ] {
        b.setup(ExperimentId::Infer, variant);
        b.series(names::FRESH_INPUT, None, excess, 1e-3);
    }
    b.framework = Some("torch".into());
    for (variant, excess) in [(names::MLP, 0.3), (names::MLP_LARGE, 0.315)] {
        b.setup(ExperimentId::Infer, variant);
        b.series(names::FRESH_INPUT, None, excess, 1e-3);
    }
    let report = analyze(&b.measured(), "0.0.0").expect("a device was measured");
    let claim = report
        .claims
        .iter()
        .find(|claim| claim.id == 20)
        .expect("20");
    let verdicts: Vec<Verdict> = claim.evidence.iter().map(|e| e.verdict).collect();
    assert_eq!(verdicts, [Verdict::Holds, Verdict::Inconclusive]);
    assert_eq!(claim.verdict, Verdict::Inconclusive, "{}", claim.sentence);
}

#[test]
fn the_table_and_the_claims_show_the_same_estimate() {
    let mut b = with("torch");
    b.setup(ExperimentId::Train, names::MODEL_FROM_NOTHING);
    b.series(names::ITERATION, None, 0.3, 1e-3);
    // All but two starts never settle: their iterations keep getting faster.
    for start in &mut b.setups[0].starts[2..] {
        for (index, value) in start.samples[0].values.iter_mut().enumerate().skip(1) {
            *value *= 0.8_f64.powi(index as i32);
        }
    }
    let report = analyze(&b.measured(), "0.0.0").expect("a device was measured");
    let series = &report.experiments[0].series[0];
    let claim = report
        .claims
        .iter()
        .find(|claim| claim.id == 10)
        .expect("10");
    assert_eq!(series.class, Some(Class::NoSteadyState));
    assert_eq!(series.ratio, Some(claim.evidence[0].value));
    let ratio = series.first / series.steady.expect("some settle");
    assert!((ratio / claim.evidence[0].value.value - 1.0).abs() < 1e-9);
}

#[test]
fn a_verdict_lists_the_series_it_is_based_on() {
    let report = analyze(&textbook_gpu(), "0.0.0").expect("a device was measured");
    let claim = report.claims.iter().find(|claim| claim.id == 6).expect("6");
    let basis = &claim.evidence[0].basis;
    let names: Vec<&str> = basis.iter().map(|basis| basis.series.as_str()).collect();
    assert_eq!(names, [names::H2D_PAGEABLE, names::H2D_PINNED]);
    for basis in basis {
        assert_eq!(basis.experiment, ExperimentId::Transfer);
        assert_eq!((basis.size, basis.starts), (Some(4 << 20), STARTS - 1));
    }
}

#[test]
fn training_without_a_variant_is_read_as_from_nothing() {
    let mut measured = textbook_gpu();
    for setup in &mut measured.setups {
        if [ExperimentId::Train, ExperimentId::TrainInitialized].contains(&setup.experiment) {
            setup.variant.clear();
        }
    }
    let old = analyze(&measured, "0.0.0").expect("a device was measured");
    let again = analyze(&Measured::from_report(&old), "0.0.0").expect("a device was measured");
    let expected = analyze(&textbook_gpu(), "0.0.0").expect("a device was measured");
    assert!(again == expected, "it is read as another variant");
}

/// The notable sentence that contains `text`.
fn sentence(b: Builder, text: &str) -> String {
    let report = analyze(&b.measured(), "0.0.0").expect("a device was measured");
    let found = report
        .notable
        .iter()
        .find(|sentence| sentence.contains(text));
    (found.unwrap_or_else(|| panic!("{:?}", report.notable))).clone()
}

/// The first percentage of a sentence.
fn percent(sentence: &str) -> f64 {
    let (number, _) = sentence.split_once(" %").expect("a percentage");
    let number = number.rsplit(' ').next().expect("a number");
    number.parse().expect("a number")
}

#[test]
fn autograd_is_a_share_of_a_whole_iteration() {
    let forward_only = |b: &mut Builder| {
        b.setup(ExperimentId::TrainNoOptimizer, names::FORWARD_ONLY);
        b.series(names::FORWARD_PLAIN, None, 1e-3, 100e-6).series(
            names::FORWARD_BACKWARD,
            None,
            0.04,
            400e-6,
        );
    };
    let mut b = with("torch");
    forward_only(&mut b);
    b.setup(ExperimentId::Train, names::MODEL_FROM_NOTHING);
    b.series(names::ITERATION, None, 0.5, 700e-6);
    b.setup(ExperimentId::Train, names::MODEL_ON_DEVICE);
    b.series(names::ITERATION, None, 0.2, 500e-6);
    let found = sentence(b, "Autograd");
    let expected = "of a steady training iteration, optimizer included, with torch on cuda";
    assert!(found.contains(expected), "{found}");
    assert!((percent(&found) - 60.0).abs() <= 1.0, "{found}");
    // Without an iteration, or of another subject, the passes alone are left.
    let mut b = with("torch");
    forward_only(&mut b);
    b.framework = None;
    b.setup(ExperimentId::Train, names::MODEL_ON_DEVICE);
    b.series(names::ITERATION, None, 0.2, 500e-6);
    let found = sentence(b, "Autograd");
    assert!(
        found.contains("of forward and backward with torch"),
        "{found}"
    );
    assert!((percent(&found) - 75.0).abs() <= 1.0, "{found}");
}

#[test]
fn copies_are_compared_with_like() {
    let mut b = with("torch");
    b.setup(ExperimentId::Transfer, names::PINNED_OR_RANDN);
    b.series(names::MOVE_PINNED, None, 0.02, 110e-6).series(
        names::RANDN_CONTEXT_READY,
        None,
        2.6e-3,
        42e-6,
    );
    let found = sentence(b, "Moving a pinned tensor");
    for part in [
        "Moving a pinned tensor of 4 MiB with torch on cuda takes",
        "creating one there with randn takes",
        "These are different operations and do not show the effect of pinning",
        "Compare pinned with pageable copies instead.",
    ] {
        assert!(found.contains(part), "{found}");
    }
    // 64 MiB in 2 ms to the device, and in 0.1 ms within it.
    let mut b = Builder::new();
    b.setup(ExperimentId::Transfer, "");
    let size = Some(64 << 20);
    b.series(names::H2D_PAGEABLE, size, 9e-3, 8e-3)
        .series(names::H2D_PINNED, size, 3e-3, 2e-3)
        .series(names::D2D, size, 1e-3, 100e-6);
    let found = sentence(b, "Copies within");
    let of = |text: &str| {
        let (number, _) = text.split_once(" GB/s").expect("a bandwidth");
        let number: f64 = number
            .rsplit(' ')
            .next()
            .unwrap()
            .parse()
            .expect("a number");
        number
    };
    assert!(found.starts_with("Copies within cuda reach "), "{found}");
    assert!((of(&found) / 671.0 - 1.0).abs() < 0.02, "{found}");
    let (_, to) = found.split_once(" GB/s, ").expect("a comparison");
    let (times, to) = to.split_once("× the ").expect("a factor");
    assert!(
        (times.parse::<f64>().unwrap() / 20.0 - 1.0).abs() < 0.03,
        "{found}"
    );
    assert!((of(&format!(" {to}")) / 33.6 - 1.0).abs() < 0.02, "{found}");
}
