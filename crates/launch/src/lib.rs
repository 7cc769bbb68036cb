//! Starts a command with the recorder in it, as often as asked and as cold as asked,
//! and leaves a recording behind.
//!
//! The flow: look at the program ([`record`]) → place the recorder → for each start:
//! make it as cold as asked, inject, run, look at it from outside, wait → write down
//! what happened (`recording.json`). Several commands take turns ([`record_in_turn`]). The command itself cannot tell: its standard
//! streams, terminal, process group, signals and exit code are what they would be
//! without preheat.
//!
//! This crate reads no recordings, analyses nothing and prints nothing.

pub mod caches;
mod clock;
mod ending;
mod error;
pub mod inherited;
mod inject;
mod input;
mod lines;
mod manifest;
mod optional;
mod place;
mod plan;
pub mod program;
mod recording;
mod request;
mod samples;
mod series;
mod signals;
mod start;
mod temperature;
mod timers;
mod trusted;
mod turns;

pub use error::LaunchError;
pub use inject::is_set_by_recording;
pub use manifest::save as save_manifest;
pub use optional::locate_optional_imports;
pub use place::kept_recorder;
pub use place::{private as private_directory, put as put_file, replace as replace_file};
pub use request::{DEFAULT_BUDGET, DEFAULT_LIMIT, DEFAULT_STARTS, Progress, Request};
pub use series::STDERR;
pub use signals::{interrupted, sender};
pub use temperature::cached_parts;
pub use timers::locate_timers;
pub use trusted::trusted as trusted_directory;
pub use turns::{record, record_in_turn};
