//! `preheat classify` with unreadable files: a message with the position, exit code 2, no
//! panic, and the results of all other files.

mod support;

use std::fs;
use std::process::Stdio;

use preheat_model::classify::ClassifyReport;
use support::{Directory, Said, preheat, run};

fn classify(directory: &Directory, arguments: &[&str]) -> Said {
    let said = run(preheat()
        .current_dir(directory.path())
        .arg("classify")
        .args(arguments)
        .stdin(Stdio::null()));
    assert!(!said.err.contains("panicked"), "{}", said.err);
    said
}

#[test]
fn errors_name_the_position() {
    let directory = Directory::new();
    let cases: [(&str, &[u8], &str); 22] = [
        ("empty", b"", "it is empty"),
        ("blank", b"\n\n \n", "it is empty"),
        ("comments", b"# nothing\n", "it has no times"),
        (
            "words",
            b"hello\nworld\n",
            "line 1, column 1: \"hello\" is not a number",
        ),
        (
            "nan.txt",
            b"1\nnan\n",
            "line 2, column 1: nan is not a time",
        ),
        (
            "nan.json",
            b"[1.0, NaN]",
            "line 1, column 7, [1]: NaN is not a time",
        ),
        (
            "infinite.json",
            b"[1.0, Infinity]",
            "line 1, column 7, [1]: Infinity is not a time",
        ),
        (
            "negative.json",
            b"[[1, 2], [1, -2]]",
            "line 1, column 14, [1][1]: -2 is not a time: it is below 0",
        ),
        ("zero.txt", b"1\n0\n", "line 2, column 1: 0 is not a time"),
        ("null.json", b"[1, null]", "[1]: a number is expected here"),
        (
            "mixed.json",
            b"[[1, 2, 3], [1, 2]]",
            "[1]: start 2 has 2 iterations and the first has 3: was one cut off? --mixed-lengths",
        ),
        (
            "mixed.csv",
            b"i,b,0,1\n0,a,1,2\n1,a,1\n",
            "line 3, column 1: this row has 1 times and the header has 2",
        ),
        (
            "mixed.txt",
            b"1\n2\n\n1\n",
            "start 2 has 1 iteration and the first has 2",
        ),
        (
            "nanoseconds.txt",
            b"12345678901\n",
            "it would take over thirty years; --unit s|ms|us|ns",
        ),
        (
            "truncated.json",
            b"[[1, 2, 3], [1, 2",
            "the file ends here: was it cut off?",
        ),
        (
            "truncated.bz2",
            b"BZh91AY&SY\xc7",
            "its compressed data ends too early: was it cut off?",
        ),
        (
            "damaged.bz2",
            b"BZh9this is no compressed data at all",
            "its compressed data is damaged",
        ),
        (
            "packed.gz",
            b"\x1f\x8b\x08\0",
            "it is compressed with gzip; `gunzip -c FILE | preheat classify -` unpacks it",
        ),
        (
            "binary",
            b"\x7fELF\x02\0\0",
            "it is not text in a known form",
        ),
        (
            "unknown.json",
            b"{\"answer\": 42}",
            "it is a JSON object of no known form",
        ),
        (
            "lab.json",
            b"{\"schema\": \"preheat.lab/1\"}",
            "`preheat report` shows them",
        ),
        (
            "google.json",
            b"{\"benchmarks\": [{\"name\": \"a\", \"real_time\": 1}]}",
            ".benchmarks[0]: this benchmark has no runs",
        ),
    ];
    for (name, bytes, why) in cases {
        fs::write(directory.join(name), bytes).unwrap();
        let said = classify(&directory, &[name]);
        assert_eq!(
            (said.code, &*said.out),
            (Some(2), ""),
            "{name}: {}",
            said.err
        );
        let begin = format!("preheat: {name}: ");
        assert!(
            said.err.starts_with(&begin) && said.err.contains(why),
            "{}",
            said.err
        );
        assert_eq!(said.err.lines().count(), 1, "{}", said.err);
    }
    let said = classify(&directory, &["not there"]);
    assert_eq!(said.code, Some(2));
    assert!(
        said.err
            .starts_with("preheat: not there: cannot open the file: "),
        "{}",
        said.err
    );
    let said = classify(&directory, &["."]);
    assert_eq!(said.code, Some(2));
    assert!(
        said.err
            .contains(".: it is a directory; name the files in it"),
        "{}",
        said.err
    );
}

