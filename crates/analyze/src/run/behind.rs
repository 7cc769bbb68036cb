//! All that is behind the causes of the shown start: what a comparison looks through. The
//! report tells the largest of it.

use super::path::CAUSES;
use super::{Cause, Item};

/// Everything behind the causes, of the start that is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Behind {
    /// By [`Cause::index`]: what it was, largest first. Modules are told as in the report;
    /// one by one they are in `modules`.
    pub items: [Vec<Item>; CAUSES],
    /// Every Python module that took time on the path; one that was imported by another
    /// comes after it.
    pub modules: Vec<Module>,
}

/// A Python module that was imported.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// Its name.
    pub name: String,
    /// Who asked for it: `asked for by torch._compile inner:53, from train.py:12`; may be
    /// empty.
    pub detail: String,
    /// The one whose import asked for it, by its place in [`Behind::modules`].
    pub parent: Option<usize>,
    /// How long on the path, without what it imported; seconds.
    pub own: f64,
}

impl Default for Behind {
    fn default() -> Behind {
        Behind {
            items: std::array::from_fn(|_| Vec::new()),
            modules: Vec::new(),
        }
    }
}

impl Behind {
    /// What is behind a cause.
    pub fn of(&self, cause: Cause) -> &[Item] {
        &self.items[cause.index()]
    }
}
