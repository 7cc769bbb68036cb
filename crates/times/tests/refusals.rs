//! Errors for files that cannot be read, with their position.

mod support;

use preheat_times::{Settings, read};
use support::{endless, plain, read_with, refused, sample};

#[test]
fn json_errors_have_line_column_and_path() {
    for (text, why) in [
        (
            "[1, 2",
            "line 1, column 6: the file ends here: was it cut off?",
        ),
        (
            "[1,\n -2]",
            "line 2, column 2, [1]: -2 is not a time: it is below 0",
        ),
        ("[1, 0]", "line 1, column 5, [1]: 0 is not a time"),
        ("[1, NaN]", "line 1, column 5, [1]: NaN is not a time"),
        (
            "[1, -Infinity]",
            "line 1, column 5, [1]: -Infinity is not a time",
        ),
        (
            "[1, null]",
            "[1]: a number is expected here, and this is true, false or null",
        ),
        (
            "[1, \"2\"]",
            "line 1, column 5, [1]: a number is expected here, and this is a text",
        ),
        (
            "[1, [2]]",
            "line 1, column 5, [1]: numbers and lists are mixed",
        ),
        (
            "[[1], 2]",
            "line 1, column 7, [1]: numbers and lists are mixed",
        ),
        (
            "[[[1]]]",
            "line 1, column 3, [0][0]: a number is expected here, and this is a list",
        ),
        ("[1, {}]", "[1]: numbers and objects are mixed"),
        ("[]", "this list is empty"),
        ("[[]]", "[0]: this start has no iterations"),
        ("[1e999]", "1e999 is not a time"),
        ("[1e300]", "it would take over thirty years; --unit"),
        ("[01]", "\"01\" is not a number"),
        ("[1,]", "line 1, column 4: expected a value after the comma"),
        ("[1 2]", "line 1, column 4: a comma or ] is expected here"),
        (
            "[1] 2",
            "line 1, column 5: unexpected content after the end of the document",
        ),
        ("{}", "it is a JSON object of no known form"),
        (
            "{\"a\": 1}",
            "expected results of Krun (wallclock_times), hyperfine",
        ),
        ("{\"a\" 1}", "expected a colon after the key"),
        (
            r#"{"results": [{"command": "\ud800\u12", "times": [1]}]}"#,
            "\\u needs four hexadecimal digits",
        ),
        ("{a: 1}", "expected a key in quotation marks"),
        (
            "{\"a\": tru}",
            "line 1, column 7, .a: \"tru\" is not a JSON value",
        ),
        (
            "[[1, 2], [1]]",
            "line 1, column 13, [1]: start 2 has 1 iteration and the first has 2",
        ),
        (
            "{\"schema\": \"preheat.lab/1\"}",
            "`preheat report` shows them",
        ),
        (
            "{\"schema\": \"preheat.run/9\"}",
            "only preheat.run/2 is supported",
        ),
        (
            "{\"schema\": \"preheat.run/1\", \"starts\": [{\"temperature\": \"lukewarm\"}]}",
            ".starts[0].temperature: \"lukewarm\": unknown temperature; expected one of process",
        ),
        ("{\"results\": []}", "it has no times"),
        (
            "{\"results\": [{\"command\": \"a\"}]}",
            ".results[0]: this result has no times",
        ),
        (
            "{\"results\": [{\"command\": \"a\", \"times\": null}]}",
            ".results[0]: this result has no times",
        ),
        (
            "{\"results\": [{\"times\": [1, 0.0]}]}",
            ".results[0].times[1]: 0 is not a time: hyperfine subtracted the shell's startup time",
        ),
        (
            "{\"results\": [{\"times\": [1, -1]}]}",
            ".results[0].times[1]: -1 is not a time",
        ),
        (
            "{\"benchmarks\": [{\"name\": \"google\"}]}",
            ".benchmarks[0]: this benchmark has no runs",
        ),
        (
            "{\"benchmarks\": [{\"runs\": [{\"values\": [4096]}], \"metadata\": {\"unit\": \"byte\"}}]}",
            "benchmark 1, \"file\", is measured in \"byte\", which is not a unit of time",
        ),
        (
            "{\"wallclock_times\": {\"a b:c\": [[1], [1, 2]]}}",
            ".wallclock_times[\"a b:c\"][1]: start 2",
        ),
        (
            "{\"wallclock_times\": {\"a\": [[1, \"x\"]]}}",
            ".wallclock_times.a[0][1]: a number",
        ),
        ("{\"wallclock_times\": {}}", "it has no times"),
        (
            "[{\"benchmark\": \"a\"}]",
            "[0]: this benchmark has no rawData",
        ),
        (
            "[{\"b\": 1}]",
            "[0]: this object has no benchmark and rawData",
        ),
        (
            "[{\"benchmark\": \"a\", \"primaryMetric\": {\"scoreUnit\": \"B/op\", \"rawData\": [[1]]}}]",
            "\"B/op\" is not a unit of time",
        ),
        (
            "[{\"benchmark\": \"a\", \"primaryMetric\": {\"scoreUnit\": \"ops/s\", \"rawData\": [[1, 0]]}}]",
            "0 ops/s of fork 0, iteration 1, is not a time",
        ),
        (
            "[{\"benchmark\": \"a\", \"primaryMetric\": {\"scoreUnit\": \"s/op\", \"rawData\": [[\"NaN\"]]}}]",
            "[0].primaryMetric.rawData[0][0]: a number is expected here, and this is a text",
        ),
    ] {
        let error = refused(text.as_bytes());
        assert!(error.contains(why), "{text}\n  {error}\n  {why}");
    }
}

