//! Renders the report of a recorded program.

mod html;
mod terminal;
pub(crate) mod words;

pub use html::run_html;
pub use terminal::run_terminal;
