//! `preheat check` with invalid budgets, recordings and flags: a message with the position,
//! exit code 2, and never a panic.

mod support;

use std::fs;
use std::path::Path;

use support::{Directory, Said, preheat, run};

fn six() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/linear.json");
    path.display().to_string()
}

/// Asserts an error with exit code 2 whose message contains these words.
fn refused(said: &Said, words: &str) {
    assert_eq!(said.code, Some(2), "{words}: {}{}", said.out, said.err);
    assert!(said.out.is_empty(), "{}", said.out);
    assert!(said.err.contains(words), "{words}: {}", said.err);
    assert!(!said.err.contains("panicked"), "{}", said.err);
    assert!(said.err.len() < 1500, "{}", said.err);
}

#[test]
fn budgets() {
    let directory = Directory::new();
    let file = directory.join("preheat.toml");
    let check = |bytes: &[u8], words: &str| {
        fs::write(&file, bytes).unwrap();
        let said = run(preheat()
            .current_dir(directory.path())
            .args(["check", &six()]));
        refused(&said, words);
    };
    check(b"", "preheat.toml sets no limit; `preheat check --init");
    check(b"# nothing\nstarts = 3\n", "preheat.toml sets no limit");
    check(b"time_to_first = ", "preheat.toml:1:17: invalid TOML");
    check(
        b"\n\ntime_to_frist = \"2 s\"",
        "preheat.toml:3:1: unknown limit \"time_to_frist\" (did you mean time_to_first?)",
    );
    check(
        b"time_to_first = \"1 GiB\"",
        "preheat.toml:1:17: time_to_first: \"GiB\" is a unit of size",
    );
    check(
        b"first_ratio = nan",
        "preheat.toml:1:15: first_ratio: \"NaN\" is not a number",
    );
    check(
        b"first = \"-2 s\"",
        "preheat.toml:1:9: first: \"-2 s\" is not above zero",
    );
    check(
        b"steady = \"0 s\"",
        "preheat.toml:1:10: steady: \"0 s\" is not above zero",
    );
    check(
        b"cause.\"pyhton imports\" = \"1 s\"",
        "preheat.toml:1:7: unknown cause \"pyhton imports\" (did you mean Python imports?)",
    );
    check(
        b"first = \"1 s\"\n\xff\xfe",
        "preheat.toml:2:1: the file is not valid UTF-8",
    );
    check(b"a\0b", "preheat.toml:1:4: invalid TOML");
    check(
        &vec![b'#'; 2 << 20],
        "preheat.toml is not a budget: it is larger than 1024 KiB",
    );
    check(&b"[".repeat(500_000), "preheat.toml:1:");
    check(
        b"starts = 50\nfirst = \"1 s\"",
        "the budget needs at least 50 starts, and the recording has 6",
    );
    fs::remove_file(&file).unwrap();
    let said = run(preheat()
        .current_dir(directory.path())
        .args(["check", &six()]));
    refused(
        &said,
        "no budget: preheat.toml does not exist here and no flag sets a limit; `preheat check --init",
    );
    let said = run(preheat().args(["check", &six(), "--budget", "/no/such/budget"]));
    refused(
        &said,
        "cannot read the budget /no/such/budget: No such file",
    );
    let said = run(preheat().args(["check", &six(), "--budget", "/"]));
    refused(&said, "cannot read the budget /: Is a directory");
    let said = run(preheat().args(["check", &six(), "--budget", "/dev/zero"]));
    refused(&said, "/dev/zero is not a budget");
    let said = run(preheat().args(["check", "-", "--budget", "-"]));
    refused(&said, "cannot both be standard input");
}

#[test]
fn recordings() {
    let directory = Directory::new();
    let whole = fs::read_to_string(six()).unwrap();
    let file = directory.join("run.json");
    let check = |text: &str, words: &str| {
        fs::write(&file, text).unwrap();
        let said = run(preheat().current_dir(directory.path()).args([
            "check",
            "run.json",
            "--time-to-first",
            "2s",
        ]));
        refused(&said, words);
    };
    check("", "run.json is not JSON, or is truncated");
    check(
        &whole[..whole.len() / 2],
        "run.json is not JSON, or is truncated",
    );
    check("[1, 2]", "run.json is not a `preheat run`");
    check(
        "{\"schema\": \"preheat.run/3\"}",
        "a newer preheat is needed",
    );
    check(
        "{\"schema\": \"preheat.run/1\"}",
        "does not conform to preheat.run/1",
    );
    check(
        &whole.replacen("\"iterations\": [", "\"iterations\": [-1.0,", 1),
        "run.json is invalid: start 1: an iteration of -1 s is out of range",
    );
    let said = run(preheat().args(["check", "/no/such/recording", "--first", "1s"]));
    refused(&said, "cannot read /no/such/recording");
    let lab = six().replace(
        "tests/recordings/linear.json",
        "../../docs/results/h200/lab-no-bytecode.json",
    );
    let said = run(preheat().args(["check", &lab, "--first", "1s"]));
    refused(&said, "is a lab result, but budgets are for programs");
    let said = run(preheat()
        .current_dir(directory.path())
        .args(["check", "--init", &lab]));
    refused(&said, "is a lab result");
    assert!(!directory.join("preheat.toml").exists());
}

#[test]
fn flags() {
    let six = six();
    for (flags, words) in [
        (&["--time-to-first", "2"][..], "has no unit"),
        (&["--time-to-first", "-2s"], "not above zero"),
        (&["--time-to-first", "NaN"], "is not a number"),
        (&["--device-memory", "2s"], "unit of time"),
        (&["--first-ratio", "0"], "not above zero"),
        (&["--warmup", "-1"], "below zero"),
        (&["--cause", "python imports"], "'python imports=1.5s'"),
        (&["--cause", "gravity=1s"], "unknown cause \"gravity\""),
        (&["--cause", "idle=1"], "has no unit"),
        (&["--exit-code", "256"], "256"),
        (&["--starts", "0"], "whole number from 1"),
        (&["--headroom", "25%"], "--init"),
        (&["--force"], "--init"),
        (&["--init", "--headroom", "-5%"], "headroom is a percentage"),
        (
            &["--first", "1s", "--json", "/no/such/dir/x"],
            "--json: cannot write /no/such/dir/x",
        ),
        (
            &["--first", "1s", "--json", "-", "--bmf", "-"],
            "point to the same file",
        ),
        (&["--first", "1s", "--name", ""], "--name"),
        (
            &["--first", "1s", "--iterations", "lines:x"],
            "--iterations needs a recording",
        ),
    ] {
        let said = run(preheat().arg("check").arg(&six).args(flags));
        refused(&said, words);
    }
}

#[test]
fn inputs_are_not_overwritten() {
    let directory = Directory::new();
    let text = "1\n1\n1\n1\n1\n";
    fs::write(directory.join("times.txt"), text).unwrap();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/linear.json");
    fs::copy(&kept, directory.join("run.json")).unwrap();
    for line in [
        "classify times.txt --json ./times.txt",
        "check run.json --time-to-first 9s --junit run.json",
        "compare run.json run.json --html run.json",
    ] {
        let said = run(preheat()
            .current_dir(directory.path())
            .args(line.split(' ')));
        assert_eq!(said.code, Some(2), "{line}: {}", said.err);
        assert!(said.err.contains("would overwrite"), "{line}: {}", said.err);
    }
    let after = fs::read_to_string(directory.join("times.txt")).unwrap();
    assert_eq!(after, text);
}
