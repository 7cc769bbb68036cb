//! The kernels as CUDA C, and the PTX of them that travels inside this program.
//!
//! The PTX is made for an old architecture, since drivers compile PTX for devices
//! that are newer than it; a driver must be no older than the NVRTC that made it.
//! Its first line has a fingerprint of the source that it was made from, so a test
//! sees when the two no longer belong together.

use super::nvrtc::Nvrtc;
use crate::{KERNEL_SOURCE, Result};

/// The PTX, with the NUL that ends it.
pub(super) const EMBEDDED: &str = concat!(include_str!("../../kernels/preheat.ptx"), "\0");

/// Maxwell, the oldest that NVRTC 11 compiles for without complaint.
const ARCHITECTURE: i32 = 52;

/// What the words of the common source mean in CUDA C.
const PRELUDE: &str = "\
#define KERNEL extern \"C\" __global__
#define GLOBAL
#define GLOBAL_ID ((int)(blockIdx.x * blockDim.x + threadIdx.x))
";

/// All kernels as CUDA C.
pub(super) fn program() -> String {
    [PRELUDE, KERNEL_SOURCE].concat()
}

/// The PTX to embed, from the NVRTC of this machine.
pub(super) fn make() -> Result<String> {
    let nvrtc = Nvrtc::find(|nvrtc| nvrtc.supported().contains(&ARCHITECTURE))?;
    let (major, minor) = nvrtc.version();
    let ptx = nvrtc.to_ptx(&program(), ARCHITECTURE)?;
    let ptx = String::from_utf8_lossy(&ptx);
    let code = ptx
        .trim_end_matches('\0')
        .lines()
        // Comments name the compiler's build; nothing of the machine is to remain.
        .filter(|line| !line.starts_with("//") && !line.trim().is_empty())
        .fold(String::new(), |all, line| all + line + "\n");
    let head = format!("{}, by NVRTC {major}.{minor}", head());
    Ok(format!("{head}\n{code}"))
}

/// How the first line begins.
fn head() -> String {
    format!("// Made from preheat.c {:016x}", fingerprint(&program()))
}

/// FNV-1a, 64 bits.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KernelName;

    #[test]
    fn the_fingerprint_is_fnv_1a() {
        assert_eq!(fingerprint(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fingerprint("a"), 0xaf63_dc4c_8601_ec8c);
    }

    #[test]
    fn the_embedded_ptx_is_that_of_the_current_source() {
        assert!(
            EMBEDDED.starts_with(&head()),
            "kernels/preheat.ptx is stale: see kernels/README.md for how to make it anew"
        );
    }

    #[test]
    fn the_embedded_ptx_has_every_kernel_and_names_no_place() {
        for name in KernelName::ALL {
            let entry = format!(".visible .entry {}(", name.as_str());
            assert!(EMBEDDED.contains(&entry), "{entry}");
        }
        assert!(EMBEDDED.contains(&format!(".target sm_{ARCHITECTURE}")));
        assert!(!EMBEDDED.contains(".file") && !EMBEDDED.contains("/home"));
    }
}
