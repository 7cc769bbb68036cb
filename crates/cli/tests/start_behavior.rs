//! A program that is started warm is what it would be started plainly: each runs in both
//! ways, and all that can be observed is compared.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

mod support;
#[path = "start/warm.rs"]
mod warm;
use support::require;
use warm::{Observed, Warm, as_is, children, signal_of, until};

#[test]
fn a_process_has_what_it_is_given_and_ends_as_it_ends() {
    let Some(warm) = Warm::new() else { return };
    warm.warm_up(&warm.case(&["facts"]), &as_is);
    for case in [
        &["facts"][..],
        &["facts", "an argument", "", "ü", "--list", "-v"],
        &["descriptors"],
        &["children_see_the_environment"],
        &["echo"],
        &["interleaved"],
        &["code", "0"],
        &["code", "3"],
        &["code", "255"],
        &["exit_text"],
        &["exit_none"],
        &["exit_object"],
        &["exit_at_once"],
        &["killed", "9"],
        &["killed", "15"],
        &["killed", "11"],
        &["killed", "2"],
        &["interrupted"],
        &["chained"],
        &["failed_import"],
        &["broken_import"],
        &["imports_own"],
        &["kernel"],
        &["kernel", "an argument", ""],
        &["asynchronous"],
        &["pools"],
        &["pickled"],
        &["dumped"],
        &["in_a_thread"],
        &["children_end"],
        &["warned"],
        &["threads"],
        &["processes", "fork"],
        &["processes", "spawn"],
        &["processes", "forkserver"],
        &["seeded"],
        &["logged"],
        &["no_such_case"],
    ] {
        warm.same(&warm.case(case), &as_is);
    }
    let killed = warm.same(&warm.case(&["killed", "9"]), &as_is);
    assert_eq!(signal_of(&killed), Some(9));
}

/// If a program has finalizers, only its first lines run ahead: the garbage collector then calls
/// them when a plain start would.
#[test]
fn finalizers_run_in_a_program_whose_first_lines_run_ahead() {
    let Some(warm) = Warm::new() else { return };
    let program = warm.directory.join("finalizes.py");
    fs::write(program, include_str!("start/finalizes.py")).expect("it is written");
    let python = warm.python.to_str().expect("its path is text");
    warm.warm_up(&[python, "finalizes.py", "at_exit"], &as_is);
    for case in ["at_exit", "finalized"] {
        warm.same(&[python, "finalizes.py", case], &as_is);
    }
    let code =
        "import json, numpy\nclass Last:\n    def __del__(self): print('deleted')\nlast = Last()";
    let start = || {
        Observed::of(
            warm.started(&[python, "-c", code])
                .output()
                .expect("it starts"),
        )
    };
    start();
    until("it is refused", || {
        let said = start();
        assert_eq!(said.out, "deleted\n");
        said.err
            .contains("its finalizers (__del__) would run at other times")
    });
}

#[test]
fn each_start_brings_its_own_surroundings() {
    let Some(warm) = Warm::new() else { return };
    warm.warm_up(&warm.case(&["facts"]), &as_is);
    let facts = warm.case(&["facts"]);
    // None of these changes what was imported: one parent serves them all.
    let ways: [&dyn Fn(&mut Command); 4] = [
        &|command| {
            command.env("NEW", "a value").env_remove("TERM");
        },
        &|command| {
            command.env("_", "x").env("SECRET", "\u{fc} =");
        },
        &|command| {
            command.stdout(Stdio::piped()).stderr(Stdio::null());
        },
        &|command| {
            command.stdin(Stdio::piped());
        },
    ];
    for how in ways {
        let plain = {
            let mut command = warm.plain(&facts);
            how(&mut command);
            Observed::of(command.output().expect("it starts"))
        };
        let mut command = warm.started(&facts);
        how(&mut command);
        let observed = Observed::of(command.output().expect("it starts"));
        assert_eq!(plain.out, observed.out);
    }
    assert_eq!(warm.count(), 1);
}

