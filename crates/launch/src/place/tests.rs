//! Placing into directories in every condition.

use super::*;

/// A directory for one test, gone with it.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let name = format!(
            "preheat-place-{name}-{}-{}",
            std::process::id(),
            clock::now()
        );
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).expect("a directory");
        Place(path)
    }

    fn cache(&self) -> PathBuf {
        self.0.join("cache")
    }

    fn place(&self) -> Placed {
        place_in(Some(&self.cache()), std::slice::from_ref(&self.0)).expect("it is placed")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn is_whole(placed: &Placed) {
    assert_eq!(fs::read(&placed.shim).expect("the library"), SHIM);
    let python = placed.python.join("sitecustomize.py");
    assert_eq!(fs::read(python).expect("the module"), SITECUSTOMIZE);
    let mode = fs::metadata(&placed.directory).expect("it is there").mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn it_is_placed_once_and_found_again() {
    let place = Place::new("once");
    let first = place.place();
    is_whole(&first);
    assert!(first.directory.starts_with(place.cache()));
    let inode = fs::metadata(&first.shim).expect("it is there").ino();
    let again = place.place();
    assert_eq!(again.shim, first.shim);
    assert_eq!(fs::metadata(&again.shim).expect("still").ino(), inode);
}

#[test]
fn what_was_tampered_with_or_cut_is_replaced() {
    let place = Place::new("tampered");
    let placed = place.place();
    fs::write(&placed.shim, &SHIM[..SHIM.len() / 2]).expect("cut");
    is_whole(&place.place());
    let mut other = SHIM.to_vec();
    other[SHIM.len() / 2] ^= 1;
    fs::write(&placed.shim, other).expect("one bit");
    is_whole(&place.place());
    let elsewhere = place.0.join("elsewhere");
    fs::write(&elsewhere, SHIM).expect("a copy");
    fs::remove_file(&placed.shim).expect("gone");
    std::os::unix::fs::symlink(&elsewhere, &placed.shim).expect("a link");
    is_whole(&place.place());
    let is = fs::symlink_metadata(&placed.shim).expect("it is there");
    assert!(is.is_file());
}

#[test]
fn a_cache_that_is_a_link_or_no_directory_is_not_used() {
    let place = Place::new("link");
    fs::create_dir(place.cache()).expect("a cache");
    let elsewhere = place.0.join("elsewhere");
    fs::create_dir(&elsewhere).expect("another directory");
    std::os::unix::fs::symlink(&elsewhere, place.cache().join("preheat")).expect("a link");
    let placed = place.place();
    is_whole(&placed);
    assert!(!placed.directory.starts_with(place.cache()));
    assert_eq!(fs::read_dir(&elsewhere).expect("it").count(), 0);
    let directory = placed.directory.clone();
    drop(placed);
    assert!(!directory.exists(), "a fallback goes with the run");

    fs::remove_file(place.cache().join("preheat")).expect("the link is gone");
    fs::write(place.cache().join("preheat"), "a file").expect("a file");
    assert!(!place.place().directory.starts_with(place.cache()));
}

#[test]
fn a_loose_directory_is_made_private() {
    let place = Place::new("loose");
    let ours = place.cache().join("preheat");
    fs::create_dir_all(&ours).expect("ours");
    fs::set_permissions(&ours, Permissions::from_mode(0o777)).expect("loose");
    is_whole(&place.place());
    assert_eq!(fs::metadata(&ours).expect("it").mode() & 0o777, 0o700);
}

#[test]
fn paths_that_the_loader_cannot_be_told_are_not_used() {
    let place = Place::new("separators");
    let spaced = place.0.join("with space");
    let placed =
        place_in(Some(&spaced), std::slice::from_ref(&place.0)).expect("the fallback takes it");
    assert!(!placed.directory.starts_with(&spaced));
    let colon = place.0.join("a:b");
    let error = place_in(Some(&spaced), &[colon]).expect_err("nowhere to go");
    assert_eq!(error.exit_code(), 125);
    assert!(error.to_string().contains("XDG_CACHE_HOME"), "{error}");
}

#[test]
fn other_versions_go_when_unused_for_long() {
    let place = Place::new("old");
    place.place();
    let ours = place.cache().join("preheat");
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
    place.place();
    assert!(!old.exists() && recent.exists() && other.exists());
}

#[test]
fn the_cache_is_where_the_user_has_it() {
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
