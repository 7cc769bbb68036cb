//! Signals and job control, from a keyboard and from a supervisor.

mod support;

use std::os::unix::process::CommandExt;
use std::process::Command;

use support::terminal::Terminal;
use support::{Running, Scratch, kill};

/// A script that prints when it is ready, and the signal that it receives.
fn waits_for(signal: &str) -> String {
    format!("trap 'echo got {signal}; exit 5' {signal}; echo ready; while :; do :; done")
}

#[test]
fn signals_sent_only_to_preheat_are_forwarded() {
    for (signal, name) in [
        (libc::SIGTERM, "TERM"),
        (libc::SIGHUP, "HUP"),
        (libc::SIGUSR1, "USR1"),
        (libc::SIGUSR2, "USR2"),
        (libc::SIGINT, "INT"),
    ] {
        let scratch = Scratch::new();
        let mut launch = scratch.launch(&["starts=2"], &["sh", "-c", &waits_for(name)]);
        // Sent from another process group, as a supervisor would.
        launch.process_group(0);
        let mut running = Running::new(launch);
        assert_eq!(running.line(), "ready");
        running.signal(signal);
        assert_eq!(running.line(), format!("got {name}"));
        if matches!(name, "USR1" | "USR2") {
            // These do not end the series, which continues and is interrupted afterwards.
            running.signal(libc::SIGTERM);
            running.end();
            continue;
        }
        let (_, complaints, code) = running.end();
        assert_eq!(code, Some(5));
        assert!(complaints.contains("interrupted"), "{complaints}");
        assert_eq!(scratch.manifest().starts.len(), 1, "no further start");
    }
}

#[test]
fn signals_of_the_parent_in_the_same_group_are_forwarded() {
    for (signal, name) in [(libc::SIGINT, "INT"), (libc::SIGQUIT, "QUIT")] {
        let scratch = Scratch::new();
        let mut running = Running::new(scratch.launch(&[], &["sh", "-c", &waits_for(name)]));
        assert_eq!(running.line(), "ready");
        running.signal(signal);
        assert_eq!(running.line(), format!("got {name}"));
        assert_eq!(running.end().2, Some(5));
    }
}

#[test]
fn a_signal_of_the_command_to_its_group_reaches_it_once() {
    let scratch = Scratch::new();
    // The shell handles each signal after its current child has ended. The sender stays
    // alive for a while: once it is gone, its parent cannot be determined.
    let script = "trap 'echo got INT' INT; echo ready; \
        sh -c 'trap \"\" INT; kill -INT 0; sleep 1'; sh -c :; echo on";
    let mut launch = scratch.launch(&["starts=1"], &["sh", "-c", script]);
    launch.process_group(0);
    let mut running = Running::new(launch);
    assert_eq!(running.line(), "ready");
    let (rest, _, code) = running.end();
    assert_eq!(rest, "got INT\non\n");
    assert_eq!(code, Some(0));
}

#[test]
fn a_command_killed_by_a_signal_is_reported() {
    let scratch = Scratch::new();
    let script = "echo ready; while :; do :; done";
    let mut running = Running::new(scratch.launch(&[], &["sh", "-c", script]));
    assert_eq!(running.line(), "ready");
    running.signal(libc::SIGTERM);
    assert_eq!(running.end().2, Some(128 + libc::SIGTERM));
    assert_eq!(scratch.manifest().starts[0].exit_code, 128 + libc::SIGTERM);
}

#[test]
fn a_signal_to_the_group_reaches_the_command() {
    let scratch = Scratch::new();
    let mut launch = scratch.launch(&[], &["sh", "-c", &waits_for("INT")]);
    launch.process_group(0);
    let mut running = Running::new(launch);
    assert_eq!(running.line(), "ready");
    kill(-(running.child.id() as i32), libc::SIGINT);
    assert_eq!(running.line(), "got INT");
    assert_eq!(running.end().2, Some(5));
}

#[test]
fn ctrl_c_reaches_the_command_and_preheat_still_reports() {
    let scratch = Scratch::new();
    let launch = scratch.launch(&[], &["sh", "-c", &waits_for("INT")]);
    let mut terminal = Terminal::new(launch);
    terminal.expect("ready");
    terminal.type_in("\x03");
    terminal.expect("got INT");
    let (rest, code) = terminal.end();
    assert!(rest.contains("preheat: 1 of 5 starts were made"), "{rest}");
    assert_eq!(code, Some(5));
}

#[test]
fn ignored_and_blocked_signals_are_inherited() {
    let scratch = Scratch::new();
    let status = "grep -E 'Sig(Blk|Ign)' /proc/self/status";
    let mut plain = Command::new("sh");
    plain.args(["-c", status]);
    let mut launch = scratch.launch(&["starts=1"], &["sh", "-c", status]);
    let mut outputs = Vec::new();
    for command in [&mut plain, &mut launch] {
        // SAFETY: signal and pthread_sigmask are async-signal-safe, and access only their
        // arguments.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGHUP, libc::SIG_IGN);
                libc::signal(libc::SIGCHLD, libc::SIG_IGN);
                libc::signal(libc::SIGPIPE, libc::SIG_IGN);
                let mut set: libc::sigset_t = std::mem::zeroed();
                libc::sigaddset(&mut set, libc::SIGUSR1);
                libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
                Ok(())
            });
        }
        outputs.push(command.output().expect("it runs"));
    }
    let [plain, launched] = &outputs[..] else {
        panic!("two outputs");
    };
    assert_eq!(
        support::text(&launched.stdout),
        support::text(&plain.stdout)
    );
    assert_eq!(launched.status.code(), Some(0));
}

#[test]
fn ctrl_z_stops_the_job_and_fg_continues_it() {
    let scratch = Scratch::new();
    let script = "echo ready; read line; echo got $line";
    let launch = scratch.launch(&["starts=1"], &["sh", "-c", script]);
    let mut shell = Command::new("bash");
    shell
        .args([
            "-c",
            "set -m; \"$@\"; echo stopped $?; fg; echo ended $?",
            "bash",
        ])
        .arg(launch.get_program())
        .args(launch.get_args())
        .envs(
            launch
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
    let mut terminal = Terminal::new(shell);
    terminal.expect("ready");
    terminal.type_in("\x1a");
    terminal.expect(&format!("stopped {}", 128 + libc::SIGTSTP));
    terminal.type_in("a line\n");
    terminal.expect("got a line");
    terminal.expect("ended 0");
    assert_eq!(terminal.end().1, Some(0));
}

#[test]
fn a_command_that_stops_itself_stops_the_job() {
    let scratch = Scratch::new();
    let script = "echo ready; kill -STOP $$; echo again; exit 6";
    let launch = scratch.launch(&["starts=1"], &["sh", "-c", script]);
    let mut shell = Command::new("bash");
    shell
        .args([
            "-c",
            "set -m; \"$@\"; echo stopped; fg; echo ended $?",
            "bash",
        ])
        .arg(launch.get_program())
        .args(launch.get_args())
        .envs(
            launch
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
    let mut terminal = Terminal::new(shell);
    terminal.expect("ready");
    terminal.expect("stopped");
    terminal.expect("again");
    terminal.expect("ended 6");
    assert_eq!(terminal.end().1, Some(0));
}
