//! Builds the recorder, which is embedded in the binary.
//!
//! A library that is loaded into other programs is built separately from the program that
//! contains it: with a different profile (no unwinding, no symbols) and as a `cdylib`,
//! which cargo does not yet support for dependencies. So this script runs a second cargo
//! with a separate target directory below `OUT_DIR`. It never waits for a lock of the first
//! one, and `cargo build`, `cargo run`, `cargo install` and `cargo clippy` all work, also
//! offline.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

/// The file name of the embedded library.
const EMBEDDED: &str = "libpreheat.so";

fn main() {
    if let Err(sentence) = build() {
        eprintln!("{sentence}");
        exit(1);
    }
}

fn build() -> Result<(), String> {
    let here = variable("CARGO_MANIFEST_DIR")?;
    let out = variable("OUT_DIR")?;
    let target = env::var("TARGET").map_err(|_| "cargo did not set TARGET".to_owned())?;
    let host = env::var("HOST").unwrap_or_else(|_| target.clone());
    let workspace = here
        .ancestors()
        .nth(2)
        .ok_or("this crate is not in the preheat workspace")?;
    for input in [
        "crates/shim/src",
        "crates/shim/Cargo.toml",
        "crates/shim/build.rs",
        "crates/wire/src",
        "crates/wire/Cargo.toml",
        "Cargo.toml",
        "Cargo.lock",
    ] {
        // A missing file would run this script at every build.
        let input = workspace.join(input);
        if input.exists() {
            println!("cargo:rerun-if-changed={}", input.display());
        }
    }
    println!("cargo:rerun-if-changed=build.rs");

    let directory = out.join("shim");
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["build", "--quiet", "--package", "preheat-shim", "--lib"])
        .args(["--profile", "shim"])
        .arg("--manifest-path")
        .arg(workspace.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&directory)
        // Set by `cargo clippy`; it would check the recorder instead of building it.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("CARGO_BUILD_TARGET_DIR")
        .env_remove("CARGO_BUILD_BUILD_DIR")
        .env_remove("CARGO_BUILD_TARGET");
    if workspace.join("Cargo.lock").exists() {
        cargo.arg("--locked");
    }
    let mut built = directory.clone();
    if target != host {
        cargo.args(["--target", &target]);
        built.push(&target);
    }
    built.push("shim/libpreheat_shim.so");
    let status = cargo.status().map_err(|why| {
        format!("the recorder (preheat-shim) cannot be built: cannot run {cargo:?}: {why}")
    })?;
    if !status.success() {
        return Err(format!(
            "the recorder (preheat-shim) could not be built ({status}); `cargo build -p preheat-shim --profile shim` in {} shows why",
            workspace.display()
        ));
    }
    copy(&built, &out.join(EMBEDDED))
}

fn variable(name: &str) -> Result<PathBuf, String> {
    env::var_os(name)
        .map(PathBuf::from)
        .ok_or_else(|| format!("cargo did not set {name}"))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    std::fs::copy(from, to).map(|_| ()).map_err(|why| {
        format!(
            "the recorder was built, but {} cannot be copied to {}: {why}",
            from.display(),
            to.display()
        )
    })
}
