//! A device that is not available.

use crate::{Context, Device, Error, Info, Kind, Result, Stage};

/// A device that answers every request with the reason for its absence.
#[derive(Debug)]
pub struct Unavailable {
    kind: Kind,
    why: Error,
}

impl Unavailable {
    /// Creates the placeholder for `kind`, unavailable because of `why`.
    pub fn new(kind: Kind, why: Error) -> Unavailable {
        Unavailable { kind, why }
    }
}

impl Device for Unavailable {
    fn kind(&self) -> Kind {
        self.kind
    }

    fn initialize(&mut self) -> Result<Vec<Stage>> {
        Err(self.why.clone())
    }

    fn info(&self) -> Result<Info> {
        Err(self.why.clone())
    }

    fn context(&self) -> Result<Box<dyn Context>> {
        Err(self.why.clone())
    }
}
