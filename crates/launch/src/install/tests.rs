//! Installation into directories in various states.

use super::*;

/// A directory for one test, which removes it at its end.
struct Scratch(preheat_host::Scratch);

impl Scratch {
    fn new(name: &str) -> Scratch {
        Scratch(preheat_host::Scratch::new(name).expect("a directory"))
    }

    fn cache(&self) -> PathBuf {
        self.0.path().join("cache")
    }

    fn install(&self) -> Installed {
        install_in(Some(&self.cache()), &[self.0.path().to_owned()]).expect("it is installed")
    }
}

fn is_whole(installed: &Installed) {
    assert_eq!(fs::read(&installed.shim).expect("the library"), SHIM);
    let python = installed.python.join("sitecustomize.py");
    assert_eq!(fs::read(python).expect("the module"), SITECUSTOMIZE);
    let mode = fs::metadata(&installed.directory)
        .expect("it exists")
        .mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn it_is_installed_once_and_reused() {
    let scratch = Scratch::new("once");
    let first = scratch.install();
    is_whole(&first);
    assert!(first.directory.starts_with(scratch.cache()));
    let inode = fs::metadata(&first.shim).expect("it exists").ino();
    let again = scratch.install();
    assert_eq!(again.shim, first.shim);
    assert_eq!(fs::metadata(&again.shim).expect("still").ino(), inode);
}

#[test]
fn only_a_loader_that_expands_lib_finds_the_library() {
    let scratch = Scratch::new("expanded");
    let installed = scratch.install();
    assert_eq!(
        installed.preload,
        installed.directory.join("$LIB/libpreheat.so")
    );
    assert!(!installed.preload.exists());
    assert!(loader_finds(&installed.preload).expect("it is asked"));
    assert!(!loader_finds(&installed.directory.join("$LIB/other.so")).expect("it is asked"));
    // A link to something else is replaced.
    let link = installed.directory.join("lib64/libpreheat.so");
    fs::remove_file(&link).expect("gone");
    symlink("/dev/null", &link).expect("a link");
    scratch.install();
    assert_eq!(fs::read(&link).expect("the library"), SHIM);
}

#[test]
fn modified_or_truncated_files_are_replaced() {
    let scratch = Scratch::new("tampered");
    let installed = scratch.install();
    fs::write(&installed.shim, &SHIM[..SHIM.len() / 2]).expect("cut");
    is_whole(&scratch.install());
    let mut other = SHIM.to_vec();
    other[SHIM.len() / 2] ^= 1;
    fs::write(&installed.shim, other).expect("a modified file");
    is_whole(&scratch.install());
    let elsewhere = scratch.0.path().join("elsewhere");
    fs::write(&elsewhere, SHIM).expect("a copy");
    fs::remove_file(&installed.shim).expect("gone");
    symlink(&elsewhere, &installed.shim).expect("a link");
    is_whole(&scratch.install());
    let metadata = fs::symlink_metadata(&installed.shim).expect("it exists");
    assert!(metadata.is_file());
}

#[test]
fn a_cache_that_is_a_link_or_a_file_is_not_used() {
    let scratch = Scratch::new("link");
    fs::create_dir(scratch.cache()).expect("a cache");
    let elsewhere = scratch.0.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("another directory");
    symlink(&elsewhere, scratch.cache().join("preheat")).expect("a link");
    let installed = scratch.install();
    is_whole(&installed);
    assert!(!installed.directory.starts_with(scratch.cache()));
    assert_eq!(fs::read_dir(&elsewhere).expect("it exists").count(), 0);
    let directory = installed.directory.clone();
    drop(installed);
    assert!(!directory.exists(), "a fallback is removed after the run");

    fs::remove_file(scratch.cache().join("preheat")).expect("the link is gone");
    fs::write(scratch.cache().join("preheat"), "a file").expect("a file");
    assert!(!scratch.install().directory.starts_with(scratch.cache()));
}

#[test]
fn a_public_directory_is_made_private() {
    let scratch = Scratch::new("loose");
    let ours = scratch.cache().join("preheat");
    fs::create_dir_all(&ours).expect("ours");
    fs::set_permissions(&ours, Permissions::from_mode(0o777)).expect("public permissions");
    is_whole(&scratch.install());
    assert_eq!(
        fs::metadata(&ours).expect("it exists").mode() & 0o777,
        0o700
    );
}

#[test]
fn paths_that_ld_preload_cannot_contain_are_not_used() {
    let scratch = Scratch::new("separators");
    let spaced = scratch.0.path().join("with space");
    let installed =
        install_in(Some(&spaced), &[scratch.0.path().to_owned()]).expect("the fallback is used");
    assert!(!installed.directory.starts_with(&spaced));
    let colon = scratch.0.path().join("a:b");
    let error = install_in(Some(&spaced), &[colon]).expect_err("nowhere to go");
    assert_eq!(error.exit_code(), 125);
    assert!(error.to_string().contains("XDG_CACHE_HOME"), "{error}");
}

#[test]
fn other_versions_are_removed_after_a_month() {
    let scratch = Scratch::new("old");
    scratch.install();
    let ours = scratch.cache().join("preheat");
    let aged = |name: &str, days: u64| {
        let path = ours.join(name);
        fs::create_dir(&path).expect("another version");
        let time = SystemTime::now() - Duration::from_secs(days * 24 * 3600);
        let directory = File::open(&path).expect("it opens");
        directory.set_modified(time).expect("it ages");
        path
    };
    let old = aged("recorder-0000000000000000", 31);
    let recent = aged("recorder-0000000000000001", 29);
    let other = aged("something-else", 400);
    scratch.install();
    assert!(!old.exists() && recent.exists() && other.exists());
}

#[test]
fn the_cache_directory_follows_xdg() {
    let with = |xdg: Option<&str>, home: Option<&str>| {
        cache_home(|name| match name {
            "XDG_CACHE_HOME" => xdg.map(OsString::from),
            _ => home.map(OsString::from),
        })
    };
    assert_eq!(with(Some("/x"), Some("/h")), Some("/x".into()));
    assert_eq!(with(Some(""), Some("/h")), Some("/h/.cache".into()));
    assert_eq!(with(Some("x"), Some("/h")), Some("/h/.cache".into()));
    assert_eq!(with(None, None), None);
}