#[test]
fn shells_pass_on_masks_limits_ignored_signals_and_closed_streams() {
    let Some(warm) = Warm::new() else { return };
    let python = warm.python.display().to_string();
    for line in [
        "umask 027; exec $@",
        "trap '' INT HUP USR1; exec $@",
        "exec $@ 7<cases.py",
        "exec $@ <&-",
        "exec $@ >&-",
        "ulimit -n 300; exec $@",
        "ulimit -c 0; ulimit -s 4096; exec $@",
        "exec nice -n 3 $@",
        "cd run; exec $@",
    ] {
        let case = if line.contains("7<") {
            "descriptors"
        } else {
            "facts"
        };
        let script = warm.directory.join("cases.py").display().to_string();
        let plain = ["sh", "-c", line, "sh", &python, &script, case];
        let exe = env!("CARGO_BIN_EXE_preheat");
        let started = [
            "sh",
            "-c",
            line,
            "sh",
            exe,
            "start",
            "-v",
            "--patience",
            "60",
            "--",
            &python,
            &script,
            case,
        ];
        let plain = Observed::of(warm.plain(&plain).output().expect("it starts"));
        // Some need a separate parent, some have one.
        let said = loop {
            let said = Observed::of(warm.plain(&started).output().expect("it starts"));
            if said.err.starts_with("preheat: started warm") {
                break said.warm(&started);
            }
            assert_eq!(warm.refusal(), None, "{line}");
        };
        assert_eq!(plain.out, said.out, "{line}");
        assert_eq!(plain.err, said.err, "{line}");
        assert_eq!(plain.status, said.status, "{line}");
    }
}

#[test]
fn modules_code_options_and_scripts_of_their_own() {
    let Some(warm) = Warm::new() else { return };
    let python = warm.python.to_str().expect("its path is text");
    let cases = fs::read_to_string(warm.directory.join("cases.py")).expect("they are there");
    warm.directory
        .script("script", &format!("#!{python} -u\n{cases}"));
    warm.directory
        .script("by_env", &format!("#!/usr/bin/env {python}\n{cases}"));
    fs::create_dir(warm.directory.join("package")).expect("a directory");
    fs::write(warm.directory.join("package/__main__.py"), &cases).expect("it is written");
    fs::write(warm.directory.join("syntax.py"), "x = (\nimport\n").expect("it is written");
    let code = "import sys, numpy; print(sys.argv, sys.path, sorted(vars())); raise ValueError(3)";
    let absolute = warm.directory.join("cases.py").display().to_string();
    for program in [
        &[python, "-m", "cases", "facts", "x"][..],
        &[python, "-mcases", "chained"],
        &[python, "-c", code, "a", "b"],
        &[python, "-u", "cases.py", "facts"],
        &[python, "-O", "cases.py", "facts"],
        &[python, "-W", "error::UserWarning", "cases.py", "warned"],
        &[python, "-X", "utf8", "cases.py", "facts"],
        &[python, "-X", "dev", "cases.py", "facts"],
        // A program that is killed has already recorded its imports.
        &[python, "-X", "faulthandler", "cases.py", "killed", "11"],
        &[python, "-B", "-s", &absolute, "facts"],
        &[python, "package", "facts"],
        &[python, "syntax.py"],
        &[python, "missing.py"],
        &["./script", "facts"],
        &["./by_env", "facts"],
    ] {
        warm.warm_up(program, &as_is);
        warm.same(program, &as_is);
    }
    warm.same(&["./script", "kernel"], &as_is);
}

#[test]
fn a_file_that_is_standard_input_is_a_program() {
    let Some(warm) = Warm::new() else { return };
    let python = warm.python.to_str().expect("its path is text");
    let text = fs::read_to_string(warm.directory.join("cases.py")).expect("it exists");
    let input = warm.directory.join("input");
    fs::write(&input, format!("not Python\n{text}")).expect("it is written");
    // Something has already read the first line.
    let how = |command: &mut Command| {
        let mut file = File::open(&input).expect("it exists");
        file.seek(SeekFrom::Start(11)).expect("it is long enough");
        command.stdin(file);
    };
    warm.warm_up(&[python, "-", "code", "3"], &how);
    for case in [
        &["code", "3"][..],
        &["chained"],
        &["echo"],
        &["threads"],
        &["kernel", "x"],
    ] {
        warm.same(&[&[python, "-"], case].concat(), &how);
    }
    let said = |how: &dyn Fn(&mut Command)| {
        let mut command = warm.started(&[python, "-", "code", "3"]);
        how(&mut command);
        Observed::of(command.output().expect("it starts"))
    };
    // Another text is another program, and a pipe cannot be read in advance.
    fs::write(&input, format!("not Python\n{text}\n# changed\n")).expect("it is written");
    let observed = said(&how);
    assert!(
        observed.err.contains("no warm parent yet"),
        "{}",
        observed.err
    );
    assert_eq!(observed.status.code(), Some(3));
    let observed = said(&as_is);
    assert!(observed.err.contains("not a file"), "{}", observed.err);
    assert_eq!(observed.status.code(), Some(0));
}

