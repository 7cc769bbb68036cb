//! The library that is loaded into the recorded program: it hooks calls, records them, and
//! changes nothing.
//!
//! [`recorder`] stores records without knowing their meaning. The other modules are its
//! sources: [`start`] the process itself, [`loader`] loaded libraries and looked-up
//! functions, [`files`] opened files, [`clocks`] the clocks with which a native program
//! times itself, [`python`] everything that Python reports, [`hooks`] calls of drivers and
//! libraries. All of them only call the real function until the constructor has found a
//! directory to record into, and after any error.
//!
//! `ahead` and `chain` record nothing: the first initializes the driver in the background,
//! the second finds the Python that a command becomes, if `preheat start` requests it.
//! `restore` knows when the GPU of a standby is being restored. `background` makes forks and the
//! end of the program wait for both.

mod ahead;
mod callers;
mod chain;
pub mod clocks;
mod environment;
pub mod files;
pub mod hooks;
pub mod lifetime;
pub mod loader;
pub mod python;
pub mod recorder;
mod restore;
