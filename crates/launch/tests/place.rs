//! The command's environment, and programs that cannot be recorded.

#[path = "../../../tests/missing.rs"]
mod missing;
mod support;

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use missing::missing;
use support::{Scratch, text};

const NOTHING: &str = "int main(void) { return 0; }";

fn variable<'a>(output: &'a str, name: &str) -> Option<&'a str> {
    let mut values = output.lines().filter_map(|line| line.split_once('='));
    values.find_map(|(found, value)| (found == name).then_some(value))
}

#[test]
fn the_users_values_are_kept_after_ours() {
    let scratch = Scratch::new();
    let theirs = scratch.c("theirs.so", &["-shared", "-fPIC"], "int theirs;");
    let mut launch = scratch.launch(&["starts=1"], &["env"]);
    launch
        .env("LD_PRELOAD", &theirs)
        .env("PYTHONPATH", "/a::/b")
        .env("NVTX_INJECTION64_PATH", "/theirs");
    let output = launch.output().expect("it runs");
    let shown = text(&output.stdout);
    let preload = variable(&shown, "LD_PRELOAD").expect("it is set");
    let (shim, rest) = preload.split_once(':').expect("two libraries");
    assert_eq!(rest, theirs);
    assert!(std::path::Path::new(shim).starts_with(scratch.path()));
    let python = variable(&shown, "PYTHONPATH").expect("it is set");
    assert!(python.ends_with(":/a::/b"), "{python}");
    assert_eq!(variable(&shown, "NVTX_INJECTION64_PATH"), Some("/theirs"));
    // The loader of glibc replaces $LIB, see `install`.
    let library = shim.replace("$LIB/", "");
    assert_eq!(variable(&shown, "PREHEAT_SHIM"), Some(&*library));
    let manifest = scratch.manifest();
    assert!(manifest.notes[0].contains("NVTX"), "{:?}", manifest.notes);
    // The manifest contains the user's values.
    let was = |name: &str| {
        let found = manifest.environment.iter().find(|(found, _)| found == name);
        found.map(|(_, value)| value.as_str())
    };
    assert_eq!(was("LD_PRELOAD"), Some(theirs.as_str()));
    assert_eq!(was("PYTHONPATH"), Some("/a::/b"));
    assert_eq!(was("OPENCL_LAYERS"), None);
}

#[test]
fn an_ordinary_command_is_recorded() {
    let scratch = Scratch::new();
    scratch.output(&["starts=1"], &["true"]);
    let start = &scratch.manifest().starts[0];
    assert_eq!(start.unrecorded, None);
    let own = format!("start-1/{}-0.process", start.pid);
    assert!(scratch.recording().join(own).is_file());
}

#[test]
fn a_static_program_runs_unrecorded_and_its_children_are_recorded() {
    let scratch = Scratch::new();
    let program = scratch.c("alone", &["-static"], NOTHING);
    let output = scratch.output(&["starts=1"], &[&program]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("statically linked"));
    let why = scratch.manifest().starts[0].unrecorded.clone();
    let why = why.expect("there is a reason");
    assert!(why.contains("statically linked"), "{why}");
    assert!(why.ends_with("is only sampled from outside."), "{why}");

    let scratch = Scratch::new();
    let source = "#include <stdlib.h>\nint main(void) { return system(\"exit 0\"); }";
    let program = scratch.c("starter", &["-static"], source);
    scratch.output(&["starts=1"], &[&program]);
    let manifest = scratch.manifest();
    assert_eq!(manifest.starts[0].unrecorded, None);
    assert!(manifest.notes[0].contains("only its child processes"));
}

#[test]
fn a_program_with_privileges_runs_unrecorded() {
    let scratch = Scratch::new();
    let program = scratch.c("privileged", &[], NOTHING);
    // SAFETY: getuid has no arguments and cannot fail.
    if unsafe { libc::getuid() } != 0 {
        missing("root", "only root can give a program to another user");
        return;
    }
    std::os::unix::fs::chown(&program, Some(65534), Some(65534)).expect("root may");
    let setuid = std::fs::Permissions::from_mode(0o4755);
    std::fs::set_permissions(&program, setuid).expect("it is ours");
    let output = scratch.output(&["starts=1"], &[&program]);
    assert_eq!(output.status.code(), Some(0));
    let why = scratch.manifest().starts[0].unrecorded.clone();
    assert!(why.expect("there is a reason").contains("privileges"));
}

