//! Regions that a program times itself, as iterations: in a loop, in a helper, and in a
//! program without any loop.

use preheat_analyze::run::analyze;
use preheat_model::RemedyId;
use preheat_model::run::trace::{Clock, Iteration, Reading, SpanKind, ThreadSample};
use preheat_model::run::{
    AfterReading, Body, Cause, CauseSeconds, IterationsBy, RunReport, TimedFile, Timers,
};

#[path = "run_builder/mod.rs"]
mod run_builder;

use run_builder::*;

/// A program that reads a clock at these times (in milliseconds) and locations, and whose
/// source subtracts these lines and has the same text between those.
fn timed(
    readings: &[(f64, &str)],
    differences: &[(u32, u32)],
    bodies: &[(u32, u32, u32)],
) -> RunReport {
    timed_with(readings, differences, bodies, |_| {})
}

/// Like [`timed`], for a program that does more.
fn timed_with(
    readings: &[(f64, &str)],
    differences: &[(u32, u32)],
    bodies: &[(u32, u32, u32)],
    more: impl Fn(&mut Program),
) -> RunReport {
    let mut p = Program::python(100);
    more(&mut p);
    for (at, place) in readings {
        let place = p.text(&place.replace(' ', "\0"));
        p.process.readings.push(Reading {
            time: ns(*at),
            thread: 0,
            place,
            clock: Clock::Time,
            value: ns(*at),
        });
    }
    if p.process.threads[0].samples.is_empty() {
        p.busy(0, &[(0.0, 300.0)], 300.0);
    }
    let mut recording = recording("auto", vec![p.alone(300.0)]);
    recording.manifest.timers = Timers {
        files: vec![TimedFile {
            file: "a.py".to_owned(),
            differences: differences.to_vec(),
            ..TimedFile::default()
        }],
        bodies: (bodies.iter())
            .map(|(from, to, text)| Body {
                file: "a.py".to_owned(),
                from: *from,
                to: *to,
                text: *text,
                code: None,
            })
            .collect(),
        ..Timers::default()
    };
    let found = analyze(&recording);
    check(&found);
    found.report
}

#[test]
fn device_work_that_a_region_did_not_wait_for_is_timed_by_the_next_synchronization() {
    let unfinished = |more: &dyn Fn(&mut Program)| {
        let readings = [(100.0, "a.py 3 <module>"), (110.0, "a.py 5 <module>")];
        let report = timed_with(&readings, &[(3, 5)], &[], |p| {
            p.launch("kernel", (102.0, 103.0));
            more(p);
        });
        let found = report.regions[0]
            .unfinished
            .expect("it is not synchronized");
        assert_eq!(found.launches, 1);
        (found.then.unwrap(), found.seconds)
    };
    let (then, seconds) = unfinished(&|p| p.call("cuStreamSynchronize", (111.0, 115.0)));
    assert_eq!(then, AfterReading::Waited);
    close(seconds.unwrap(), 0.005);
    // Another kernel is launched before the synchronization.
    let (then, seconds) = unfinished(&|p| {
        p.launch("kernel", (112.0, 113.0));
        p.call("cuStreamSynchronize", (114.0, 120.0));
    });
    assert_eq!(then, AfterReading::Later);
    close(seconds.unwrap(), 0.01);
    // The synchronization returns at once: the device was done before it.
    let (then, seconds) = unfinished(&|p| p.call("cuStreamSynchronize", (112.0, 112.005)));
    assert_eq!(then, AfterReading::Later);
    close(seconds.unwrap(), 0.002_005);
    assert_eq!(unfinished(&|_| {}), (AfterReading::Never, None));
}

