//! Runs a command with the recorder loaded, as often and as cold as requested, and writes a
//! recording.
//!
//! The steps: inspect the program ([`record`]) → install the recorder → for each start:
//! make it as cold as requested, inject, run, sample from outside, wait → write the
//! manifest (`recording.json`). Several commands are interleaved ([`record_in_turn`]). The
//! command does not notice: its standard streams, terminal, process group, signals and exit
//! code are the same as without preheat.
//!
//! This crate reads no recordings, analyses nothing and prints nothing.

pub mod caches;
mod error;
mod import_statements;
pub mod inherited;
mod inject;
mod install;
mod optional;
mod output_lines;
pub mod program;
mod recording;
mod request;
mod samples;
mod series;
mod shared_imports;
mod signals;
mod stacks;
mod start;
mod temperature;
mod turns;

pub use error::LaunchError;
pub use import_statements::{ImportStatement, import_statements};
pub use inject::is_set_by_recording;
pub use install::{is_recorders, kept_recorder};
pub use optional::locate_optional_imports;
pub use recording::save as save_manifest;
pub use request::{DEFAULT_BUDGET, DEFAULT_LIMIT, DEFAULT_STARTS, Progress, Request};
pub use series::STDERR;
pub use signals::sender;
pub use temperature::cached_parts;
pub use turns::{Recorded, record, record_in_turn};
