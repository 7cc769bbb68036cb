//! Tells the linker what the preloaded library must be like.
//!
//! Its constructor runs before all others, so that what those cost can be seen. It is
//! never unloaded: the process calls it at its end, whoever has loaded it. And it needs
//! nothing but the C library: another library that it needed would be loaded into every
//! program, with the search path of the program that happens to be recorded, and shadow
//! the one that the program brings along.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,initfirst");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    if let Some(directory) = unwinder() {
        println!("cargo:rustc-cdylib-link-arg=-L{}", directory.display());
        // The static unwinder is made for the C library of this machine, and calls this
        // function; where the program runs it may not have it. See src/loader/find.rs.
        println!("cargo:rustc-cdylib-link-arg=-Wl,--defsym=_dl_find_object=preheat_find_object");
    }
}

/// The standard library asks for the unwinder as `-lgcc_s`. A directory where the linker
/// finds under that name the compiler's static one, which has the same functions.
fn unwinder() -> Option<PathBuf> {
    let linker = env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let asked = Command::new(linker)
        .arg("-print-file-name=libgcc_eh.a")
        .output()
        .ok()?;
    let found = String::from_utf8(asked.stdout).ok()?;
    // Where there is none, the compiler answers with the bare name.
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
