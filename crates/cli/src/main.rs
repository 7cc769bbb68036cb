//! preheat measures, explains and removes GPU cold start.
//!
//! The flow: arguments → a request → the crate that handles it → a rendering. This crate
//! handles flags, terminals, files and exit codes, and measures nothing.

mod args;
mod check;
mod classify;
mod compare;
mod doctor;
mod exit;
mod generate;
mod lab;
mod otlp;
mod output;
mod progress;
mod recorded;
mod report;
mod run;
mod saved;
mod shell_words;
mod show;
mod start;
mod tool_environment;

use std::process::ExitCode;

use args::{Arguments, Command};

fn main() -> ExitCode {
    // The starts of `lab` execute this program; handle them before any flag is parsed.
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next().as_deref().and_then(|first| first.to_str()) {
        Some(preheat_lab::CHILD_ARGUMENT) => return preheat_lab::child_main(arguments),
        Some(preheat_lab::PROBE_ARGUMENT) => return preheat_lab::probe_main(arguments),
        _ => {}
    }
    tool_environment::search_last();
    let done = match Arguments::of_process().command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Start(arguments) => start::run(&arguments),
        Command::Lab(arguments) => lab::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Classify(arguments) => classify::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Completions(arguments) => generate::print_completions(&arguments),
        Command::Generate(arguments) => generate::run(&arguments),
    };
    done.unwrap_or_else(|error| exit::report(&error))
}
