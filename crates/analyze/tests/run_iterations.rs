//! Detection of iterations, doubts about them, and the excess of the first one.

use preheat_analyze::run::analyze;
use preheat_model::RemedyId;
use preheat_model::run::trace::{Iteration, SpanKind, StartTrace};
use preheat_model::run::{Cause, RunReport, Temperature};

#[path = "run_builder/mod.rs"]
mod run_builder;

use run_builder::*;

/// Twelve steps of 10 ms from 100 ms on, the first of 50 ms; `each` adds to them.
fn steps(mut each: impl FnMut(&mut Program, f64)) -> StartTrace {
    let mut p = Program::python(100);
    p.frame(SpanKind::Range, "step", (100.0, 150.0));
    each(&mut p, 100.0);
    for i in 0..11 {
        let at = 150.0 + 10.0 * f64::from(i);
        p.frame(SpanKind::Range, "step", (at, at + 10.0));
        each(&mut p, at);
    }
    p.busy(0, &[(0.0, 260.0)], 260.0);
    p.alone(260.0)
}

fn has_note(notes: &[String], part: &str) -> bool {
    notes.iter().any(|note| note.contains(part))
}

#[test]
fn the_first_step_begins_with_the_fetch_of_its_batch() {
    let training = |optimizers: &[&str]| {
        let mut p = Program::python(100);
        // The data is inspected long before.
        p.frame(
            SpanKind::Iteration(Iteration::DataFetch),
            "DataLoader",
            (20.0, 25.0),
        );
        for i in 0..6 {
            let at = 100.0 + 40.0 * f64::from(i);
            p.frame(
                SpanKind::Iteration(Iteration::DataFetch),
                "DataLoader",
                (at + 5.0, at + 12.0),
            );
            p.frame(
                SpanKind::Iteration(Iteration::ModelCall),
                "Net",
                (at + 13.0, at + 20.0),
            );
            for (turn, optimizer) in optimizers.iter().enumerate() {
                let at = at + 25.0 + 5.0 * turn as f64;
                p.frame(
                    SpanKind::Iteration(Iteration::OptimizerStep),
                    optimizer,
                    (at, at + 4.0),
                );
            }
        }
        p.busy(0, &[(0.0, 360.0)], 360.0);
        findings("auto", p.alone(360.0))
    };
    let found = training(&["SGD"]);
    assert_eq!(found.report.iteration, "steps of SGD");
    assert_eq!(found.starts[0].iterations[0], (ns(105.0), ns(129.0)));
    // Of two alternating optimizers, the last of a round counts, and its number is shown.
    let found = training(&["SGD", "SGD #2"]);
    assert_eq!(found.report.iteration, "steps of SGD #2");
    assert_eq!(found.starts[0].iterations[0], (ns(105.0), ns(134.0)));
    assert_eq!(training(&["SGD #2"]).report.iteration, "steps of SGD");
}

#[test]
fn lines_determine_the_first_begin_and_short_ones_are_doubted() {
    let mut p = Program::python(100);
    p.import("torch", ("__main__", "a.py:1"), (20.0, 90.0), 70.0);
    p.busy(0, &[(0.0, 400.0)], 400.0);
    let mut start = p.alone(400.0);
    start.lines = (0..7).map(|i| ns(100.0 + 40.0 * f64::from(i))).collect();
    let report = findings("lines:^step", start).report;
    assert_eq!(
        report.iteration,
        "from one line that matches ^step to the next; the first from the last import, or the last \
         other line of the program"
    );
    assert!(report.first_begin.is_some_and(|begin| !begin.known));
    assert!(has_note(
        &report.notes,
        "marks the beginning of an iteration"
    ));
}

#[test]
fn a_first_line_without_a_begin_may_include_set_up() {
    let report = |mark: bool| {
        let mut p = Program::new(100);
        p.busy(0, &[(0.0, 700.0)], 700.0);
        let mut start = p.alone(700.0);
        start.lines = (0..30).map(|i| ns(400.0 + 10.0 * f64::from(i))).collect();
        if mark {
            start.line_begins = vec![ns(380.0)];
        }
        findings("lines:^step", start).report
    };
    let warms_up = |report: &RunReport| {
        let mut remedies = report.remedies.iter();
        remedies.any(|remedy| remedy.id == RemedyId::WarmUp)
    };
    let without = report(false);
    assert!(has_note(&without.notes, "may include the set-up"));
    assert!(!warms_up(&without));
    let with = report(true);
    assert!(!has_note(&with.notes, "may include the set-up"));
    assert!(warms_up(&with), "{:?}", with.remedies);
}

