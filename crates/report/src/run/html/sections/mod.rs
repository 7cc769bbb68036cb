//! The sections of the page, one file each. A section without data adds nothing.

mod cause_bars;
pub(super) mod causes;
pub(super) mod first;
pub(super) mod flame;
pub(super) mod header;
pub(super) mod memory;
pub(super) mod notes;
pub(super) mod regions;
pub(super) mod remedies;
pub(super) mod starts;
pub(super) mod timeline;
