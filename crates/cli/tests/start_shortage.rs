//! Where something is short (room on a disk, memory, processes, descriptors), programs
//! are started all the same.

use std::fs;
use std::process::Command;

mod support;
#[path = "start/warm.rs"]
mod warm;
use support::require;
use warm::{Observed, Warm, as_is, until};

fn start(warm: &Warm, program: &[&str]) -> Observed {
    Observed::of(warm.started(program).output().expect("it starts"))
}

#[test]
fn a_full_disk_loses_no_start() {
    let Some(warm) = Warm::new() else { return };
    // In a separate mount namespace, which ends with its last process.
    let script = r#"
set -e
mount -t tmpfs -o size=1m,mode=700 tmpfs "$XDG_RUNTIME_DIR" || exit 77
mount -t tmpfs -o size=1m,mode=700 tmpfs "$XDG_CACHE_HOME" || exit 77
fill() { cat /dev/zero > "$1/fill" 2>/dev/null || true; }
program() { code=0; "$@" code 3 || code=$?; echo "code $code"; }
until_warm() {
    for attempt in $(seq 500); do
        if "$@" code 3 2>&1 | grep -q 'started warm'; then return; fi
    done
    echo never warm; df "$XDG_RUNTIME_DIR" "$XDG_CACHE_HOME"
}

fill "$XDG_RUNTIME_DIR"; fill "$XDG_CACHE_HOME"
echo full; program "$@"; program "$@"
rm "$XDG_RUNTIME_DIR/fill"
echo nothing can be kept; program "$@"; program "$@"
rm "$XDG_CACHE_HOME/fill"
until_warm "$@"
fill "$XDG_RUNTIME_DIR"; fill "$XDG_CACHE_HOME"
echo full later; program "$@"; program "$@"
"$1" start --stop all
"#;
    let python = warm.python.to_str().expect("its path is text");
    let exe = env!("CARGO_BIN_EXE_preheat");
    let words = [
        "unshare", "-m", "sh", "-c", script, "sh", exe, "start", "-v",
    ];
    let program = ["--patience", "60", "--", python, "cases.py"];
    let output = warm.plain(&[&words[..], &program].concat()).output();
    let output = output.map(Observed::of).ok();
    let has_run = |it: &Observed| it.status.success() || it.out.starts_with("full");
    let Some(output) = require("namespaces", output.filter(has_run)) else {
        return;
    };
    let expected = "full\ncode 3\ncode 3\nnothing can be kept\ncode 3\ncode 3\n\
                    full later\ncode 3\ncode 3\n";
    assert_eq!(output.out, expected, "{}", output.err);
    let (before, after) = output
        .err
        .split_at(output.err.rfind("started").unwrap_or(0));
    assert!(before.contains("no directory for warm parents"), "{before}");
    assert!(after.starts_with("started warm"), "{before}{after}");
}

#[test]
fn files_that_may_not_grow_lose_no_start() {
    let Some(warm) = Warm::new() else { return };
    let python = warm.python.to_str().expect("its path is text");
    let exe = env!("CARGO_BIN_EXE_preheat");
    let line = "ulimit -f 0; exec \"$@\"";
    let words = ["sh", "-c", line, "sh", exe, "start", "-v", "--"];
    let plain = ["sh", "-c", line, "sh"];
    let program = [python, "cases.py", "facts"];
    for _ in 0..2 {
        let plain = warm.plain(&[&plain[..], &program].concat()).output();
        let started = warm.plain(&[&words[..], &program].concat()).output();
        let plain = Observed::of(plain.expect("it starts"));
        let started = Observed::of(started.expect("it starts"));
        assert!(started.err.contains("started plainly"), "{}", started.err);
        assert_eq!(plain.out, started.out);
        assert_eq!(plain.status, started.status);
    }
}

