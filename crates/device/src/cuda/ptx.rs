//! The kernels as CUDA C, and their embedded PTX.
//!
//! The PTX targets an old architecture, since drivers compile PTX for newer devices; a
//! driver must be at least as new as the NVRTC that generated it. Its first line has a
//! fingerprint of its source, so that a test detects stale PTX.

use twox_hash::XxHash64;

use super::nvrtc::Nvrtc;
use crate::{KERNEL_SOURCE, Result};

/// The embedded PTX, NUL-terminated.
pub(super) const EMBEDDED: &str = concat!(include_str!("../../kernels/preheat.ptx"), "\0");

/// Maxwell, the oldest architecture that NVRTC 11 supports without warnings.
const ARCHITECTURE: i32 = 52;

/// Defines the macros of the common source for CUDA C.
const PRELUDE: &str = "\
#define KERNEL extern \"C\" __global__
#define GLOBAL
#define GLOBAL_ID ((int)(blockIdx.x * blockDim.x + threadIdx.x))
";

/// All kernels as CUDA C.
pub(super) fn program() -> String {
    [PRELUDE, KERNEL_SOURCE].concat()
}

/// Generates the PTX to embed, with this machine's NVRTC.
pub(super) fn make() -> Result<String> {
    let nvrtc = Nvrtc::find(|nvrtc| nvrtc.supported().contains(&ARCHITECTURE))?;
    let (major, minor) = nvrtc.version();
    let ptx = nvrtc.to_ptx(&program(), ARCHITECTURE)?;
    let ptx = String::from_utf8_lossy(&ptx);
    let code = ptx
        .trim_end_matches('\0')
        .lines()
        // Comments name the compiler build; nothing machine-specific should remain.
        .filter(|line| !line.starts_with("//") && !line.trim().is_empty())
        .fold(String::new(), |all, line| all + line + "\n");
    let head = format!("{}, by NVRTC {major}.{minor}", head());
    Ok(format!("{head}\n{code}"))
}

/// The beginning of the first line.
fn head() -> String {
    format!(
        "// Made from preheat.c {:016x}",
        XxHash64::oneshot(0, program().as_bytes())
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KernelName;

    #[test]
    fn the_embedded_ptx_matches_the_source() {
        assert!(
            EMBEDDED.starts_with(&head()),
            "kernels/preheat.ptx is stale: see kernels/README.md for how to regenerate it"
        );
    }

    #[test]
    fn the_embedded_ptx_has_every_kernel_and_no_local_paths() {
        for name in KernelName::ALL {
            let entry = format!(".visible .entry {}(", name.as_str());
            assert!(EMBEDDED.contains(&entry), "{entry}");
        }
        assert!(EMBEDDED.contains(&format!(".target sm_{ARCHITECTURE}")));
        assert!(!EMBEDDED.contains(".file") && !EMBEDDED.contains("/home"));
    }
}
