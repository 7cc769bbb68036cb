//! XXH64, to detect damaged bundles. It is fast, and `xxhsum -H64` computes the same value.
//! It does not protect against deliberate changes.
//!
//! <https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>

const P1: u64 = 0x9E37_79B1_85EB_CA87;
const P2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const P3: u64 = 0x1656_67B1_9E37_79F9;
const P4: u64 = 0x85EB_CA77_C2B2_AE63;
const P5: u64 = 0x27D4_EB2F_1656_67C5;

/// A checksum that is computed incrementally.
#[derive(Clone, Debug)]
pub(super) struct Checksum {
    lanes: [u64; 4],
    /// Bytes that do not fill a stripe yet.
    rest: [u8; 32],
    held: usize,
    length: u64,
}

impl Checksum {
    pub(super) fn new() -> Checksum {
        Checksum {
            lanes: [P1.wrapping_add(P2), P2, 0, 0u64.wrapping_sub(P1)],
            rest: [0; 32],
            held: 0,
            length: 0,
        }
    }

    pub(super) fn add(&mut self, mut bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if self.held > 0 {
            let copied = bytes.len().min(32 - self.held);
            self.rest[self.held..self.held + copied].copy_from_slice(&bytes[..copied]);
            self.held += copied;
            bytes = &bytes[copied..];
            if self.held < 32 {
                return;
            }
            let stripe = self.rest;
            self.stripe(&stripe);
            self.held = 0;
        }
        let stripes = bytes.chunks_exact(32);
        let rest = stripes.remainder();
        for stripe in stripes {
            self.stripe(stripe);
        }
        self.rest[..rest.len()].copy_from_slice(rest);
        self.held = rest.len();
    }

    fn stripe(&mut self, stripe: &[u8]) {
        for (lane, word) in self.lanes.iter_mut().zip(stripe.chunks_exact(8)) {
            *lane = round(*lane, little(word));
        }
    }

    /// The value in hexadecimal.
    pub(super) fn digits(&self) -> String {
        format!("{:016x}", self.value())
    }

    pub(super) fn value(&self) -> u64 {
        let [a, b, c, d] = self.lanes;
        let mut hash = if self.length >= 32 {
            let sum = a
                .rotate_left(1)
                .wrapping_add(b.rotate_left(7))
                .wrapping_add(c.rotate_left(12))
                .wrapping_add(d.rotate_left(18));
            self.lanes.iter().fold(sum, |hash, &lane| {
                (hash ^ round(0, lane)).wrapping_mul(P1).wrapping_add(P4)
            })
        } else {
            P5
        };
        hash = hash.wrapping_add(self.length);
        let words = self.rest[..self.held].chunks_exact(8);
        let mut rest = words.remainder();
        for word in words {
            hash ^= round(0, little(word));
            hash = hash.rotate_left(27).wrapping_mul(P1).wrapping_add(P4);
        }
        if rest.len() >= 4 {
            hash ^= little(&rest[..4]).wrapping_mul(P1);
            hash = hash.rotate_left(23).wrapping_mul(P2).wrapping_add(P3);
            rest = &rest[4..];
        }
        for &byte in rest {
            hash ^= u64::from(byte).wrapping_mul(P5);
            hash = hash.rotate_left(11).wrapping_mul(P1);
        }
        hash = (hash ^ (hash >> 33)).wrapping_mul(P2);
        hash = (hash ^ (hash >> 29)).wrapping_mul(P3);
        hash ^ (hash >> 32)
    }
}

fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(P2))
        .rotate_left(31)
        .wrapping_mul(P1)
}

/// A little-endian number of at most eight bytes.
fn little(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> u64 {
        let mut sum = Checksum::new();
        sum.add(bytes);
        sum.value()
    }

    #[test]
    fn values_match_the_reference_implementation() {
        // From `xxhsum -H64`.
        assert_eq!(of(b""), 0xef46_db37_51d8_e999);
        assert_eq!(of(b"a"), 0xd24e_c4f1_a98c_6e5b);
        assert_eq!(of(b"abc"), 0x44bc_2cf5_ad77_0999);
        assert_eq!(
            of(b"Nobody inspects the spammish repetition"),
            0xfbce_a83c_8a37_8bf1
        );
    }

    #[test]
    fn the_value_does_not_depend_on_how_the_input_is_split() {
        let bytes: Vec<u8> = (0..200u8).collect();
        for cut in 0..bytes.len() {
            let mut sum = Checksum::new();
            sum.add(&bytes[..cut]);
            sum.add(&bytes[cut..]);
            assert_eq!(sum.value(), of(&bytes), "cut at {cut}");
        }
    }
}