#[test]
fn steps_before_the_first_line_are_a_warm_up() {
    let training = |warm_up: u32| {
        let mut p = Program::python(100);
        p.import("torch", ("__main__", "a.py:1"), (20.0, 90.0), 70.0);
        for i in 0..warm_up + 6 {
            let at = 100.0 + 40.0 * f64::from(i);
            // The recorder stops to hook model calls after eight steps.
            if i < 8 {
                p.frame(
                    SpanKind::Iteration(Iteration::ModelCall),
                    "Net",
                    (at + 5.0, at + 20.0),
                );
            }
            p.frame(
                SpanKind::Iteration(Iteration::OptimizerStep),
                "SGD",
                (at + 25.0, at + 30.0),
            );
        }
        p.busy(0, &[(0.0, 800.0)], 800.0);
        let mut start = p.alone(800.0);
        let line = |i| ns(100.0 + 40.0 * f64::from(i) + 31.0);
        start.lines = (warm_up..warm_up + 6).map(line).collect();
        let found = findings("lines:^step", start);
        let begin = found.report.first_begin.expect("lines end iterations");
        assert!(begin.known);
        (found.starts[0].iterations[0], begin.silent)
    };
    // It begins with its model call, or where the last step of the warm-up ended.
    assert_eq!(training(0), ((ns(105.0), ns(131.0)), 0));
    assert_eq!(training(5), ((ns(290.0), ns(331.0)), 5));
    assert_eq!(training(10), ((ns(490.0), ns(531.0)), 10));
}

#[test]
fn one_or_two_iterations_have_no_class() {
    for (count, words) in [(1, "only one iteration"), (2, "only two iterations")] {
        let mut p = Program::python(100);
        for i in 0..count {
            let at = 100.0 + 10.0 * f64::from(i);
            p.frame(SpanKind::Range, "step", (at, at + 10.0));
        }
        p.busy(0, &[(0.0, 130.0)], 130.0);
        let report = findings("nvtx:step", p.alone(130.0)).report;
        assert_eq!((report.class, report.consistency), (None, None));
        assert!(has_note(&report.notes, words), "{:?}", report.notes);
    }
    let report = findings("auto", steps(|_, _| {})).report;
    assert!(report.class.is_some() && !has_note(&report.notes, "only two iterations"));
}

#[test]
fn unsynchronized_iterations_are_doubted() {
    let words = "before the device is done";
    let launches = |waits: bool| {
        steps(|p, at| {
            p.launch("kernel", (at + 1.0, at + 2.0));
            if waits {
                p.call("cuStreamSynchronize", (at + 5.0, at + 9.0));
            }
        })
    };
    assert!(has_note(
        &findings("auto", launches(false)).report.notes,
        words
    ));
    assert!(!has_note(
        &findings("auto", launches(true)).report.notes,
        words
    ));
    // Without a device there is nothing to wait for.
    assert!(!has_note(
        &findings("auto", steps(|_, _| {})).report.notes,
        words
    ));
    let mut synchronized = recording("auto", vec![launches(false)]);
    synchronized.manifest.settings.synchronize = true;
    assert!(!has_note(&analyze(&synchronized).report.notes, words));
}

#[test]
fn negative_parts_of_an_excess_are_listed_and_all_add_up() {
    // Steady steps wait 6 ms for the device; the first one does not.
    let start = steps(|p, at| {
        p.launch("kernel", (at + 0.5, at + 1.0));
        if at > 100.0 {
            p.call("cuStreamSynchronize", (at + 3.0, at + 9.0));
        } else {
            p.module(1 << 20, &[90], &[], (at + 2.0, at + 42.0));
        }
    });
    let report = findings("auto", start).report;
    let parts = &report.first_excess;
    let waiting = parts.iter().find(|p| p.cause == Cause::WaitingForDevice);
    close(-waiting.unwrap().seconds, 0.006);
    let sum: f64 = parts.iter().map(|part| part.seconds).sum();
    close(sum, report.first.unwrap() - report.steady.unwrap());
    close(sum, 0.04);
}

#[test]
fn items_that_every_iteration_has_are_the_steady_ones() {
    // 20 ms of the first step are in a call made only there, 4 ms in one made by every
    // step.
    let start = steps(|p, at| {
        if at <= 100.0 {
            p.call("cuEventCreate", (at + 10.0, at + 30.0));
        }
        p.call("cuEventRecord", (at + 1.0, at + 5.0));
    });
    let report = findings("auto", start).report;
    close(item(&report, Cause::OwnCpu, "cuEventCreate"), 20.0);
    let own = report.causes.iter().find(|c| c.cause == Cause::OwnCpu);
    let items = &own.unwrap().items;
    assert!(
        items.iter().all(|item| item.name != "cuEventRecord"),
        "{items:?}"
    );
}

