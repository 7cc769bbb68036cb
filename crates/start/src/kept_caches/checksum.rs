//! The checksum that detects damaged bundles: XXH64, which is fast, and which `xxhsum -H64`
//! computes too. It does not protect against deliberate changes.

use std::hash::Hasher;

use twox_hash::XxHash64;

/// A checksum that is computed incrementally.
#[derive(Clone, Debug)]
pub(super) struct Checksum(XxHash64);

impl Checksum {
    pub(super) fn new() -> Checksum {
        Checksum(XxHash64::with_seed(0))
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// The value in hexadecimal.
    pub(super) fn digits(&self) -> String {
        format!("{:016x}", self.value())
    }

    pub(super) fn value(&self) -> u64 {
        self.0.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_match_the_reference_implementation() {
        // From `xxhsum -H64`.
        for (text, value) in [
            ("", 0xef46_db37_51d8_e999),
            ("a", 0xd24e_c4f1_a98c_6e5b),
            (
                "Nobody inspects the spammish repetition",
                0xfbce_a83c_8a37_8bf1,
            ),
        ] {
            let mut sum = Checksum::new();
            sum.add(text.as_bytes());
            assert_eq!(sum.value(), value, "{text}");
        }
    }
}