#[test]
fn encodings_and_locales_are_those_of_the_environment() {
    let Some(warm) = Warm::new() else { return };
    let facts = warm.case(&["facts"]);
    let ways: [&dyn Fn(&mut Command); 6] = [
        &|command| {
            command.env("PYTHONIOENCODING", "latin-1:replace");
        },
        &|command| {
            command.env("LC_ALL", "C");
        },
        &|command| {
            command.env_remove("LANG").env_remove("LC_ALL");
        },
        &|command| {
            command.env_remove("LANG").env("LC_CTYPE", "POSIX");
        },
        &|command| {
            command.env("PYTHONPATH", "/nowhere:relative::");
        },
        &|command| {
            command.env("PYTHONHASHSEED", "0").env("PYTHONPATH", "");
        },
    ];
    for how in ways {
        // A parent for each; only some are kept.
        let mut first = warm.started(&facts);
        how(&mut first);
        first.output().expect("it starts");
        loop {
            let mut next = warm.started(&facts);
            how(&mut next);
            let said = Observed::of(next.output().expect("it starts"));
            if said.err.starts_with("preheat: started warm") {
                break;
            }
            assert_eq!(warm.refusal(), None);
        }
        warm.same(&facts, how);
    }
}

#[test]
fn a_pipe_is_read_to_its_end_and_a_reader_may_leave() {
    let Some(warm) = Warm::new() else { return };
    warm.warm_up(&warm.case(&["echo"]), &as_is);
    let mut child = warm
        .started(&warm.case(&["echo"]))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("it is a pipe");
    input.write_all(b"one\ntwo\n").expect("it is read");
    drop(input);
    let observed = Observed::of(child.wait_with_output().expect("it ends"));
    let observed = observed.warm(&["echo"]);
    assert_eq!(observed.out, "read one\nread two\nb''\n");
}

#[test]
fn a_child_that_waits_has_its_memory_for_itself() {
    let Some(warm) = Warm::new() else { return };
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release
        .split(['.', '-'])
        .map_while(|it| it.parse::<u32>().ok());
    let has_it = (numbers.next(), numbers.next()) >= (Some(5), Some(14));
    if require("Linux 5.14", has_it.then_some(())).is_none() {
        return;
    }
    let facts = warm.case(&["facts"]);
    warm.warm_up(&facts, &as_is);
    let parent = warm.parent();
    let amount = |process: libc::pid_t, name: &str| {
        let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup"));
        let text = text.unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        number.unwrap_or(0u64)
    };
    until("its memory is its own", || {
        let waiting = children(parent).into_iter().flat_map(children).next();
        let Some(child) = waiting else { return false };
        let anonymous = amount(child, "Anonymous:");
        anonymous > 0 && amount(child, "Private_Dirty:") > anonymous * 9 / 10
    });
    warm.same(&facts, &as_is);
}

#[test]
fn chance_differs_from_start_to_start() {
    let Some(warm) = Warm::new() else { return };
    let program = warm.case(&["chance"]);
    warm.warm_up(&program, &as_is);
    assert_eq!(differing(&warm, &program), 4 * 6);
}

/// Starts a program warm four times, and returns the number of its lines, which must all differ.
fn differing(warm: &Warm, program: &[&str]) -> usize {
    let mut seen = HashSet::new();
    for _ in 0..4 {
        let observed = Observed::of(warm.started(program).output().expect("it starts"));
        for line in observed.warm(program).out.lines() {
            assert!(seen.insert(line.to_owned()), "{line} came twice");
        }
    }
    seen.len()
}

#[test]
fn pytorch_computes_trains_and_loads_data() {
    support::pythons_with_torch().for_each(torch_cases);
}

fn torch_cases(python: PathBuf) {
    let warm = Warm::with(python).expect("a directory");
    let python = warm.python.to_str().expect("its path is text");
    let cases = include_str!("start/torch_cases.py");
    fs::write(warm.directory.join("torch_cases.py"), cases).expect("it is written");
    warm.warm_up(&[python, "torch_cases.py", "load"], &as_is);
    for case in ["numbers", "train", "load", "parallel", "forked"] {
        warm.same(&[python, "torch_cases.py", case], &as_is);
    }
    assert_eq!(
        differing(&warm, &[python, "torch_cases.py", "chance"]),
        4 * 2
    );
}

/// PyTorch 2 imports its compiler, a thousand modules, when an optimizer is made.
#[test]
fn imports_of_an_optimizer_are_made_ahead() {
    let Some(warm) = support::python_with_torch_2().and_then(Warm::with) else {
        return;
    };
    let program = "import sys, torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(2, 8)).sum().backward()
optimizer.step()
print('torch._dynamo' in sys.modules, model.weight[0, 0].item() < 1)
";
    fs::write(warm.directory.join("program.py"), program).expect("it is written");
    let words = [
        warm.python.to_str().expect("its path is text"),
        "program.py",
    ];
    warm.warm_up(&words, &as_is);
    assert_eq!(warm.same(&words, &as_is).out, "True True\n");
    let listed = support::run(&mut warm.preheat(&["--list", "-v"])).out;
    assert!(listed.contains("program.py"), "{listed}");
    assert!(!listed.contains("not ahead: torch"), "{listed}");
}