#[test]
fn without_a_recording_the_warmest_successful_starts_count() {
    let ends = [500.0, 100.0, 100.0, 10.0, 900.0];
    let mut starts: Vec<StartTrace> = Vec::new();
    for end in ends {
        let mut start = Program::new(100).alone(end);
        start.processes.clear();
        starts.push(start);
    }
    let mut recording = recording("auto", starts);
    recording.manifest.starts[3].exit_code = 1;
    recording.manifest.starts[4].temperature = Temperature::Disk;
    close(analyze(&recording).report.time_to_first.value, 0.1);
}

#[test]
fn interrupted_starts_do_not_affect_the_iteration_rule() {
    let mut cut = Program::python(100);
    cut.busy(0, &[(0.0, 50.0)], 50.0);
    let starts = vec![steps(|_, _| {}), cut.alone(50.0)];
    let mut recording = recording("auto", starts);
    recording.manifest.starts[1].exit_code = 130;
    let report = analyze(&recording).report;
    assert_eq!(report.starts[0].iterations.len(), 12);
    close(report.time_to_first.value, 0.15);
    // Two successful starts that differ agree on nothing.
    recording.manifest.starts[1].exit_code = 0;
    assert!(analyze(&recording).report.starts[0].iterations.is_empty());
}

/// Iterations of 10 ms that get slower and slower, and never settle.
fn unsettled() -> StartTrace {
    let mut p = Program::python(100);
    let (mut at, mut long) = (100.0, 10.0);
    for _ in 0..12 {
        p.frame(SpanKind::Range, "step", (at, at + long));
        at += long;
        long *= 1.4;
    }
    p.busy(0, &[(0.0, at)], at);
    p.alone(at)
}

#[test]
fn an_unsettled_start_is_noted_and_excluded_from_the_excess() {
    let all = [steps(|_, _| {}), steps(|_, _| {}), unsettled()];
    let report = analyze(&recording("auto", all.to_vec())).report;
    let note = "1 of 2 starts has no steady state and is left out of first, steady and ratio.";
    assert!(has_note(&report.notes, note), "{:?}", report.notes);
    let excess: f64 = report.first_excess.iter().map(|part| part.seconds).sum();
    close(excess, 0.04);
    let unexplained = |part: &&preheat_model::run::CauseSeconds| part.cause == Cause::Unexplained;
    assert_eq!(report.first_excess.iter().find(unexplained), None);
    // Few iterations settle by chance: no start is left out.
    let few = |long: [f64; 4]| {
        let mut p = Program::python(100);
        let mut at = 100.0;
        for long in long {
            p.frame(SpanKind::Range, "step", (at, at + long));
            at += long;
        }
        p.busy(0, &[(0.0, at)], at);
        p.alone(at)
    };
    let (even, uneven) = ([30.0, 10.0, 10.0, 10.0], [30.0, 10.0, 20.0, 40.0]);
    let all = [few(even), few(even), few(uneven)];
    let report = analyze(&recording("auto", all.to_vec())).report;
    assert!(!has_note(&report.notes, "left out of first"));
    let note = "1 of 2 starts seems not to settle within 4 iterations, which are too few to decide";
    assert!(has_note(&report.notes, note), "{:?}", report.notes);
    // If none settles, there is no excess.
    let report = analyze(&recording("auto", vec![unsettled()])).report;
    assert_eq!((report.steady, report.first_excess.len()), (None, 0));
    assert!(!has_note(&report.notes, "left out of first"));
}

/// Six iterations of two launches from 200 ms on, each 10 ms; `before` and `each` add to
/// them.
fn launches(before: impl Fn(&mut Program), each: impl Fn(&mut Program, f64)) -> StartTrace {
    let mut p = Program::new(100);
    before(&mut p);
    for i in 0..6 {
        let at = 200.0 + 10.0 * f64::from(i);
        each(&mut p, at);
        p.launch("a", (at + 3.0, at + 4.0));
        p.launch("b", (at + 5.0, at + 6.0));
        p.call("cuStreamSynchronize", (at + 6.0, at + 8.0));
    }
    p.busy(0, &[(0.0, 300.0)], 300.0);
    p.alone(300.0)
}

