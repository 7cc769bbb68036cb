//! One program from many places, and many programs: parents do not pile up.

use std::fs;
use std::process::{Command, Stdio};

#[path = "start/group.rs"]
mod group;
mod support;
#[path = "start/warm.rs"]
mod warm;
use group::Group;
use support::{pythons_with_torch, require, run};
use warm::{Observed, Warm, as_is};

#[test]
fn one_parent_serves_all_control_groups() {
    let (Some(warm), Some(one), Some(other)) = (Warm::new(), Group::new("a"), Group::new("b"))
    else {
        return;
    };
    let python = warm.python.to_str().expect("its path is text");
    let program = "import json, numpy\nprint(open('/proc/self/cgroup').read())\n";
    fs::write(warm.directory.join("program.py"), program).expect("it is written");
    let exe = env!("CARGO_BIN_EXE_preheat");
    let words = [
        exe,
        "start",
        "-v",
        "--patience",
        "60",
        "--",
        python,
        "program.py",
    ];
    let first = one.command(&warm, &words).output().expect("it starts");
    assert!(first.status.success());
    warm.wait_for_parent();
    for group in [&other, &one] {
        let plain = group.command(&warm, &[python, "program.py"]).output();
        let plain = Observed::of(plain.expect("it starts"));
        let started = group.command(&warm, &words).output().expect("it starts");
        let started = Observed::of(started).warm(&words);
        assert_eq!(started.out, plain.out);
    }
    warm.same(&[python, "program.py"], &as_is);
    assert_eq!(warm.count(), 1);
}

#[test]
fn a_child_that_cannot_be_moved_is_not_used() {
    let (Some(warm), Some(group)) = (Warm::new(), Group::new("c")) else {
        return;
    };
    let python = warm.python.to_str().expect("its path is text");
    let program = "import json, numpy\nprint(open('/proc/self/cgroup').read())\n";
    fs::write(warm.directory.join("program.py"), program).expect("it is written");
    // All of it belongs to another user, who may change no control group.
    let to = ["chown", "-R", "65534:65534", "."];
    let owned = warm.plain(&to).status().is_ok_and(|it| it.success());
    if require("another user", owned.then_some(())).is_none() {
        return;
    }
    let exe = env!("CARGO_BIN_EXE_preheat");
    let nobody = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    let words = |flags: &[&'static str]| {
        let start = [&nobody[..], &[exe, "start"], flags].concat();
        start.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let say = |mut command: Command| Observed::of(command.output().expect("it starts"));
    let program = ["--", python, "program.py"].map(str::to_owned);
    let start = [words(&["-v", "--patience", "60"]), program.to_vec()].concat();
    let start: Vec<&str> = start.iter().map(String::as_str).collect();
    let prepare = [words(&["--prepare"]), program.to_vec()].concat();
    let prepare: Vec<&str> = prepare.iter().map(String::as_str).collect();
    let first = say(warm.plain(&start));
    // Another user may not be allowed to execute this.
    let is_allowed = first.status.success().then_some(());
    if require("another user", is_allowed).is_none() {
        return;
    }
    let prepared = say(warm.plain(&prepare));
    assert!(prepared.status.success(), "{}", prepared.err);
    say(warm.plain(&start)).warm(&start);
    let elsewhere = say(group.command(&warm, &start));
    assert!(
        elsewhere.err.contains("another control group"),
        "{}",
        elsewhere.err
    );
    assert!(elsewhere.out.contains("preheat-c-"), "{}", elsewhere.out);
    let list = words(&["--list"]);
    let list: Vec<&str> = list.iter().map(String::as_str).collect();
    let listed = say(warm.plain(&list)).out;
    assert_eq!(listed.lines().count(), 2, "{listed}");
    let stop = words(&["--stop"]);
    let stop: Vec<&str> = stop.iter().map(String::as_str).collect();
    assert!(say(warm.plain(&stop)).status.success());
}

/// The most parents that one user has.
const MAX_PARENTS: usize = 8;

#[test]
fn the_least_recently_used_parent_leaves() {
    let Some(warm) = Warm::new() else { return };
    let python = warm.python.to_str().expect("its path is text");
    let program = [python, "program.py"];
    let at = |number: usize, words: &[&str]| {
        let directory = warm.directory.join(&format!("job-{number}"));
        fs::create_dir_all(&directory).expect("a directory for the test");
        let text = "import decimal, json\n";
        fs::write(directory.join("program.py"), text).expect("it is written");
        let mut command = warm.preheat(words);
        command.args(["--"]).args(program).current_dir(directory);
        Observed::of(command.output().expect("it starts"))
    };
    for number in 0..MAX_PARENTS + 2 {
        at(number, &[]);
        let prepared = at(number, &["--prepare"]);
        assert!(prepared.status.success(), "{}", prepared.err);
        // The first is used all the time.
        at(0, &["-v", "--patience", "60"]).warm(&program);
        assert!(warm.count() <= MAX_PARENTS);
    }
    assert_eq!(warm.count(), MAX_PARENTS);
    let listed = run(&mut warm.preheat(&["--list"])).out;
    let has = |number: usize| {
        listed
            .lines()
            .any(|line| line.ends_with(&format!("job-{number}")))
    };
    assert!(
        has(0) && has(MAX_PARENTS + 1) && !has(1) && !has(2),
        "{listed}"
    );
}

/// Sixteen starts at once are all warm, and all of them train.
#[test]
fn many_starts_at_once_are_warm() {
    many_starts(&["-v", "--patience", "60"], true);
}

/// With the patience that starts have by default, a busy machine may start some of them plainly. None
/// is lost, and none runs twice.
#[test]
fn many_starts_at_once_are_warm_or_plain() {
    many_starts(&["-v"], false);
}

fn many_starts(flags: &[&str], all_warm: bool) {
    let Some(python) = pythons_with_torch().next() else {
        return;
    };
    let Some(warm) = Warm::with(python) else {
        return;
    };
    let python = warm.python.to_str().expect("its path is text");
    let program = "import torch\nmodel = torch.nn.Linear(4, 4)\n\
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n\
        model(torch.ones(2, 4)).sum().backward()\noptimizer.step()\nprint('trained')\n";
    fs::write(warm.directory.join("program.py"), program).expect("it is written");
    let words = [python, "program.py"];
    warm.warm_up(&words, &as_is);
    let running: Vec<_> = (0..16)
        .map(|_| {
            let mut start = warm.preheat(flags);
            start.arg("--").args(words);
            start.stdout(Stdio::piped()).stderr(Stdio::piped());
            start.spawn().expect("it starts")
        })
        .collect();
    for start in running {
        let ended = Observed::of(start.wait_with_output().expect("it ends"));
        let is_late = ended
            .err
            .starts_with("preheat: started plainly: the warm parent is busy");
        assert!(
            is_late && !all_warm || ended.err.starts_with("preheat: started warm"),
            "{}",
            ended.err
        );
        assert_eq!(ended.out, "trained\n");
        assert!(ended.status.success(), "{:?}", ended.status);
    }
    assert_eq!(warm.count(), 1);
}