#[test]
fn cpu_time_contains_waits_on_the_cpu() {
    // `clock()` around a launch and a synchronization of 50 ms: 52 ms of wall-clock time.
    let causes = |cpu: f64, sampled: Option<f64>| {
        let mut p = Program::new(100);
        let places = ["a.c\x003\0main", "a.c\x005\0main"].map(|place| p.text(place));
        for (time, place, value) in [(100.0, places[0], 7.0), (152.0, places[1], 7.0 + cpu)] {
            p.process.readings.push(Reading {
                time: ns(time),
                thread: 0,
                place,
                clock: Clock::CClock,
                value: ns(value),
            });
        }
        p.launch("kernel", (100.0, 102.0));
        p.call("cuCtxSynchronize", (102.0, 152.0));
        if let Some(used) = sampled {
            p.process.threads[0].samples = [(100.001, 7.0), (152.001, 7.0 + used)]
                .map(|(time, cpu)| ThreadSample {
                    time: ns(time),
                    cpu: ns(cpu),
                    ..ThreadSample::default()
                })
                .to_vec();
        }
        let mut recording = recording("auto", vec![p.alone(300.0)]);
        recording.manifest.timers.files = vec![TimedFile {
            file: "a.c".to_owned(),
            differences: vec![(3, 5)],
            ..TimedFile::default()
        }];
        let found = analyze(&recording);
        check(&found);
        let region = &found.report.regions[0];
        assert_eq!(region.clock, Some(Clock::CClock));
        close(region.first.value, cpu * 1e-3);
        let sum: f64 = region.causes.iter().map(|part| part.seconds).sum();
        close(sum, cpu * 1e-3);
        let of = |cause| {
            let parts = region.causes.iter().filter(|part| part.cause == cause);
            parts.map(|part| part.seconds).sum::<f64>()
        };
        (of(Cause::WaitingForDevice), of(Cause::OwnCpu))
    };
    // CUDA spins.
    let (waiting, own) = causes(52.0, None);
    close(waiting, 0.05);
    assert!(own < 0.003, "{own}");
    // It blocks: a region that only synchronizes still has a cause.
    assert_eq!(causes(2.0, None).0, 0.0);
    // Four threads compute meanwhile: their CPU time is the program's own.
    let (waiting, own) = causes(252.0, Some(52.0));
    close(waiting, 0.05);
    assert!((0.1999..0.203).contains(&own), "{own}");
    // One does, and this one blocks: the recorded CPU time of the thread shows it.
    let (waiting, own) = causes(52.0, Some(2.0));
    assert_eq!(waiting, 0.0);
    assert!((0.0499..0.0521).contains(&own), "{own}");
}

#[test]
fn the_time_that_a_timer_adds_to_the_first_iteration_has_causes() {
    // Twelve calls, each timed together with the allocation of its inputs.
    let report = |allocated: f64| {
        let calls: Vec<f64> = (0..12).map(|i| 50.0 + 20.0 * f64::from(i)).collect();
        let readings: Vec<(f64, &str)> = (calls.iter())
            .flat_map(|at| {
                [
                    (at - allocated, "a.py 3 <module>"),
                    (at + 10.0, "a.py 6 <module>"),
                ]
            })
            .collect();
        timed_with(&readings, &[(3, 6)], &[], |p| {
            for at in &calls {
                p.allocate("cuMemAlloc", 512, 1, (at - allocated, *at));
                p.frame(
                    SpanKind::Iteration(Iteration::ModelCall),
                    "Net",
                    (*at, at + 10.0),
                );
            }
        })
    };
    let found = report(5.0);
    assert_eq!(found.iteration, "calls of Net");
    close(found.first.unwrap(), 0.01);
    close(found.regions[0].first.value, 0.015);
    let around = found.regions[0].around.as_ref().expect("it is longer");
    close(around.seconds, 0.005);
    assert_eq!(around.causes[0].cause, Cause::DeviceAllocation);
    // Half a millisecond more is the same number.
    assert_eq!(report(0.5).regions[0].around, None);
    // The program waits for the device after it has read the clock.
    let calls: Vec<f64> = (0..12).map(|i| 50.0 + 20.0 * f64::from(i)).collect();
    let readings: Vec<(f64, &str)> = (calls.iter())
        .flat_map(|at| [(at - 5.0, "a.py 3 <module>"), (at + 8.0, "a.py 6 <module>")])
        .collect();
    let found = timed_with(&readings, &[(3, 6)], &[], |p| {
        for at in &calls {
            p.allocate("cuMemAlloc", 512, 1, (at - 5.0, *at));
            p.frame(
                SpanKind::Iteration(Iteration::ModelCall),
                "Net",
                (*at, at + 10.0),
            );
        }
    });
    let around = found.regions[0].around.as_ref().expect("it is longer");
    close(around.seconds, 0.005);
}

