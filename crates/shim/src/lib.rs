//! What is loaded into the program that is recorded: it takes calls, records them, and
//! changes nothing.
//!
//! [`recorder`] keeps records and knows nothing of what they tell. The other modules
//! are its sources: [`start`] the process itself, [`loader`] what is loaded and looked
//! up, [`files`] what is read, [`clocks`] what a native program times itself with, [`python`] what Python's side tells, [`hooks`] the calls
//! of drivers and libraries. All of them do nothing but call the real function until the
//! constructor has found a directory to record into, and after anything went wrong.
//!
//! `ahead` and `chain` record nothing: the first initializes the driver in the background, the
//! second finds the Python that a command becomes, where `preheat start` asks for it.

mod ahead;
mod chain;
pub mod clocks;
mod environment;
pub mod files;
pub mod hooks;
pub mod loader;
pub mod python;
pub mod recorder;
pub mod start;