#[test]
fn a_program_with_a_sanitizer_runs_unrecorded() {
    let scratch = Scratch::new();
    let has = std::process::Command::new("gcc")
        .arg("-print-file-name=libasan.so")
        .output();
    if !has.is_ok_and(|has| has.stdout.starts_with(b"/")) {
        missing("libasan", "gcc has no libasan.so");
        return;
    }
    let program = scratch.c("sanitized", &["-fsanitize=address"], NOTHING);
    let output = scratch.output(&["starts=1"], &[&program]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let why = scratch.manifest().starts[0].unrecorded.clone();
    assert!(why.expect("there is a reason").contains("sanitizer"));
}

#[test]
fn a_recording_needs_an_empty_directory() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.recording()).expect("a directory");
    assert_eq!(scratch.output(&[], &["true"]).status.code(), Some(0));
    let output = scratch.output(&[], &["true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("not empty"));
}

#[test]
fn a_directory_that_cannot_be_created_is_an_error() {
    let scratch = Scratch::new();
    std::fs::write(scratch.recording(), "a file").expect("a file");
    let output = scratch.output(&[], &["sh", "-c", "echo it ran"]);
    assert_eq!(output.status.code(), Some(125));
    let complaint = text(&output.stderr);
    assert!(complaint.contains("--output"), "{complaint}");
    assert_eq!(text(&output.stdout), "");
}

#[test]
fn an_unusable_cache_is_replaced_by_a_temporary_directory() {
    let scratch = Scratch::new();
    // Root may write anywhere, but a file in place of the directory stops root, too.
    std::fs::write(scratch.path().join("cache"), "a file").expect("a file");
    let temporary = scratch.path().join("temporary");
    std::fs::create_dir(&temporary).expect("a directory");
    let mut launch = scratch.launch(&["starts=1"], &["env"]);
    let output = launch.env("TMPDIR", &temporary).output().expect("it runs");
    let shown = text(&output.stdout);
    let shim = variable(&shown, "LD_PRELOAD").expect("it is set");
    assert!(std::path::Path::new(shim).starts_with(&temporary));
    assert_eq!(std::fs::read_dir(&temporary).expect("it exists").count(), 0);
    assert_eq!(scratch.manifest().starts[0].unrecorded, None);
}

#[test]
fn modified_files_are_replaced() {
    let scratch = Scratch::new();
    scratch.output(&["starts=1"], &["true"]);
    let ours = scratch.path().join("cache/preheat");
    let mut entries = std::fs::read_dir(ours).expect("it exists");
    let placed = entries
        .next()
        .expect("one version")
        .expect("it reads")
        .path();
    // Programs that root starts may go on as another user.
    let mode = if preheat_host::user() == 0 {
        0o755
    } else {
        0o700
    };
    assert_eq!(placed.metadata().expect("it exists").mode() & 0o777, mode);
    let shim = placed.join("libpreheat.so");
    let size = shim.metadata().expect("it exists").len();
    std::fs::write(&shim, "not a library").expect("it is ours");
    std::fs::remove_dir_all(scratch.recording()).expect("it can be removed");
    let output = scratch.output(&["starts=1"], &["true"]);
    assert_eq!(text(&output.stderr), "");
    assert_eq!(shim.metadata().expect("it exists").len(), size);
}

#[test]
fn a_full_disk_stops_the_recording_and_not_the_command() {
    let scratch = Scratch::new();
    let launch = scratch.launch(&["starts=1"], &["echo", "it ran"]);
    // A small, full disk that is visible only to this shell and its children.
    let script = r#"
        mount -t tmpfs -o size=64k none "$1" || { echo no disk; exit 0; }
        head -c 65536 /dev/zero >"$1/filler"
        shift
        exec "$0" "$@""#;
    let disk = scratch.path().join("disk");
    std::fs::create_dir(&disk).expect("a directory");
    let mut shell = std::process::Command::new("unshare");
    shell
        .args(["--mount", "sh", "-c", script])
        .arg(launch.get_program())
        .arg(&disk)
        .arg(disk.join("recording"))
        .args(launch.get_args().skip(1));
    let known = launch.get_envs();
    shell.envs(known.filter_map(|(name, value)| Some((name, value?))));
    let output = shell.output().expect("unshare runs");
    let shown = text(&output.stdout);
    if !output.status.success() && shown.is_empty() || shown.contains("no disk") {
        missing("mount", "no file system can be mounted here");
        return;
    }
    assert_eq!(shown, "it ran\n");
    let complaints = text(&output.stderr);
    assert!(complaints.contains("cannot be written"), "{complaints}");
    assert_eq!(output.status.code(), Some(0), "{complaints}");
}
