//! The device that is not there, and says why.

use crate::{Context, Device, Error, Info, Kind, Result, Stage};

/// A device that answers every request with the reason why it is not here.
#[derive(Debug)]
pub struct Unavailable {
    kind: Kind,
    why: Error,
}

impl Unavailable {
    /// The absence of `kind`, because of `why`.
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
