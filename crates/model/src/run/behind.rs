//! All items behind the causes of the shown start, for comparisons. The report lists only
//! the largest ones.

use super::{Cause, Item};

/// All items behind the causes of the shown start.
#[derive(Clone, Debug, PartialEq)]
pub struct Behind {
    /// Items by [`Cause::index`], largest first. Python modules are grouped as in the
    /// report; `modules` lists them one by one.
    pub items: [Vec<Item>; Cause::ALL.len()],
    /// All Python modules that took time on the path. A module comes after the one that
    /// imported it.
    pub modules: Vec<Module>,
}

/// An imported Python module.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// The module name.
    pub name: String,
    /// The importer, such as `imported by torch._compile inner:53, from train.py:12`; may
    /// be empty.
    pub detail: String,
    /// The module that imported it, as an index into [`Behind::modules`].
    pub parent: Option<usize>,
    /// Seconds on the path, without nested imports.
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
    /// The items behind a cause.
    pub fn of(&self, cause: Cause) -> &[Item] {
        &self.items[cause.index()]
    }
}