#[test]
fn the_causes_of_a_region_are_those_of_all_starts_and_of_its_excess() {
    let start = |busy: &[(f64, f64)]| {
        let mut p = Program::python(100);
        for (at, line) in [(100.0, 3), (150.0, 5), (160.0, 3), (170.0, 5)] {
            let place = p.text(&format!("a.py\0{line}\0<module>"));
            p.process.readings.push(Reading {
                time: ns(at),
                thread: 0,
                place,
                clock: Clock::Time,
                value: ns(at),
            });
        }
        p.busy(0, busy, 300.0);
        p.alone(300.0)
    };
    // The first execution computes in one counted start and waits in the other.
    let starts = vec![
        start(&[(0.0, 300.0)]),
        start(&[(0.0, 300.0)]),
        start(&[(0.0, 100.0), (150.0, 300.0)]),
    ];
    let mut recording = recording("auto", starts);
    recording.manifest.timers.files = vec![TimedFile {
        file: "a.py".to_owned(),
        differences: vec![(3, 5)],
        ..TimedFile::default()
    }];
    let found = analyze(&recording);
    check(&found);
    let report = found.report;
    let region = &report.regions[0];
    let of = |parts: &[CauseSeconds], cause| {
        let parts = parts.iter().filter(|part| part.cause == cause);
        parts.map(|part| part.seconds).sum::<f64>()
    };
    close(of(&region.causes, Cause::OwnCpu), 0.025);
    close(of(&region.causes, Cause::Idle), 0.025);
    close(of(&region.second_causes, Cause::OwnCpu), 0.01);
    for cause in [Cause::OwnCpu, Cause::Idle] {
        let more = of(&region.causes, cause) - of(&region.second_causes, cause);
        close(of(&report.second_excess, cause), more);
    }
}

#[test]
fn the_best_later_iteration_is_the_fastest_of_each_start() {
    // Iterations of two counted starts, after one that does not count.
    for count in 3..=5 {
        let start = |lengths: [f64; 5]| {
            let mut p = Program::python(100);
            let mut at = 100.0;
            for length in &lengths[..count] {
                for (time, line) in [(at, 3), (at + length, 5)] {
                    let place = p.text(&format!("a.py\0{line}\0<module>"));
                    p.process.readings.push(Reading {
                        time: ns(time),
                        thread: 0,
                        place,
                        clock: Clock::Time,
                        value: ns(time),
                    });
                }
                at += length + 1.0;
            }
            p.busy(0, &[(0.0, 300.0)], 300.0);
            p.alone(300.0)
        };
        let starts = vec![
            start([90.0, 1.0, 1.0, 1.0, 1.0]),
            start([50.0, 8.0, 4.0, 6.0, 2.0]),
            start([50.0, 16.0, 16.0, 4.0, 8.0]),
        ];
        let mut recording = recording("auto", starts);
        recording.manifest.timers.files = vec![TimedFile {
            file: "a.py".to_owned(),
            differences: vec![(3, 5)],
            ..TimedFile::default()
        }];
        let found = analyze(&recording);
        check(&found);
        let report = found.report;
        assert_eq!(report.starts[1].iterations.len(), count);
        // Means over starts are geometric.
        let [first, second] = match count {
            3 => [4.0, 16.0],
            4 => [4.0, 4.0],
            _ => [2.0, 4.0],
        };
        let best = f64::sqrt(first * second) * 1e-3;
        close(report.best.expect("there are later ones").value, best);
        close(
            report.regions[0].best.expect("there are later ones").value,
            best,
        );
        close(report.second.unwrap().value, f64::sqrt(8.0 * 16.0) * 1e-3);
    }
}

fn names(report: &RunReport) -> Vec<&str> {
    report.regions.iter().map(|region| &*region.name).collect()
}

#[test]
fn straight_line_code_repeated_once_has_a_first_and_a_second() {
    let readings = [
        (100.0, "a.py 3 <module>"),
        (150.0, "a.py 5 <module>"),
        (160.0, "a.py 7 <module>"),
        (162.0, "a.py 9 <module>"),
    ];
    let differences = [(3, 5), (7, 9)];
    let report = timed(&readings, &differences, &[(3, 5, 0), (7, 9, 0)]);
    assert_eq!(report.iterations_by, IterationsBy::Timers);
    assert_eq!(report.iteration, "a.py:3–5 and 7–9, timed by the program");
    close(report.first.unwrap(), 0.05);
    close(report.second.unwrap().value, 0.002);
    close(report.first_to_second.unwrap().value, 25.0);
    assert_eq!(names(&report), ["a.py:3–5", "a.py:7–9"]);
    // A region with different code is not a repetition.
    let report = timed(&readings, &differences, &[(3, 5, 0), (7, 9, 1)]);
    assert_eq!(report.iteration, "a.py:3–5, timed by the program");
    assert_eq!((report.second, report.first_to_second), (None, None));
    assert_eq!(names(&report), ["a.py:3–5", "a.py:7–9"]);
}

