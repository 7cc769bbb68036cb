//! The remedy, and bundles from packing to unpacking, on real directories.

mod hostile;

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::*;
use crate::context::tests::sample;
use crate::observations::Observations;

/// A directory for one test, removed at its end.
struct Scratch(preheat_host::Scratch);

impl Scratch {
    fn new() -> Scratch {
        Scratch(preheat_host::Scratch::new("kept").expect("a directory for the test"))
    }

    fn join(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Creates a file with a fixed mtime.
    fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("it is made");
        fs::write(&path, bytes).expect("it is written");
        let time = SystemTime::UNIX_EPOCH + Duration::new(1_600_000_000, 123_456_789);
        let file = File::options().write(true).open(&path).expect("it opens");
        file.set_modified(time).expect("it is ours");
        path
    }

    /// Names and contents of all files below a directory.
    fn files(&self, below: &str) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut directories = vec![self.join(below)];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten() {
                let path = entry.expect("an entry").path();
                match path.is_dir() {
                    true => directories.push(path),
                    false => found.push((path.clone(), fs::read(&path).expect("it is read"))),
                }
            }
        }
        found.sort();
        found
    }
}

fn on(_: &Step<'_>) -> bool {
    true
}

fn here() -> Machine {
    Machine::here(None)
}

/// A cache directory with files of several caches.
fn filled() -> Scratch {
    let scratch = Scratch::new();
    let cache_dir = scratch.join("place");
    scratch.put("place/cuda_cache_path/index", b"index");
    scratch.put("place/cuda_cache_path/1/2/abc", &[7; 1500]);
    let group = format!("{{\"child_paths\": \"{}/x\"}}", cache_dir.display());
    scratch.put("place/triton_cache_dir/KEY/__grp__k.json", group.as_bytes());
    let so = scratch.put("place/torchinductor_cache_dir/ab/cab.so", &vec![1; 3 << 20]);
    fs::set_permissions(&so, fs::Permissions::from_mode(0o4777)).expect("it is ours");
    let long = format!("place/jax_compilation_cache_dir/jit_é-{}", "f".repeat(200));
    scratch.put(&long, b"");
    scratch
}

fn packed(scratch: &Scratch) -> Packed {
    let done = pack(
        &scratch.join("place"),
        &scratch.join("b"),
        "now",
        &here(),
        &mut on,
    );
    done.expect("it is packed")
}

fn unpacked(
    scratch: &Scratch,
    named: Option<&Path>,
    here: &Machine,
) -> Result<Unpacked, BundleError> {
    let mut file = File::open(scratch.join("b")).expect("it exists");
    unpack(&mut file, named, here, &mut on)
}

#[test]
fn caches_of_an_observed_program_are_kept_unless_the_user_set_them() {
    let scratch = Scratch::new();
    let home = scratch.0.path().to_str().expect("text");
    let observed = Observations {
        caches: vec![
            "TRITON_CACHE_DIR".into(),
            "JAX_COMPILATION_CACHE_DIR".into(),
        ],
        ..Observations::default()
    };
    let mut changes = Changes::default();
    let start = sample(
        &[("XDG_CACHE_HOME", home), ("TRITON_CACHE_DIR", "/mine")],
        Some(observed.clone()),
    );
    assert_eq!(apply(&start.context(), &mut changes), Ok(()));
    let directory = scratch.join("preheat/caches/jax_compilation_cache_dir");
    assert!(directory.is_dir());
    assert_eq!(
        changes.variables,
        [
            ("JAX_COMPILATION_CACHE_DIR", directory.into_os_string()),
            ("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0".into()),
        ]
    );
    let all = [
        ("HOME", home),
        ("TRITON_CACHE_DIR", "/a"),
        ("JAX_COMPILATION_CACHE_DIR", "/b"),
    ];
    let why = apply(
        &sample(&all, Some(observed)).context(),
        &mut Changes::default(),
    );
    assert!(why.is_err_and(|why| why.to_string().contains("already set")));
    for (observed, word) in [
        (None, "not been measured"),
        (Some(Observations::default()), "did not compile"),
    ] {
        let start = sample(&[("HOME", home)], observed);
        let why = apply(&start.context(), &mut Changes::default()).expect_err("it does not apply");
        assert!(why.to_string().contains(word), "{why}");
    }
}

#[test]
fn a_named_directory_is_used_for_all_caches_of_any_program() {
    let scratch = Scratch::new();
    let home = scratch.0.path().to_str().expect("text");
    let mut changes = Changes::default();
    let start = sample(&[(VARIABLE, home), ("CUDA_CACHE_MAXSIZE", "1")], None);
    assert_eq!(apply(&start.context(), &mut changes), Ok(()));
    let names: Vec<_> = changes.variables.iter().map(|(name, _)| *name).collect();
    assert!(
        portability::kept().all(|cache| names.contains(&cache.variable)),
        "{names:?}"
    );
    for other in ["CUDA_CACHE_MAXSIZE", "TORCH_EXTENSIONS_DIR"] {
        assert!(!names.contains(&other), "{names:?}");
    }
}

