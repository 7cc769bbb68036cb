//! `preheat start`: flags → a start, or what there is about warm parents.
//!
//! The command's own output stays its own: what preheat says, and only if it is asked to,
//! goes to standard error.

mod kinds;
mod measure;
mod seen;

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use preheat_start::{DEFAULT_IDLE, DEFAULT_PATIENCE, Request, Running};

use crate::args::StartArguments;
use crate::exit::{Usage, complain};
use crate::output::print;

pub fn run(arguments: &StartArguments) -> Result<ExitCode> {
    if arguments.list {
        let running = preheat_start::list().context("the warm parents cannot be listed")?;
        print(table(&running, arguments.verbose).as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(which) = &arguments.stop {
        return stop(which);
    }
    if arguments.measure {
        return measure::run(arguments);
    }
    let told = |sentence: &str| {
        if arguments.verbose {
            complain(sentence);
        }
    };
    let started = preheat_start::start(&Request {
        command: &arguments.command,
        idle: arguments.idle.unwrap_or(DEFAULT_IDLE),
        patience: arguments.patience.unwrap_or(DEFAULT_PATIENCE),
        remedies: arguments.remedies(),
        strictly: arguments.strictly,
        told: &told,
    });
    Ok(started.unwrap_or_else(|why| {
        complain(&why.to_string());
        ExitCode::from(why.exit_code())
    }))
}

fn stop(which: &str) -> Result<ExitCode> {
    let stopped = preheat_start::stop(which).context("the warm parents cannot be stopped")?;
    if stopped == 0 && which != "all" {
        return Err(Usage(format!(
            "there is no warm parent {which}; `preheat start --list` shows which there are"
        ))
        .into());
    }
    Ok(ExitCode::SUCCESS)
}

/// The warm parents for a person at the prompt.
fn table(running: &[Running], verbose: bool) -> String {
    if running.is_empty() {
        return "no warm parents run\n".to_owned();
    }
    let mut text = format!(
        "{:>8}  {:>7}  {:>8}  {:>6}  program\n",
        "ID", "age", "memory", "starts"
    );
    for parent in running {
        let served = parent.served.map_or("?".to_owned(), |n| n.to_string());
        let memory = format!("{} MiB", parent.memory >> 20);
        let age = age(parent.age);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:>8}  {age:>7}  {memory:>8}  {served:>6}  {}",
            parent.id, parent.program
        );
        for (module, why) in parent.left_out.iter().filter(|_| verbose) {
            let _ = writeln!(text, "{:>37}not ahead: {module}, which {why}", "");
        }
    }
    text
}

fn age(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_are_listed_a_line_each() {
        assert!(table(&[], false).contains("no warm parents"));
        let parent = Running {
            id: "7".into(),
            program: "python train.py".into(),
            age: Duration::from_secs(300),
            memory: 64 << 20,
            served: Some(3),
            left_out: vec![("this".into(), "prints when it is imported".into())],
        };
        let text = table(std::slice::from_ref(&parent), false);
        assert!(
            text.ends_with("7    5 min    64 MiB       3  python train.py\n"),
            "{text}"
        );
        let text = table(&[parent], true);
        assert!(text.contains("not ahead: this, which prints"), "{text}");
    }
}
