//! Every format as its tool writes it: the benchmarks and notes read from it.

mod support;

use preheat_model::classify::{Format, Measures};
use preheat_times::{Settings, TimeUnit};
use support::{SAMPLES, all, plain, read_with, sample};

#[test]
fn csv_of_warmup_stats() {
    let (format, found) = all(&sample("warmup_stats.csv"));
    assert_eq!(format, Format::WarmupStats);
    assert_eq!(found[0].name, "spectral norm");
    assert_eq!(
        found[0].starts,
        [[0.2, 0.1, 0.1, 0.1], [0.3, 0.1, 0.1, 0.1]]
    );
    assert_eq!(found[1].name, "n-body, large");
    assert_eq!(found[1].starts, [[0.5; 4]]);
    assert_eq!(
        found[1].notes,
        ["1 start has no iterations (it crashed) and is left out"]
    );
}

#[test]
fn results_of_krun_packed_and_plain() {
    for name in ["krun.json", "krun.json.bz2"] {
        let (found, result) = read_with(&sample(name), &plain());
        assert_eq!(result.unwrap(), ["1 benchmark has no start that completed"]);
        let (format, nbody) = &found[0];
        assert_eq!(*format, Format::Krun);
        assert_eq!(nbody.name, "nbody:CPython:default-python");
        assert_eq!(nbody.starts[1], [1.105115, 0.022356, 0.022203]);
        assert_eq!((nbody.starts.len(), found.len()), (2, 2));
        assert!(nbody.notes[0].contains("crashed"));
    }
    // Versions before 2016 call the times `data`.
    let old = String::from_utf8(sample("krun.json"))
        .unwrap()
        .replace("wallclock_times", "data");
    assert_eq!(all(old.as_bytes()).1[1].starts, [[0.75, 0.25, 0.25]]);
}

#[test]
fn concatenated_streams_are_one_file() {
    let text = sample("krun.json");
    let (front, back) = text.split_at(text.len() / 2);
    let both = [support::packed(front), support::packed(back)].concat();
    assert_eq!(all(&both), all(&text));
    let lines = support::packed(&sample("lines.txt"));
    assert_eq!(all(&lines).0, Format::Lines);
}

#[test]
fn times_of_hyperfine_are_starts() {
    let (format, found) = all(&sample("hyperfine.json"));
    assert_eq!(format, Format::Hyperfine);
    assert_eq!(found[0].name, "./program");
    assert_eq!(found[0].measures, Measures::Starts);
    assert_eq!(found[0].starts, [[0.0124, 0.0112, 0.0113, 0.0112, 0.0113]]);
    assert!(found[0].notes[0].contains("starts, not iterations"));
    assert_eq!(
        found[0].notes[1],
        "2 of its starts failed (their exit code is not 0)"
    );
    assert_eq!(found[1].name, "named (threads=4)");
}

#[test]
fn pyperf_warm_ups_are_first_iterations_and_calibrations_are_not_starts() {
    let (format, found) = all(&sample("pyperf.json"));
    assert_eq!(format, Format::Pyperf);
    assert_eq!(found[0].name, "sort");
    assert_eq!(found[0].measures, Measures::Iterations);
    let starts = [
        [8e-06, 4e-06, 3e-06, 2e-06],
        [8.5e-06, 4.5e-06, 3.5e-06, 2.5e-06],
    ];
    assert_eq!(found[0].starts, starts);
    assert!(found[0].notes[0].contains("the mean of many loops"));
    assert_eq!(
        found[0].notes[1],
        "1 run only calibrated and is not a start"
    );
    assert_eq!(found[1].starts, [[0.5, 0.25, 0.25]]);
    assert!(found[1].notes.is_empty());
}