#[test]
fn benchmarks_before_an_error_are_delivered() {
    let text = r#"{"wallclock_times": {"good": [[1, 2, 3]], "bad": [[1, -2, 3]], "later": [[1]]}}"#;
    let (found, result) = read_with(text.as_bytes(), &plain());
    assert!(
        result
            .unwrap_err()
            .to_string()
            .contains(".wallclock_times.bad[0][1]")
    );
    assert_eq!(found.len(), 1);
    assert_eq!((&*found[0].1.name, found[0].1.starts.len()), ("good", 1));
}

#[test]
fn lengths_may_differ_where_that_is_allowed() {
    let settings = Settings {
        mixed_lengths: true,
        ..plain()
    };
    for text in [
        "[[1, 2], [1]]",
        "1\n2\n\n1\n",
        "i, b, 0, 1\n0, a, 1, 2\n1, a, 1\n",
        "{\"wallclock_times\": {\"a\": [[1, 2], [1]]}}",
        "{\"benchmarks\": [{\"runs\": [{\"values\": [1, 2]}, {\"values\": [1]}]}]}",
        "[{\"benchmark\": \"a\", \"primaryMetric\": {\"scoreUnit\": \"s/op\", \"rawData\": [[1, 2], [1]]}}]",
    ] {
        assert!(
            refused(text.as_bytes()).contains("--mixed-lengths"),
            "{text}"
        );
        let (found, result) = read_with(text.as_bytes(), &settings);
        result.unwrap();
        assert_eq!(found[0].1.starts, [vec![1.0, 2.0], vec![1.0]], "{text}");
    }
}

#[test]
fn truncated_files_are_reported_as_such() {
    for name in [
        "krun.json",
        "hyperfine.json",
        "pyperf.json",
        "jmh.json",
        "run.json",
        "lists.json",
    ] {
        let bytes = sample(name);
        let end = bytes.trim_ascii_end().len();
        for length in (2..end).step_by(7) {
            let error = refused(&bytes[..length]);
            assert!(error.starts_with("line "), "{name} to {length}: {error}");
        }
    }
    let packed = sample("krun.json.bz2");
    for length in [packed.len() - 1, packed.len() / 2, 20] {
        let error = refused(&packed[..length]);
        assert_eq!(error, "its compressed data ends too early: was it cut off?");
    }
    let mut damaged = packed.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0x10;
    assert!(refused(&damaged).contains("its compressed data is damaged"));
    assert!(refused(&support::packed(&packed)).contains("compressed twice"));
}

#[test]
fn endless_files_are_rejected() {
    for (head, body, why) in [
        ("[1", ",1", "a start has at most 262144 iterations here"),
        ("", "1\n", "a start has at most 262144 iterations here"),
        ("", "1\n\n", "a benchmark can have at most 10000 starts"),
        ("[[1]", ",[1]", "a benchmark can have at most 10000 starts"),
        ("", "1 ", "this line is longer than 4096"),
        (
            "i,b,0\n0,a",
            ",1",
            "a start has at most 262144 iterations here",
        ),
        ("i,b,0\n0,a,", "1", "this cell is longer than 4096"),
        ("i,b,0\n0,\"", "a", "this cell is longer than 4096"),
        ("", "[", "a number is expected here, and this is a list"),
        ("{\"a\": ", "[", "nested more than 128 levels deep"),
        ("{\"a\": ", "{\"a\":", "nested more than 128 levels deep"),
        ("[", "9", "this number has more than 512 digits"),
        ("{\"", "a", "this text is longer than 65536 bytes"),
        (
            "{\"results\": [{\"times\": [1",
            "]},{\"times\":[1",
            "a file can have at most 100000 benchmarks",
        ),
    ] {
        let error = read(endless(head, body), &plain(), &mut |_, _| {})
            .unwrap_err()
            .to_string();
        assert!(error.contains(why), "{head}{body}…: {error}");
    }
}

#[test]
fn decompression_bombs_are_rejected() {
    // A hundred MiB of blanks compress to a few hundred bytes.
    let blanks = vec![b' '; 100 << 20];
    let packed = support::packed(&blanks);
    assert!(packed.len() < 1000);
    let error = refused(&packed);
    assert!(error.contains("more than 250 times its size"), "{error}");
}