#[test]
fn a_parent_that_can_make_no_child_leaves() {
    let Some(warm) = Warm::new() else { return };
    let program = warm.case(&["code", "3"]);
    warm.warm_up(&program, &as_is);
    let parent = warm.parent();
    // It can open no more files: neither for a pair nor for a message.
    let limit = format!("--pid={parent}");
    let limited = warm.plain(&["prlimit", &limit, "--nofile=4:4"]).output();
    let is_allowed = limited.is_ok_and(|it| it.status.success());
    if require("limits of others", is_allowed.then_some(())).is_none() {
        return;
    }
    // The waiting child already exists.
    assert_eq!(start(&warm, &program).warm(&program).status.code(), Some(3));
    let mut command = warm.preheat(&["-v", "--"]);
    let next = Observed::of(command.args(&program).output().expect("it starts"));
    assert!(next.err.contains("started plainly"), "{}", next.err);
    assert_eq!(next.status.code(), Some(3));
    // It gives up, and another takes its place.
    until("it has left", || {
        !fs::exists(format!("/proc/{parent}/cwd/.")).unwrap_or(false)
    });
    until("a start is warm", || {
        assert_eq!(warm.refusal(), None);
        let next = start(&warm, &program);
        next.err.starts_with("preheat: started warm")
    });
    assert_ne!(warm.parent(), parent);
}

/// The result of the parent's memory check on a machine like this.
fn memory(warm: &Warm, files: &[(&str, &str)]) -> String {
    let root = warm.directory.join("machine");
    let _ = fs::remove_dir_all(&root);
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("it is made");
        fs::write(path, text).expect("it is written");
    }
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../start/src/python/memory.py");
    let code = "import sys; scope = {}; exec(open(sys.argv[1]).read(), scope)
memory = scope['available'](sys.argv[2])
print(*memory, scope['is_short'](memory))";
    let mut command = Command::new(&warm.python);
    let output = command.args(["-c", code, source]).arg(&root).output();
    let observed = Observed::of(output.expect("it starts"));
    assert_eq!(observed.err, "");
    observed.out
}

#[test]
fn memory_is_short_where_the_machine_or_its_group_has_little() {
    let Some(warm) = Warm::new() else { return };
    let machine = |available: &str| {
        let text = format!("MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: {available} kB\n");
        ("proc/meminfo", text)
    };
    let (plenty, little) = (machine("500"), machine("49"));
    let (plenty, little) = ((plenty.0, &*plenty.1), (little.0, &*little.1));
    assert_eq!(memory(&warm, &[plenty]), "1024000 512000 False\n");
    assert_eq!(memory(&warm, &[little]), "1024000 50176 True\n");
    // A container sees its own group where it is the root, whatever its path is outside.
    let limited = [
        plenty,
        ("proc/self/cgroup", "0::/outside/of/it\n"),
        ("sys/fs/cgroup/memory.max", "100000\n"),
        ("sys/fs/cgroup/memory.current", "99000\n"),
        ("sys/fs/cgroup/memory.stat", "anon 1\ninactive_file 500\n"),
    ];
    assert_eq!(memory(&warm, &limited), "100000 1500 True\n");
    let unlimited = [
        plenty,
        ("proc/self/cgroup", "0::/x\n"),
        ("sys/fs/cgroup/x/memory.max", "max\n"),
        ("sys/fs/cgroup/x/memory.current", "99000\n"),
        ("sys/fs/cgroup/x/memory.stat", ""),
    ];
    assert_eq!(memory(&warm, &unlimited), "1024000 512000 False\n");
    let of_old = [
        plenty,
        ("proc/self/cgroup", "5:cpu,memory:/x\n4:pids:/x\n"),
        ("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "200000\n"),
        ("sys/fs/cgroup/memory/x/memory.usage_in_bytes", "100000\n"),
        (
            "sys/fs/cgroup/memory/x/memory.stat",
            "total_inactive_file 0\n",
        ),
    ];
    assert_eq!(memory(&warm, &of_old), "200000 100000 False\n");
}