#[test]
fn packing_and_unpacking_preserves_files() {
    let scratch = filled();
    let before = scratch.files("place");
    let done = packed(&scratch);
    assert_eq!((done.files, done.notes.len()), (5, 0));
    assert_eq!(done.titles, ["CUDA driver", "JAX", "Inductor", "Triton"]);
    assert_eq!(
        files_and_bytes(&scratch.join("place")).expect("it exists"),
        (5, done.bytes)
    );
    fs::rename(scratch.join("place"), scratch.join("old")).expect("it moves");
    let back = unpacked(&scratch, None, &here()).expect("it is unpacked");
    assert_eq!((back.files, back.bytes, back.there), (5, done.bytes, 0));
    assert_eq!(back.notes, [""; 0]);
    assert_eq!(scratch.files("place"), before);
    for (path, _) in &before {
        let metadata = fs::metadata(path).expect("it exists");
        assert_eq!(
            (metadata.mtime(), metadata.mtime_nsec()),
            (1_600_000_000, 123_456_789)
        );
        assert_eq!(metadata.mode() & 0o7022, 0, "{path:?}");
    }
    let so = scratch.join("place/torchinductor_cache_dir/ab/cab.so");
    assert_eq!(fs::metadata(so).expect("it exists").mode() & 0o7777, 0o755);
    // Packing is deterministic.
    let first = fs::read(scratch.join("b")).expect("it exists");
    packed(&scratch);
    assert!(first == fs::read(scratch.join("b")).expect("it exists"));
}

#[test]
fn existing_files_are_kept() {
    let scratch = filled();
    packed(&scratch);
    let cache_dir = scratch.join("place");
    fs::remove_dir_all(&cache_dir).expect("it goes");
    scratch.put("place/triton_cache_dir/KEY/__grp__k.json", b"newer");
    scratch.put("place/cuda_cache_path/index", b"of others");
    // Left over by a killed process.
    scratch.put("place/.unpack-1/x", b"");
    let back = unpacked(&scratch, None, &here()).expect("it is unpacked");
    // The index of the CUDA cache would not include entries that are added next to it.
    assert_eq!((back.files, back.there), (2, 3));
    let read = |name: &str| fs::read(cache_dir.join(name)).expect("it exists");
    assert_eq!(read("triton_cache_dir/KEY/__grp__k.json"), b"newer");
    assert_eq!(read("cuda_cache_path/index"), b"of others");
    assert!(!cache_dir.join("cuda_cache_path/1").exists());
    assert!(!cache_dir.join(".unpack-1").exists());
}

#[test]
fn unpacking_elsewhere_notes_entries_that_will_not_be_found() {
    let scratch = filled();
    packed(&scratch);
    let other = scratch.join("other");
    let back = unpacked(&scratch, Some(&other), &here()).expect("it is unpacked");
    assert_eq!((back.cache_dir, back.files), (other, 5));
    let notes = back.notes.join("\n");
    assert!(
        notes.contains("is mentioned in 1 file of Triton"),
        "{notes}"
    );
    assert!(notes.contains("JAX finds"), "{notes}");
}

#[test]
fn code_for_a_processor_with_more_instructions_is_left_out() {
    let scratch = filled();
    let mut larger = here();
    larger.instructions.push("avx9999".into());
    let to = scratch.join("b");
    pack(&scratch.join("place"), &to, "now", &larger, &mut on).expect("it is packed");
    fs::remove_dir_all(scratch.join("place")).expect("it goes");
    let back = unpacked(&scratch, None, &here()).expect("it is unpacked");
    assert_eq!(back.files, 4);
    assert!(back.notes[0].contains("avx9999"), "{:?}", back.notes);
    assert!(!scratch.join("place/torchinductor_cache_dir").exists());
}

#[test]
fn links_and_locks_are_not_packed() {
    let scratch = filled();
    symlink("/etc/passwd", scratch.join("place/triton_cache_dir/link")).expect("a link");
    scratch.put("place/torchinductor_cache_dir/locks/x.lock", b"");
    scratch.put("place/torch_extensions_dir/mine/mine.so", b"");
    scratch.put("place/somebody_elses/file", b"");
    let done = packed(&scratch);
    assert_eq!(done.files, 5);
    assert!(
        done.notes[0].contains("1 that are not regular"),
        "{:?}",
        done.notes
    );
    let nothing = pack(
        &scratch.join("none"),
        &scratch.join("c"),
        "now",
        &here(),
        &mut on,
    );
    assert!(
        matches!(nothing, Err(BundleError::Refused(_))),
        "{nothing:?}"
    );
}

#[test]
fn an_interruption_leaves_nothing_behind() {
    let scratch = filled();
    let stop = &mut |step: &Step<'_>| step.done < 3;
    let to = scratch.join("b");
    let ended = pack(&scratch.join("place"), &to, "now", &here(), stop);
    assert_eq!(ended, Err(BundleError::Interrupted));
    assert_eq!(
        fs::read_dir(scratch.0.path()).expect("it exists").count(),
        1
    );
    packed(&scratch);
    fs::remove_dir_all(scratch.join("place")).expect("it goes");
    let mut file = File::open(to).expect("it exists");
    let ended = unpack(&mut file, None, &here(), stop);
    assert_eq!(ended, Err(BundleError::Interrupted));
    assert!(!scratch.join("place").exists());
}

#[test]
fn files_that_change_while_packing_are_left_out() {
    let scratch = filled();
    let so = scratch.join("place/torchinductor_cache_dir/ab/cab.so");
    let writes = &mut |step: &Step<'_>| {
        if so.ends_with(step.path) {
            fs::write(&so, b"another").expect("it is ours");
        }
        true
    };
    let done = pack(
        &scratch.join("place"),
        &scratch.join("b"),
        "now",
        &here(),
        writes,
    );
    let done = done.expect("it is packed");
    assert_eq!(done.files, 4);
    assert!(
        done.notes[0].contains("1 file that changed"),
        "{:?}",
        done.notes
    );
    fs::remove_dir_all(scratch.join("place")).expect("it goes");
    let back = unpacked(&scratch, None, &here()).expect("it is whole");
    assert_eq!(back.files, 4);
    assert!(!so.exists());
}
