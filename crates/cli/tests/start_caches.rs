//! `preheat start --caches`, `--pack` and `--unpack` on real programs: JAX and PoCL find
//! their compiled code after it was carried, and bundles for other cards are refused.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

mod support;
use support::{Directory, Said, preheat, python_with, require, run, signal, wait_for, waiting};

/// Compiles with JAX, and prints the hits and misses of its cache.
const JAX: &str = "
import jax, jax.monitoring, jax.numpy as jnp
seen = []
jax.monitoring.register_event_listener(lambda event, **_: seen.append(event))
print(float(jax.jit(lambda x: jnp.sin(x @ x).sum())(jnp.eye(8))))
for what in ('hits', 'misses'):
    print(what, seen.count('/jax/compilation_cache/cache_' + what))
";

const OPENCL: &str = "
import numpy, pyopencl
context = pyopencl.create_some_context(interactive=False)
queue = pyopencl.CommandQueue(context)
kernel = '__kernel void twice(__global float *x) { x[get_global_id(0)] *= 2.0f; }'
program = pyopencl.Program(context, kernel).build()
host = numpy.arange(64, dtype=numpy.float32)
device = pyopencl.Buffer(context, pyopencl.mem_flags.COPY_HOST_PTR, hostbuf=host)
program.twice(queue, (64,), None, device)
pyopencl.enqueue_copy(queue, host, device)
print(host[3])
";

/// `preheat start` with these words, in a directory that is home.
fn start(home: &Directory, words: &[&str]) -> Command {
    let mut command = preheat();
    command
        .current_dir(home.path())
        .env("HOME", home.path())
        .env("XDG_RUNTIME_DIR", home.path())
        .env("XDG_CACHE_HOME", home.join("cache"))
        .env_remove("PREHEAT_CACHES")
        .stdin(Stdio::null())
        .arg("start")
        .args(words);
    for variable in ["POCL_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR"] {
        command.env_remove(variable);
    }
    command
}

fn done(command: &mut Command) -> Said {
    let said = run(command);
    assert_eq!(said.code, Some(0), "{}", said.err);
    said
}

/// Asserts that a command is refused with a message, without a crash.
fn refused(command: &mut Command, word: &str) {
    let said = run(command);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(said.err.contains(word), "{}", said.err);
    assert_eq!(said.err.lines().count(), 1, "{}", said.err);
}

/// All files below, with everything that programs could distinguish them by.
fn files(below: &Path) -> BTreeMap<PathBuf, (u64, i64, i64)> {
    let mut found = BTreeMap::new();
    let mut directories = vec![below.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            let metadata = fs::symlink_metadata(&path).expect("it exists");
            match metadata.is_dir() {
                true => directories.push(path),
                false => drop(found.insert(
                    path,
                    (metadata.size(), metadata.mtime(), metadata.mtime_nsec()),
                )),
            }
        }
    }
    found
}

/// A place with a file of Triton's in it, packed.
fn bundle(home: &Directory) {
    fs::create_dir_all(home.join("kept/triton_cache_dir/k")).expect("a directory");
    fs::write(home.join("kept/triton_cache_dir/k/a.cubin"), "code").expect("a file");
    done(&mut start(home, &["--caches", "kept", "--pack", "b.tar"]));
}

#[test]
fn jax_finds_what_was_carried_and_only_under_its_path() {
    let Some(python) = python_with("jax") else {
        return;
    };
    let python = python.to_str().expect("text");
    let home = Directory::new();
    fs::write(home.join("program.py"), JAX).expect("a program");
    let counts = |place: &str| {
        let only = ["--only", "kept-caches", "--caches", place, "--"];
        let said = done(start(&home, &only).args([python, "program.py"]));
        let mut lines = said.out.lines().skip(1);
        let mut count = |name: &str| {
            let line = lines.next().expect("a line");
            let count = line.strip_prefix(name).expect("its name");
            count.trim().parse::<usize>().expect("a number")
        };
        (count("hits"), count("misses"))
    };
    let (hits, misses) = counts("kept");
    assert!(hits == 0 && misses > 0, "{hits} {misses}");
    let said = done(&mut start(&home, &["--caches", "kept", "--pack", "b.tar"]));
    assert!(said.out.contains("of JAX from"), "{}", said.out);
    fs::remove_dir_all(home.join("kept")).expect("it goes");
    let said = done(&mut start(&home, &["--unpack", "b.tar"]));
    // Later starts need --caches to find it.
    assert!(said.err.contains("--caches"), "{}", said.err);
    assert_eq!(counts("kept"), (misses, 0));
    let said = done(&mut start(
        &home,
        &["--unpack", "b.tar", "--caches", "moved"],
    ));
    assert!(
        said.err.contains("JAX finds compiled code only"),
        "{}",
        said.err
    );
    assert_eq!(counts("moved"), (0, misses));
}

