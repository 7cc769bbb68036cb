//! Memory use of reading: only what is needed, within fixed limits.

use std::sync::Mutex;

use preheat_times::{Settings, read};

#[path = "../../trace/tests/support/memory.rs"]
mod memory;
mod support;

use support::{endless, packed, plain};

#[global_allocator]
static COUNTING: memory::Counting = memory::Counting;

/// Serialized: allocations of other tests would count too.
static ONE: Mutex<()> = Mutex::new(());

/// The maximum memory for such files, however long they are.
const BOUND: usize = 160 << 20;

#[test]
fn skipped_content_takes_no_memory() {
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
fn memory_is_bounded_for_endless_files() {
    let _one = ONE.lock();
    let mixed = Settings {
        mixed_lengths: true,
        ..plain()
    };
    let x = "x".repeat(60_000);
    let none = "[],".repeat(9_000);
    let pyperf = "{\"benchmarks\": [";
    let many = "a file can have at most 100000 benchmarks";
    let text = "names and parameters have too much text";
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
            "times at once; split the file",
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
        let error = result.unwrap_err().to_string();
        assert!(error.contains(why), "{head}{shown}…: {error}");
        assert!(peak < BOUND, "{peak} bytes for {head}{shown}…");
    }
}

#[test]
fn memory_is_bounded_for_compressed_and_dense_files() {
    let _one = ONE.lock();
    let empty = "{\"runs\":[]},".repeat(1 << 20);
    let bomb = packed(format!("{{\"benchmarks\": [{empty}").as_bytes());
    // Ninety thousand notes, each with a long name that the file contains once.
    let (empty, long) = (&empty[..90_000 * 12 - 1], "x".repeat(60_000));
    let shared = format!("{{\"benchmarks\":[{empty}],\"metadata\":{{\"name\":\"{long}\"}}}}");
    let one = "{\"runs\":[{\"values\":[1]}]},".repeat(90_000);
    let one = &one[..one.len() - 1];
    let named = format!("{{\"benchmarks\":[{one}],\"metadata\":{{\"name\":\"{long}\"}}}}");
    let rows: String = (0..9_000)
        .map(|row| format!("0,{row}{},crash\n", &long[..4_000]))
        .collect();
    for (bytes, why) in [
        (bomb, "a file can have at most 100000 benchmarks"),
        (shared.into_bytes(), "it has no times"),
        (
            named.into_bytes(),
            "names and parameters have too much text",
        ),
        (
            format!("i,b,0\n{rows}").into_bytes(),
            "names and parameters have too much text",
        ),
    ] {
        let (result, peak) = memory::peak_of(|| {
            let mut found = Vec::new();
            read(&*bytes, &plain(), &mut |_, times| found.push(times))
        });
        let error = result.unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
        assert!(peak < BOUND, "{peak} bytes: {error}");
    }
}