#[test]
fn readable_files_are_still_reported() {
    let directory = Directory::new();
    fs::write(directory.join("a.json"), "[9, 1, 1, 1, 1, 1]").unwrap();
    fs::write(directory.join("b.json"), "[1, 1, -1]").unwrap();
    let half = r#"{"wallclock_times": {"good": [[9, 1, 1, 1, 1]], "bad": [[1, 1, "#;
    fs::write(directory.join("c.json"), half).unwrap();
    fs::write(directory.join("d.json"), "[5, 1, 1, 1, 1, 1]").unwrap();
    let files = ["a.json", "b.json", "c.json", "d.json"];
    let json = directory.join("judged.json");
    let flags = ["--json", json.to_str().unwrap(), "--html", "judged.html"];
    let said = classify(&directory, &[&files[..], &flags].concat());
    assert_eq!(said.code, Some(2));
    assert!(
        said.out.starts_with("3 benchmarks: 3 cold-first.\n"),
        "{}",
        said.out
    );
    assert_eq!(said.err.lines().count(), 2, "{}", said.err);
    assert!(
        said.err
            .contains("c.json: line 1, column 64, .wallclock_times.bad[0]"),
        "{}",
        said.err
    );
    let report: ClassifyReport = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let names: Vec<&str> = report.benchmarks.iter().map(|b| &*b.name).collect();
    assert_eq!(names, ["a", "good", "d"]);
    let unread: Vec<&str> = report.unread.iter().map(|u| &*u.file).collect();
    assert_eq!(unread, ["b.json", "c.json"]);
    let page = fs::read_to_string(directory.join("judged.html")).unwrap();
    assert!(page.contains("2 files could not be read to the end"));
}

#[test]
fn huge_files_are_rejected_early() {
    let directory = Directory::new();
    // A sparse file of a gigabyte.
    let hole = fs::File::create(directory.join("hole")).unwrap();
    hole.set_len(1 << 30).unwrap();
    let mut line = "[1".to_owned();
    line.push_str(&",1".repeat(16 << 20));
    fs::write(directory.join("line.json"), &line).unwrap();
    fs::write(directory.join("line.txt"), line.replace(',', " ")).unwrap();
    fs::write(directory.join("deep.json"), "[".repeat(1 << 20)).unwrap();
    fs::write(
        directory.join("deeper.json"),
        format!("{{\"a\": {}", "[".repeat(1 << 20)),
    )
    .unwrap();
    for (name, why) in [
        ("hole", "it is not text in a known form"),
        (
            "line.json",
            "line 1, column 524290, [262144]: a start has at most 262144 iterations here",
        ),
        ("line.txt", "a comma or ] is expected here"),
        (
            "deep.json",
            "[0][0]: a number is expected here, and this is a list",
        ),
        ("deeper.json", "this is nested more than 128 levels deep"),
    ] {
        let said = classify(&directory, &[name]);
        assert_eq!(said.code, Some(2), "{name}: {}", said.err);
        assert!(said.err.contains(why), "{}", said.err);
        assert!(said.err.len() < 2000, "{}", said.err);
    }
}

#[test]
fn wrong_usage_is_reported() {
    let directory = Directory::new();
    fs::write(directory.join("a.json"), "[9, 1, 1, 1, 1, 1]").unwrap();
    for (arguments, why) in [
        (&["-", "-"][..], "standard input (-) can be read only once"),
        (
            &["a.json", "--unit", "minutes"],
            "[possible values: s, ms, us, ns]",
        ),
        (
            &["a.json", "--json", "x", "--html", "x"],
            "point to the same file",
        ),
        (&["a.json", "--json", "not/there.json"], "cannot write"),
        (&["a.json", "--seed", "x"], "invalid"),
    ] {
        let said = classify(&directory, arguments);
        assert_eq!((said.code, &*said.out), (Some(2), ""), "{arguments:?}");
        assert!(said.err.contains(why), "{arguments:?}: {}", said.err);
    }
    let many: Vec<String> = (0..30).map(|at| format!("missing-{at}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let said = classify(&directory, &many);
    assert!(
        said.err
            .contains("preheat: 10 more files could not be read"),
        "{}",
        said.err
    );
    // Standard input is empty.
    let said = classify(&directory, &[]);
    assert_eq!(said.err, "preheat: standard input: it is empty\n");
}
