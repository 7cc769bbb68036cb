//! How much memory reading takes: what is kept, and no more; and what is kept is bounded.

use std::sync::Mutex;

use preheat_times::{Settings, read};

#[path = "../../trace/tests/support/memory.rs"]
mod memory;
mod support;

use support::{endless, packed, plain};

#[global_allocator]
static COUNTING: memory::Counting = memory::Counting;

/// What another test takes at the same time would count.
static ONE: Mutex<()> = Mutex::new(());

/// What such files take at most, however long they are.
const BOUND: usize = 160 << 20;

#[test]
fn much_that_is_passed_over_takes_no_memory() {
    let _one = ONE.lock();
    let long = "x".repeat(32 << 20);
    let config = format!("{{\"config\": \"{long}\", \"wallclock_times\": {{\"a\": [[1, 2, 3]]}}}}");
    let counts = "[1, null, true, \"a\"], ".repeat(1 << 20);
    let counts =
        format!("{{\"counts\": [{counts} 1], \"wallclock_times\": {{\"a\": [[1, 2, 3]]}}}}");
    let blanks = " \n".repeat(8 << 20) + "[1, 2, 3]";
    for text in [config, counts, blanks] {
        let (result, peak) =
            memory::peak_of(|| read(text.as_bytes(), &Settings::default(), &mut |_, _| {}));
        result.unwrap();
        assert!(peak < 1 << 20, "{peak} bytes");
    }
}

#[test]
fn however_much_there_is_to_keep_memory_is_bounded() {
    let _one = ONE.lock();
    let mixed = Settings {
        mixed_lengths: true,
        ..plain()
    };
    let x = "x".repeat(60_000);
    let none = "[],".repeat(9_000);
    let pyperf = "{\"benchmarks\": [";
    let many = "a file has at most 100000 benchmarks";
    let text = "there is more text in names and parameters";
    for (head, body, why) in [
        (pyperf.to_owned(), "{\"runs\":[]},".to_owned(), many),
        (
            pyperf.to_owned(),
            format!("{{\"runs\":[],\"metadata\":{{\"name\":\"{x}\"}}}},"),
            text,
        ),
        (
            "[".to_owned(),
            "{\"benchmark\":\"a\",\"primaryMetric\":{\"scoreUnit\":\"s/op\",\"rawData\":[[1]]}},"
                .to_owned(),
            many,
        ),
        (
            "[".to_owned(),
            format!(
                "{{\"benchmark\":\"a\",\"primaryMetric\":{{\"scoreUnit\":\"s/op\",\"rawData\":[{none}[1]]}}}},"
            ),
            "times are held at once; split the file",
        ),
        (
            "[{\"benchmark\":\"a\",\"params\":{".to_owned(),
            "\"\":\"\",".to_owned(),
            text,
        ),
        (
            "[{\"benchmark\":\"a\",\"params\":{".to_owned(),
            format!("\"a\":\"{x}\","),
            text,
        ),
        (
            "{\"results\":[{\"command\":\"a\",\"parameters\":{".to_owned(),
            format!("\"{x}\":\"\","),
            text,
        ),
        (
            "{\"schema\":\"preheat.run/1\",\"command\":[".to_owned(),
            "\"\",".to_owned(),
            text,
        ),
    ] {
        let (result, peak) =
            memory::peak_of(|| read(endless(&head, &body), &mixed, &mut |_, _| {}));
        let shown = &body[..body.len().min(60)];
        let said = result.unwrap_err().to_string();
        assert!(said.contains(why), "{head}{shown}…: {said}");
        assert!(peak < BOUND, "{peak} bytes for {head}{shown}…");
    }
}

#[test]
fn small_files_with_much_in_them_are_bounded_too() {
    let _one = ONE.lock();
    let empty = "{\"runs\":[]},".repeat(1 << 20);
    let bomb = packed(format!("{{\"benchmarks\": [{empty}").as_bytes());
    // Ninety thousand notes, each with a long name that stands there once.
    let (empty, long) = (&empty[..90_000 * 12 - 1], "x".repeat(60_000));
    let shared = format!("{{\"benchmarks\":[{empty}],\"metadata\":{{\"name\":\"{long}\"}}}}");
    let one = "{\"runs\":[{\"values\":[1]}]},".repeat(90_000);
    let one = &one[..one.len() - 1];
    let named = format!("{{\"benchmarks\":[{one}],\"metadata\":{{\"name\":\"{long}\"}}}}");
    let rows: String = (0..9_000)
        .map(|row| format!("0,{row}{},crash\n", &long[..4_000]))
        .collect();
    for (bytes, why) in [
        (bomb, "a file has at most 100000 benchmarks"),
        (shared.into_bytes(), "it has no times"),
        (named.into_bytes(), "there is more text in names"),
        (
            format!("i,b,0\n{rows}").into_bytes(),
            "there is more text in names",
        ),
    ] {
        let (result, peak) = memory::peak_of(|| {
            let mut found = Vec::new();
            read(&*bytes, &plain(), &mut |_, times| found.push(times))
        });
        let said = result.unwrap_err().to_string();
        assert!(said.contains(why), "{said}");
        assert!(peak < BOUND, "{peak} bytes: {said}");
    }
}
