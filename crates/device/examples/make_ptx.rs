//! Regenerates `kernels/preheat.ptx`; see `kernels/README.md`.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/preheat.ptx");
    let made = preheat_device::cuda::make_ptx()
        .map_err(|error| error.to_string())
        .and_then(|ptx| std::fs::write(&target, ptx).map_err(|error| error.to_string()));
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("make_ptx: {error}");
            ExitCode::FAILURE
        }
    }
}