#[test]
fn a_decorator_used_twice_has_a_first_and_a_second() {
    let readings = [
        (100.0, "a.py 3 wrapper a.py 20 <module>"),
        (150.0, "a.py 5 wrapper a.py 20 <module>"),
        (160.0, "a.py 3 wrapper a.py 21 <module>"),
        (162.0, "a.py 5 wrapper a.py 21 <module>"),
    ];
    let report = timed(&readings, &[(3, 5)], &[(20, 20, 0), (21, 21, 0)]);
    assert_eq!(names(&report), ["a.py:20", "a.py:21"]);
    let helpers = report.regions.iter().map(|region| region.helper.as_deref());
    assert!(helpers.into_iter().all(|lines| lines == Some("a.py:3–5")));
    assert_eq!(report.iteration, "a.py:20 and 21, timed by the program");
    close(report.first_to_second.unwrap().value, 25.0);
    // It wraps two functions.
    let report = timed(&readings, &[(3, 5)], &[(20, 20, 0), (21, 21, 1)]);
    assert_eq!(report.second, None);
}

#[test]
fn blocks_of_a_context_manager_are_repetitions_if_they_do_the_same() {
    let block = |begin, end, line| {
        [
            (begin, format!("a.py 3 __enter__ a.py {line} <module>")),
            (end, format!("a.py 5 __exit__ a.py {line} <module>")),
        ]
    };
    let all = [
        block(100.0, 150.0, 20),
        block(160.0, 162.0, 22),
        block(170.0, 171.0, 24),
    ]
    .concat();
    let readings: Vec<(f64, &str)> = all.iter().map(|(at, place)| (*at, &**place)).collect();
    let bodies = [(20, 20, 0), (22, 22, 0), (24, 24, 0)];
    let report = timed(&readings, &[(3, 5)], &bodies);
    assert_eq!(names(&report), ["a.py:20", "a.py:22", "a.py:24"]);
    let iterations = &report.starts[0].iterations;
    assert_eq!(iterations.len(), 3);
    close(iterations[2], 0.001);
}

#[test]
fn two_helpers_time_the_code_between_their_calls() {
    let readings = [
        (100.0, "a.py 3 tic a.py 20 <module>"),
        (150.0, "a.py 6 toc a.py 22 <module>"),
        (160.0, "a.py 3 tic a.py 24 <module>"),
        (162.0, "a.py 6 toc a.py 26 <module>"),
    ];
    let report = timed(&readings, &[(3, 6)], &[(20, 22, 0), (24, 26, 0)]);
    assert_eq!(names(&report), ["a.py:20–22", "a.py:24–26"]);
    close(report.second.unwrap().value, 0.002);
}

#[test]
fn a_warm_up_before_a_loop_is_not_one_of_its_iterations() {
    let mut all = vec![
        (100.0, "a.py 3 f a.py 20 <module>"),
        (150.0, "a.py 5 f a.py 20 <module>"),
    ];
    for turn in 0..3 {
        let at = 160.0 + 10.0 * f64::from(turn);
        all.push((at, "a.py 3 f a.py 22 <module>"));
        all.push((at + 2.0, "a.py 5 f a.py 22 <module>"));
    }
    let report = timed(&all, &[(3, 5)], &[(20, 20, 0), (22, 22, 0)]);
    assert_eq!(report.iteration, "a.py:22, timed by the program");
    assert_eq!(report.starts[0].iterations.len(), 3);
}

