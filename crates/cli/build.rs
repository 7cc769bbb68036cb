//! Names the commit in the version of release builds.
//!
//! Debug builds leave it out: with it, every commit would rebuild every test of this crate.
//! A source archive has the commit in [`ARCHIVED`]. `PREHEAT_COMMIT` overrides both.

use std::env;
use std::process::Command;

/// The commit and its date, which `git archive` writes here (.gitattributes).
const ARCHIVED: &str = "$Format:%H %cs$";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=PREHEAT_COMMIT");
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let chosen = env::var("PREHEAT_COMMIT").ok();
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = chosen.or_else(|| is_release.then(|| archived().or_else(commit)).flatten());
    let version = match commit.filter(|commit| !commit.is_empty()) {
        Some(commit) => format!("{version} ({commit})"),
        None => version,
    };
    println!("cargo:rustc-env=VERSION_AND_COMMIT={version}");
}

/// The commit of a source archive.
fn archived() -> Option<String> {
    let (commit, date) = ARCHIVED
        .split_once(' ')
        .filter(|_| !ARCHIVED.starts_with('$'))?;
    Some(format!("{} {date}", commit.get(..12)?))
}

/// The commit and its date, with a mark if files differ from it.
fn commit() -> Option<String> {
    // This directory is two levels below the root. Sources that were unpacked into another
    // repository have no commit.
    if git(&["rev-parse", "--show-cdup"])? != "../../" {
        return None;
    }
    // Changes whenever a commit is made or checked out.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    println!("cargo:rerun-if-changed={log}");
    let commit = git(&["log", "-1", "--format=%h %cs", "--abbrev=12"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(match changed.is_empty() {
        true => commit,
        false => format!("{commit}, modified"),
    })
}

fn git(arguments: &[&str]) -> Option<String> {
    let done = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(done.stdout).ok()?;
    done.status.success().then(|| text.trim().to_owned())
}
