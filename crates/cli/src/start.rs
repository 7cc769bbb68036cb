//! `preheat start`: starts a command, or manages warm parents and caches.
//!
//! Standard output belongs to the command. preheat prints to standard error, and only if
//! asked to.

mod caches;
mod measure;

use std::fmt::Write as _;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use preheat_start::{
    CommandState, DEFAULT_IDLE, DEFAULT_PATIENCE, Imports, Preparation, Remedy, Request, Running,
};

use crate::args::StartArguments;
use crate::exit::{FAILED, Usage, complain};
use crate::output::print;

/// The default time limit for creating a warm parent with --prepare.
const PREPARATION: Duration = Duration::from_secs(600);

pub fn run(arguments: &StartArguments) -> Result<ExitCode> {
    if arguments.contradicts_itself() {
        return Err(Usage("--only none cannot be combined with other remedies".into()).into());
    }
    if arguments.prepare
        && arguments
            .remedies()
            .is_some_and(|only| !only.contains(&Remedy::WarmParent))
    {
        return Err(
            Usage("--prepare creates a warm parent, which --only leaves out".into()).into(),
        );
    }
    if arguments.list {
        let running = preheat_start::list().context("the warm parents cannot be listed")?;
        print(table(&running, arguments.verbose).as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(which) = &arguments.stop {
        return stop(which);
    }
    if let Some(from) = &arguments.unpack {
        return caches::unpack(from, arguments.caches.as_deref());
    }
    if let Some(place) = &arguments.caches {
        caches::name(place)?;
    }
    if let Some(to) = &arguments.pack {
        return caches::pack(to);
    }
    if arguments.measure {
        return measure::run(arguments);
    }
    if arguments.forget {
        return forget(arguments);
    }
    let log = |sentence: &str| {
        if arguments.verbose {
            complain(sentence);
        }
    };
    let imports = match &arguments.from {
        Some(recording) => Some(from(arguments, recording)?),
        None => None,
    };
    if arguments.prepare {
        return prepare(arguments, imports.as_ref());
    }
    if let Some(imports) = &imports
        && let Err(why) = preheat_start::learn(&arguments.command, imports)
    {
        log(&format!("there is no warm parent: {why}"));
    }
    // Verbose starts report every reason anyway.
    let hints = !arguments.quiet && !arguments.verbose && io::stderr().is_terminal();
    let hint: &dyn Fn(&str) = &|sentence| complain(&format!("{sentence} (-q hides this line)"));
    let started = preheat_start::start(&Request {
        command: &arguments.command,
        idle: arguments.idle.unwrap_or(DEFAULT_IDLE),
        patience: arguments.patience.unwrap_or(DEFAULT_PATIENCE),
        remedies: arguments.remedies(),
        strictly: arguments.strictly,
        standby: arguments.standby(),
        reached: arguments.reached.as_deref(),
        chain_options: &arguments.chain_options(),
        log: &log,
        hint: hints.then_some(hint),
    });
    Ok(started.unwrap_or_else(|why| {
        complain(&why.to_string());
        ExitCode::from(why.exit_code())
    }))
}

/// Stores the observations of a recording, and returns its imports.
fn from(arguments: &StartArguments, recording: &Path) -> Result<Imports> {
    let read = preheat_trace::read(recording).map_err(|why| {
        Usage(format!(
            "cannot read {} as a recording: {why}",
            recording.display()
        ))
    })?;
    if let Ok(known) = CommandState::of(&arguments.command) {
        // The observations are for remedies chosen by a measurement; there may be none.
        let _ = known.observe(&preheat_start::measurement::observed(&read));
    }
    let (names, files) = preheat_trace::imports(&read.starts);
    Ok(Imports { names, files })
}

/// Creates the warm parent, and waits until it is ready.
fn prepare(arguments: &StartArguments, imports: Option<&Imports>) -> Result<ExitCode> {
    let shows_progress = arguments.verbose || io::stderr().is_terminal();
    let log = |sentence: &str| {
        if shows_progress {
            complain(sentence);
        }
    };
    let prepared = preheat_start::prepare(&Preparation {
        command: &arguments.command,
        imports,
        idle: arguments.idle.unwrap_or(DEFAULT_IDLE),
        limit: arguments.patience.unwrap_or(PREPARATION),
        standby: arguments.standby(),
        log: &log,
    });
    Ok(match prepared {
        Ok(()) => {
            log("the warm parent is ready");
            ExitCode::SUCCESS
        }
        Err(why) => {
            complain(&format!("there is no warm parent: {why}"));
            ExitCode::from(FAILED)
        }
    })
}

fn forget(arguments: &StartArguments) -> Result<ExitCode> {
    let known = match CommandState::of(&arguments.command) {
        Ok(known) => known,
        Err(why) => {
            complain(&why.to_string());
            return Ok(ExitCode::from(why.exit_code()));
        }
    };
    known
        .forget()
        .context("cannot delete the stored knowledge about the command")?;
    Ok(ExitCode::SUCCESS)
}

fn stop(which: &str) -> Result<ExitCode> {
    let stopped = preheat_start::stop(which).context("the warm parents cannot be stopped")?;
    if stopped.parents == 0 && which != "all" {
        return Err(Usage(format!(
            "unknown warm parent {which}; `preheat start --list` lists the running ones"
        ))
        .into());
    }
    if !stopped.remaining.is_empty() {
        let processes: Vec<String> = stopped.remaining.iter().map(u32::to_string).collect();
        complain(&format!(
            "standbys that have not exited yet, and may still hold memory of the GPU: {}",
            processes.join(", ")
        ));
        return Ok(ExitCode::from(FAILED));
    }
    if io::stderr().is_terminal() {
        complain(match stopped.parents {
            0 => "no warm parents were running",
            1 => "stopped one warm parent",
            _ => "stopped all warm parents",
        });
    }
    Ok(ExitCode::SUCCESS)
}

/// Formats the table of warm parents.
fn table(running: &[Running], verbose: bool) -> String {
    if running.is_empty() {
        return "no warm parents are running\n".to_owned();
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
            "{:>8}  {age:>7}  {memory:>8}  {served:>6}  {}  in {}",
            parent.id,
            parent.program,
            parent.place.display()
        );
        for standby in &parent.standbys {
            let memory = format!("{} MiB", standby.memory >> 20);
            let _ = writeln!(
                text,
                "{:>8}  {:>7}  {memory:>8}  {:>6}  standby {}, {} MiB on the GPU",
                "",
                "",
                "",
                standby.state,
                standby.device_memory >> 20
            );
        }
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
    use preheat_start::RunningStandby;

    #[test]
    fn parents_are_listed_one_per_line() {
        assert!(table(&[], false).contains("no warm parents"));
        let parent = Running {
            id: "7".into(),
            program: "python train.py".into(),
            place: "/home/me".into(),
            age: Duration::from_secs(300),
            memory: 64 << 20,
            served: Some(3),
            recorded: false,
            left_out: vec![("this".into(), "prints when it is imported".into())],
            standbys: vec![RunningStandby {
                process: 9,
                state: "hot".into(),
                memory: 1 << 30,
                device_memory: 700 << 20,
            }],
        };
        let text = table(std::slice::from_ref(&parent), false);
        assert!(
            text.contains("7    5 min    64 MiB       3  python train.py  in /home/me\n"),
            "{text}"
        );
        assert!(
            text.ends_with("  1024 MiB          standby hot, 700 MiB on the GPU\n"),
            "{text}"
        );
        let text = table(&[parent], true);
        assert!(text.contains("not ahead: this, which prints"), "{text}");
    }
}