#[test]
fn pocl_finds_what_was_carried() {
    let Some(python) = python_with("pyopencl") else {
        return;
    };
    let home = Directory::new();
    fs::write(home.join("program.py"), OPENCL).expect("a program");
    // The variable works like the flag.
    let place = home.join("kept");
    let program = || {
        let mut command = start(&home, &["--"]);
        command.env("PREHEAT_CACHES", &place);
        let said = done(command.arg(&python).arg("program.py"));
        assert_eq!(said.out, "6.0\n");
        // PoCL updates the time of its last use with every use.
        let mut found = files(&place);
        found.retain(|path, _| !path.ends_with("last_accessed"));
        found.retain(|path, _| !path.to_string_lossy().contains("/tempfile_"));
        found
    };
    let compiled = program();
    let code = |path: &PathBuf| path.extension().is_some_and(|end| end == "so");
    assert!(compiled.keys().any(code), "{compiled:?}");
    done(start(&home, &["--pack", "b.tar"]).env("PREHEAT_CACHES", &place));
    fs::remove_dir_all(&place).expect("it goes");
    // By way of a pipe.
    let bundle = fs::File::open(home.join("b.tar")).expect("it exists");
    done(
        start(&home, &["--unpack", "-"])
            .stdin(bundle)
            .env("PREHEAT_CACHES", &place),
    );
    assert_eq!(program(), compiled);
    // A warm parent may have been made for it.
    done(&mut start(&home, &["--stop", "all"]));
}

#[test]
fn a_bundle_is_a_tar_file_for_others() {
    let home = Directory::new();
    bundle(&home);
    let listed = run(Command::new("tar").arg("-tf").arg(home.join("b.tar")));
    assert_eq!((listed.code, listed.err.as_str()), (Some(0), ""));
    assert_eq!(
        listed.out,
        "preheat-caches.json\ntriton_cache_dir/k/a.cubin\n"
    );
    let other = home.join("other");
    fs::create_dir(&other).expect("a directory");
    done(
        Command::new("tar")
            .arg("-xf")
            .arg(home.join("b.tar"))
            .arg("-C")
            .arg(&other),
    );
    let header = fs::read(other.join("preheat-caches.json")).expect("it exists");
    let header: serde_json::Value = serde_json::from_slice(&header).expect("it is JSON");
    assert_eq!(header["schema"], "preheat.caches/1");
    assert_eq!(header["place"], home.join("kept").to_str().expect("text"));
    let name = "triton_cache_dir/k/a.cubin";
    let times = |path: PathBuf| files(&path).into_values().collect::<Vec<_>>();
    let there = times(other.join("triton_cache_dir"));
    assert_eq!(there, times(home.join("kept")), "{name}");
}

/// A driver library with one GPU, whose name is in the environment. It has only the functions
/// that are called before a context exists.
fn driver(home: &Directory) -> Option<()> {
    let gcc = Command::new("gcc").arg("--version").output().is_ok();
    require("gcc", gcc.then_some(()))?;
    const NOTHING: &str = "cuGetErrorName cuGetErrorString cuInit cuDeviceGet cuDevicePrimaryCtxRetain \
        cuDevicePrimaryCtxRelease_v2 cuCtxCreate_v2 cuCtxDestroy_v2 cuCtxSetCurrent cuCtxPopCurrent_v2 \
        cuStreamCreate cuStreamDestroy_v2 cuStreamSynchronize cuEventCreate cuEventDestroy_v2 \
        cuMemGetInfo_v2 cuMemAlloc_v2 cuMemFree_v2 cuMemHostAlloc cuMemFreeHost cuMemcpyHtoDAsync_v2 \
        cuMemcpyDtoHAsync_v2 cuMemcpyDtoDAsync_v2 cuModuleLoadData cuModuleUnload \
        cuModuleGetFunction cuLinkCreate_v2 \
        cuLinkAddData_v2 cuLinkComplete cuLinkDestroy cuLaunchKernel";
    let mut text = "#include <stdlib.h>\n#include <string.h>\n\
        int cuDriverGetVersion(int *v) { *v = atoi(getenv(\"CARD_CUDA\")); return 0; }\n\
        int cuDeviceGetName(char *t, int n, int d) { strcpy(t, getenv(\"CARD\")); return 0; }\n\
        int cuDeviceGetPCIBusId(char *t, int n, int d) { strcpy(t, \"0\"); return 0; }\n\
        int cuDeviceTotalMem_v2(size_t *n, int d) { *n = 1 << 30; return 0; }\n\
        int cuDeviceGetAttribute(int *v, int a, int d) { *v = 9; return 0; }\n"
        .to_owned();
    for name in NOTHING.split_whitespace() {
        text.push_str(&format!("int {name}(void) {{ return 0; }}\n"));
    }
    fs::write(home.join("libcuda.c"), text).expect("the source");
    let made = Command::new("gcc")
        .current_dir(home.path())
        .args(["-shared", "-fPIC", "-w", "-o", "libcuda.so.1", "libcuda.c"])
        .status();
    assert!(made.is_ok_and(|status| status.success()), "gcc makes it");
    Some(())
}