#[test]
fn jmh_throughputs_and_histograms_are_converted_to_times() {
    let (format, found) = all(&sample("jmh.json"));
    assert_eq!(format, Format::Jmh);
    assert_eq!(
        found[0].name,
        "org.example.Lists.sort (kind=linked, size=100) [thrpt]"
    );
    assert_eq!(
        found[0].starts,
        [[5e-4, 2.5e-4, 2e-4], [4e-4, 2.5e-4, 1.25e-4]]
    );
    assert!(found[0].notes[0].contains("does not store its 3 warm-up iterations"));
    assert!(found[0].notes[1].contains("the mean over 10 s"));
    assert_eq!(
        found[1].name,
        "org.example.Lists.sort (kind=linked, size=100) [sample]"
    );
    assert_eq!(found[1].starts, [[2e-4, 1e-4, 1e-4]]);
    assert_eq!(found[2].name, "org.example.Lists.once");
    assert_eq!(found[2].starts, [[180.0, 120.0, 120.0]]);
    assert_eq!(
        found[2].notes,
        ["it ran without forks: its start is not a fresh process"]
    );
}

#[test]
fn starts_of_a_run_by_their_temperature() {
    let (format, found) = all(&sample("run.json"));
    assert_eq!(format, Format::Run);
    assert_eq!(found[0].name, "python train.py [process]");
    assert_eq!(
        found[0].starts,
        [vec![0.5, 0.1, 0.1], vec![0.5, 0.1, 0.1, 0.1]]
    );
    assert!(found[0].notes[0].contains("first start is left out"));
    assert!(found[0].notes[1].contains("1 of its starts have no repeated iterations"));
    assert_eq!(found[1].name, "python train.py [disk]");
    assert_eq!(found[1].starts, [[0.75, 0.1, 0.1]]);
}

#[test]
fn bare_numbers_as_json_and_in_lines() {
    let (format, found) = all(&sample("list.json"));
    assert_eq!((format, &*found[0].name), (Format::Json, "file"));
    assert_eq!(found[0].starts, [[0.5, 0.25, 0.125]]);
    assert_eq!(
        all(&sample("lists.json")).1[0].starts,
        [[0.5, 0.25], [0.5, 0.125]]
    );
    let (format, found) = all(&sample("lines.txt"));
    assert_eq!((format, &*found[0].name), (Format::Lines, "file"));
    assert_eq!(found[0].starts, [[0.5, 0.25], [0.5, 0.125]]);
}

#[test]
fn lone_surrogates_are_replaced() {
    let name = |escapes: &str| {
        let text = format!(r#"{{"results": [{{"command": "{escapes}", "times": [1, 1]}}]}}"#);
        all(text.as_bytes()).1[0].name.clone()
    };
    assert_eq!(
        all(&sample("halves.json")).1[0].name,
        "\u{fffd}\0 😀 \u{fffd}"
    );
    assert_eq!(name(r"\ud83d\uDE00"), "😀");
    assert_eq!(name(r"\ud800\udc00"), "\u{10000}");
    assert_eq!(name(r"\udbff\udfff"), "\u{10ffff}");
    assert_eq!(name(r"\ud800\ud83d\ude00"), "\u{fffd}😀");
    assert_eq!(name(r"\ud800\ue000"), "\u{fffd}\u{e000}");
    assert_eq!(name(r"\ud800\n"), "\u{fffd}\n");
    assert_eq!(name(r"\ud800"), "\u{fffd}");
}

#[test]
fn a_unit_is_only_accepted_for_files_without_one() {
    for name in SAMPLES {
        let in_milliseconds = Settings {
            unit: Some(TimeUnit::Milliseconds),
            ..plain()
        };
        let (seconds, _) = read_with(&sample(name), &plain());
        let (found, result) = read_with(&sample(name), &in_milliseconds);
        if seconds[0].0.has_unit() {
            let error = result.unwrap_err().to_string();
            assert!(
                error.contains("defines its unit; --unit ms"),
                "{name}: {error}"
            );
        } else {
            let expected = seconds[0].1.starts[0][0] / 1e3;
            assert_eq!(found[0].1.starts[0][0], expected, "{name}");
        }
    }
}
