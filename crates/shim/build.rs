//! Linker settings for the preloaded library.
//!
//! Its constructor runs before all others, so that their cost can be measured. It is never
//! unloaded: the process calls it at its end, no matter what loaded it. And it depends only
//! on the C library: any other dependency would be loaded into every program, using the
//! search path of the recorded program, and would shadow the version that the program
//! ships.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,initfirst");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    if let Some(directory) = unwinder() {
        println!("cargo:rustc-cdylib-link-arg=-L{}", directory.display());
        // The static unwinder is built for the C library of this machine and calls this
        // function, which the C library on the target machine may lack. See
        // src/loader/objects.rs.
        println!("cargo:rustc-cdylib-link-arg=-Wl,--defsym=_dl_find_object=preheat_find_object");
    }
}

/// The standard library links the unwinder as `-lgcc_s`. Returns a directory in which this
/// name refers to the compiler's static unwinder, which has the same functions.
fn unwinder() -> Option<PathBuf> {
    let linker = env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let asked = Command::new(linker)
        .arg("-print-file-name=libgcc_eh.a")
        .output()
        .ok()?;
    let found = String::from_utf8(asked.stdout).ok()?;
    // If there is none, the compiler prints the bare name.
    if !Path::new(found.trim()).is_absolute() {
        println!("cargo:warning=no libgcc_eh.a: the recorder will need libgcc_s.so.1");
        return None;
    }
    let directory = PathBuf::from(env::var_os("OUT_DIR")?).join("unwinder");
    std::fs::create_dir_all(&directory).ok()?;
    let script = "GROUP ( -lgcc_eh -lgcc )\n";
    std::fs::write(directory.join("libgcc_s.so"), script).ok()?;
    Some(directory)
}