#[test]
fn the_first_iteration_of_launches_begins_like_later_ones() {
    let set_up = |p: &mut Program| {
        p.heavy("cuInit", (20.0, 60.0), 40.0);
        p.allocate("cuMemAlloc_v2", 1 << 20, 0x1000, (60.0, 70.0));
    };
    let module = |p: &mut Program| p.module(1 << 20, &[90], &[], (150.0, 200.0));
    let copy = |p: &mut Program, at: f64| {
        p.copy("cuMemcpyHtoD_v2", 1 << 20, (0x9000, 0x1000), (at, at + 2.0));
    };
    let first = |trace: StartTrace| {
        let found = findings("kernels", trace);
        let iterations = &found.starts[0].iterations;
        // Later ones begin after the synchronization of the previous one.
        assert_eq!(iterations[1], (ns(208.0), ns(218.0)));
        assert_eq!(iterations.len(), 6);
        (iterations[0], found.report.iteration)
    };
    let after = "the period of 2 kernel launches; each begins after the last synchronization or \
                 copy before its launches";
    // Weights are copied once: the first iteration begins after that, with loading its
    // code.
    let weights = launches(
        |p| {
            set_up(p);
            copy(p, 80.0);
            module(p);
        },
        |_, _| {},
    );
    assert_eq!(first(weights), ((ns(82.0), ns(208.0)), after.to_owned()));
    // Every iteration copies its input, including the first.
    let inputs = launches(
        |p| {
            set_up(p);
            copy(p, 80.0);
            module(p);
        },
        copy,
    );
    assert_eq!(first(inputs), ((ns(82.0), ns(208.0)), after.to_owned()));
    // Nothing was copied or waited for before.
    let (iteration, words) = first(launches(
        |p| {
            set_up(p);
            module(p);
        },
        |_, _| {},
    ));
    assert_eq!(iteration, (ns(20.0), ns(208.0)));
    assert!(
        words.ends_with("the first at the first driver call of the program"),
        "{words}"
    );
}

#[test]
fn the_thread_with_the_earliest_first_result_counts() {
    let mut p = Program::python(100);
    let other = p.thread("worker");
    for i in 0..20 {
        let at = 100.0 + 10.0 * f64::from(i);
        p.frame(
            SpanKind::Iteration(Iteration::ModelCall),
            "Net",
            (at, at + 5.0),
        );
    }
    for i in 0..10 {
        let at = 50.0 + 10.0 * f64::from(i);
        let text = p.text("Net");
        p.span(
            other,
            (at, at + 5.0),
            SpanKind::Iteration(Iteration::ModelCall),
            0,
            text,
        );
    }
    p.busy(0, &[(0.0, 300.0)], 300.0);
    let report = findings("auto", p.alone(300.0)).report;
    assert_eq!(report.starts[0].iterations.len(), 10);
    assert_eq!(report.time_to_first.value, 0.055);
    let others = &report.other_threads;
    assert_eq!((others.len(), others[0].iterations), (1, 20));
    assert!(
        has_note(&report.notes, "2 threads iterate"),
        "{:?}",
        report.notes
    );
}

#[test]
fn two_requests_take_precedence_over_their_tokens() {
    let mut p = Program::python(100);
    for request in 0..2 {
        let at = 100.0 + 100.0 * f64::from(request);
        let call = (at, at + 90.0);
        p.frame(
            SpanKind::Iteration(Iteration::FunctionCall),
            "generate",
            call,
        );
        for token in 0..20 {
            let at = at + 4.0 * f64::from(token);
            let call = (at, at + 3.0);
            p.frame(SpanKind::Iteration(Iteration::ModelCall), "Net", call);
        }
    }
    p.busy(0, &[(0.0, 300.0)], 300.0);
    let found = findings("auto", p.alone(300.0));
    assert_eq!(found.report.iteration, "calls of generate");
    let requests = [(ns(100.0), ns(190.0)), (ns(200.0), ns(290.0))];
    assert_eq!(found.starts[0].iterations, requests);
}

#[test]
fn runs_of_candidates_while_xla_compiles_do_not_count() {
    let mut p = Program::python(100);
    let compiler = p.thread("autotuner");
    let domain = p.text("TSL") as u16;
    let mut range = |thread, name: &str, at| {
        let name = p.text(name);
        p.span(thread, at, SpanKind::Range, domain, name);
    };
    range(0, "XlaCompile:#module=jit_step#", (100.0, 200.0));
    for run in 0..15 {
        let at = 120.0 + f64::from(run);
        let name = "XlaModule:#hlo_module=gemm_fusion_dot#";
        range(compiler, name, (at, at + 0.5));
    }
    for begin in [210.0, 230.0] {
        let name = "XlaModule:#hlo_module=jit_step,program_id=3#";
        range(0, name, (begin, begin + 5.0));
    }
    p.busy(0, &[(0.0, 240.0)], 240.0);
    let found = findings("auto", p.alone(240.0));
    let by = "runs of jit_step, compiled by XLA";
    assert_eq!(found.report.iteration, by);
    let runs = [(ns(100.0), ns(230.0)), (ns(230.0), ns(235.0))];
    assert_eq!(found.starts[0].iterations, runs);
}
