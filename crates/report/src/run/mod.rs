//! The renderers of a recorded program's report.

mod html;
mod terminal;
pub(crate) mod words;

pub use html::run_html;
pub use terminal::run_terminal;