#[test]
fn a_bundle_for_another_card_or_driver_is_refused() {
    let home = Directory::new();
    if driver(&home).is_none() {
        return;
    }
    let with = |card: &str, cuda: &str, words: &[&str]| {
        let mut command = start(&home, words);
        command.env("LD_LIBRARY_PATH", home.path());
        command.env("CARD", card).env("CARD_CUDA", cuda);
        command
    };
    fs::create_dir_all(home.join("kept/triton_cache_dir/k")).expect("a directory");
    fs::write(home.join("kept/triton_cache_dir/k/a.cubin"), "code").expect("a file");
    let pack = ["--caches", "kept", "--pack", "b.tar"];
    let said = done(&mut with("NVIDIA H200", "13000", &pack));
    assert!(
        said.out.contains("for NVIDIA H200 with driver"),
        "{}",
        said.out
    );
    fs::remove_dir_all(home.join("kept")).expect("it goes");
    let unpack = ["--unpack", "b.tar"];
    refused(
        &mut with("NVIDIA A100", "13000", &unpack),
        "another card: NVIDIA H200",
    );
    refused(&mut with("NVIDIA H200", "12080", &unpack), "another driver");
    refused(&mut start(&home, &unpack), "no NVIDIA GPU");
    assert!(!home.join("kept").exists());
    done(&mut with("NVIDIA H200", "13000", &unpack));
    assert!(home.join("kept/triton_cache_dir/k/a.cubin").exists());
}

#[test]
fn bad_input_gets_a_sentence() {
    let home = Directory::new();
    refused(&mut start(&home, &["--pack", "b.tar"]), "no compiled code");
    refused(&mut start(&home, &["--pack", "-"]), "file name");
    refused(&mut start(&home, &["--unpack", "no.tar"]), "cannot be read");
    refused(&mut start(&home, &["--unpack", "."]), "cannot be read");
    refused(
        &mut start(&home, &["--unpack", "-"]),
        "not a preheat bundle",
    );
    refused(
        &mut start(&home, &["--caches", "a/../b", "--", "true"]),
        "`..`",
    );
    fs::write(home.join("text"), "something else").expect("a file");
    refused(
        &mut start(&home, &["--unpack", "text"]),
        "not a preheat bundle",
    );
    bundle(&home);
    refused(
        &mut start(&home, &["--caches", "kept", "--pack", "kept"]),
        "not a file",
    );
    let whole = fs::read(home.join("b.tar")).expect("it exists");
    fs::write(home.join("cut.tar"), &whole[..whole.len() - 1500]).expect("a file");
    refused(
        &mut start(&home, &["--unpack", "cut.tar"]),
        "ends too early",
    );
    fs::write(home.join("file"), "").expect("a file");
    let said = run(&mut start(
        &home,
        &["--unpack", "b.tar", "--caches", "file/x"],
    ));
    assert_eq!(said.code, Some(125), "{}", said.err);
    assert_eq!(said.err.lines().count(), 1, "{}", said.err);
}

#[test]
fn ctrl_c_while_it_waits_for_input_leaves_nothing() {
    let home = Directory::new();
    bundle(&home);
    let whole = fs::read(home.join("b.tar")).expect("it exists");
    fs::remove_dir_all(home.join("kept")).expect("it goes");
    let mut command = start(&home, &["--unpack", "-"]);
    command.stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    // All but the end.
    let part = &whole[..whole.len() - 1500];
    input.write_all(part).expect("it reads");
    let unfinished = home.join(&format!("kept/.unpack-{}", child.id()));
    wait_for(&unfinished, &mut child);
    let state = || fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    waiting::until("it waits for its input", &[], || state().contains(") S "));
    assert!(signal("-INT", &child));
    let ended = child.wait_with_output().expect("it ends");
    drop(input);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{said}");
    assert!(said.contains("was not unpacked: interrupted"), "{said}");
    assert!(!home.join("kept").exists());
}

#[test]
fn a_full_disk_leaves_nothing_behind() {
    let home = Directory::new();
    bundle(&home);
    let old = fs::read(home.join("b.tar")).expect("it exists");
    let code = vec![7; 4 << 20];
    fs::write(home.join("kept/triton_cache_dir/k/large"), code).expect("a file");
    let before = files(home.path());
    // A limit on file sizes acts like a full disk: a write fails.
    let limited = "trap '' XFSZ; ulimit -f 1000; exec \"$@\"";
    let pack = start(&home, &["--caches", "kept", "--pack", "b.tar"]);
    let mut shell = Command::new("bash");
    shell.current_dir(home.path()).args(["-c", limited, "bash"]);
    shell.arg(pack.get_program()).args(pack.get_args());
    for (name, value) in pack.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let said = run(&mut shell);
    assert_eq!(said.code, Some(125), "{}", said.err);
    assert!(said.err.contains("nothing was packed"), "{}", said.err);
    assert_eq!(files(home.path()), before);
    assert!(old == fs::read(home.join("b.tar")).expect("it exists"));
}
