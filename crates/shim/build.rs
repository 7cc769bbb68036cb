//! Asks the linker to mark the library so that the loader runs its constructor before
//! all others: what those cost can then be seen.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,initfirst");
    println!("cargo:rerun-if-changed=build.rs");
}
