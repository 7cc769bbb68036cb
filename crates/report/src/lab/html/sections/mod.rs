//! The sections of the page, one file each. A section without data adds nothing.

pub(super) mod allocation;
pub(super) mod claims;
pub(super) mod first_steady;
pub(super) mod gaps;
pub(super) mod header;
pub(super) mod iterations;
pub(super) mod memory;
pub(super) mod stages;
pub(super) mod transfer;
