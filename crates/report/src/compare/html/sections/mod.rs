//! The sections of the page, one file each. A section without data adds nothing.

pub(super) mod causes;
pub(super) mod header;
pub(super) mod lab;
pub(super) mod notes;
pub(super) mod quantities;
pub(super) mod starts;
pub(super) mod timelines;