#[test]
fn a_region_that_only_waited_for_a_processor_needs_no_warm_up() {
    // Beside twelve equal steps, a region takes 90 ms instead of 10 ms: for 80 ms it waits.
    let needs = |waited: f64| {
        let readings = [
            (100.0, "a.py 3 <module>"),
            (190.0, "a.py 5 <module>"),
            (200.0, "a.py 3 <module>"),
            (210.0, "a.py 5 <module>"),
        ];
        let report = timed_with(&readings, &[(3, 5)], &[], |p| {
            for step in 0..12 {
                let at = 215.0 + 5.0 * f64::from(step);
                p.frame(SpanKind::Range, "step", (at, at + 5.0));
            }
            p.busy(0, &[(0.0, 105.0), (185.0, 300.0)], 300.0);
            for sample in &mut p.process.threads[0].samples {
                let part = (sample.time as f64 - ns(105.0) as f64) / ns(80.0) as f64;
                sample.waited = (part.clamp(0.0, 1.0) * ns(waited) as f64) as u64;
            }
        });
        assert_eq!(report.regions.len(), 1);
        report.remedies.iter().any(|one| one.id == RemedyId::WarmUp)
    };
    assert!(needs(0.0));
    assert!(!needs(80.0));
}

#[test]
fn lines_that_arrive_together_have_the_times_of_the_regions_before_them() {
    let mut p = Program::python(100);
    let (from, to) = (p.text("a.py\x003\0<module>"), p.text("a.py\x005\0<module>"));
    for (at, place) in [(100.0, from), (140.0, to), (141.0, from), (151.0, to)] {
        p.process.readings.push(Reading {
            time: ns(at),
            thread: 0,
            place,
            clock: Clock::Time,
            value: ns(at),
        });
    }
    p.busy(0, &[(0.0, 300.0)], 300.0);
    let mut start = p.alone(300.0);
    start.lines = vec![ns(170.0), ns(170.0)];
    let mut recording = recording("lines:^iter", vec![start]);
    recording.manifest.timers.files = vec![TimedFile {
        file: "a.py".to_owned(),
        differences: vec![(3, 5)],
        ..TimedFile::default()
    }];
    let found = analyze(&recording);
    check(&found);
    let expected = [(ns(100.0), ns(140.0)), (ns(140.0), ns(151.0))];
    assert_eq!(found.starts[0].iterations, expected);
    assert!(
        found
            .report
            .first_begin
            .expect("lines end iterations")
            .known
    );
}

#[test]
fn unpaired_readings_get_a_note() {
    let readings = [(100.0, "a.py 3 <module>"), (150.0, "a.py 5 <module>")];
    let report = timed(&readings, &[], &[]);
    assert_eq!(report.iterations_by, IterationsBy::None);
    let note = "The program reads clocks at a.py:3 and 5, but";
    assert!(report.notes.iter().any(|other| other.starts_with(note)));
    let some = [
        &readings[..],
        &[(160.0, "a.py 9 <module>"), (170.0, "a.py 9 <module>")],
    ]
    .concat();
    let report = timed(&some, &[(3, 5)], &[]);
    let note = "Clock readings at a.py:9 belong to no timed region";
    assert!(report.notes.iter().any(|other| other.starts_with(note)));
    // A timestamp is not a timer.
    let report = timed(&some[..3], &[(3, 5)], &[]);
    assert!(
        !report
            .notes
            .iter()
            .any(|note| note.contains("lock readings"))
    );
}

#[test]
fn programs_of_packages_that_a_program_starts_are_not_timed() {
    let reading = |p: &mut Program, at: f64, place: &str| {
        let place = p.text(&place.replace(' ', "\0"));
        p.process.readings.push(Reading {
            time: ns(at),
            thread: 0,
            place,
            clock: Clock::Time,
            value: ns(at),
        });
    };
    let names = |own: &str| -> Vec<String> {
        let (mut p, mut child) = (Program::python(100), Program::python(200));
        for (at, line) in [(100.0, 3), (120.0, 5), (130.0, 3), (135.0, 5)] {
            reading(&mut p, at, &format!("{own} {line} step"));
            let monitor = format!("/v/site-packages/ray/monitor.py {} update", line + 10);
            reading(&mut child, at + 1.0, &monitor);
        }
        p.busy(0, &[(0.0, 300.0)], 300.0);
        child.process.parent = 100;
        let others = vec![child.started(50.0, 60.0, 200.0)];
        let report = analyze(&recording("auto", vec![p.beside(others, 300.0)])).report;
        report
            .regions
            .into_iter()
            .map(|region| region.name)
            .collect()
    };
    assert_eq!(names("a.py"), ["a.py:3–5"]);
    // A program of a package that is the command itself is.
    let of_package = names("/v/site-packages/tool/__main__.py");
    assert!(
        of_package.contains(&"__main__.py:3–5".to_owned()),
        "{of_package:?}"
    );
}
