//! `preheat start --standby` with a scripted driver: which programs start from a standby,
//! how an unusable one ends, and that nothing is left behind.

use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use preheat_model::measurement::MeasurementReport;
use preheat_model::run::Cause;

mod support;
use support::{Directory, Said, preheat, python, require, run, wait_for};

/// Uses the driver, and shows the state in which it found the card.
const PROGRAM: &str = r#"
import ctypes, json, os, sys
driver = ctypes.CDLL("libcuda.so.1")
flags, active, context = ctypes.c_uint(), ctypes.c_int(-1), ctypes.c_void_p()
driver.cuDevicePrimaryCtxGetState(0, ctypes.byref(flags), ctypes.byref(active))
open("ran", "a").write("x")
assert driver.cuInit(0) == 0
code = driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
print("context", active.value, "result", code, sys.argv[1:], "PREHEAT_STANDBY" in os.environ)
"#;

/// The memory of the card as NVML reports it.
const NVML: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device) { *device = 0; return 0; }
int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory) {
    char path[4096];
    snprintf(path, sizeof path, "%s/nvml.slow", getenv("FAKE_STATE"));
    if (!access(path, F_OK)) usleep(200000);
    unsigned long long free = 8ull << 30;
    snprintf(path, sizeof path, "%s/free", getenv("FAKE_STATE"));
    FILE *file = fopen(path, "r");
    if (file) { if (fscanf(file, "%llu", &free) != 1) free = 0; fclose(file); }
    memory[0] = 8ull << 30; memory[1] = free; memory[2] = memory[0] - free;
    return 0;
}
"#;

struct Card {
    directory: Directory,
    python: PathBuf,
}

impl Card {
    /// A program that was started once, plainly, in a directory with a scripted driver.
    fn learned(program: &str) -> Option<Card> {
        Card::learned_with(program, &[])
    }

    /// The same, with arguments in that start.
    fn learned_with(program: &str, arguments: &[&str]) -> Option<Card> {
        let gcc = Command::new("gcc").arg("--version").output().is_ok();
        require("gcc", gcc.then_some(()))?;
        let python = require("python", python())?;
        let directory = Directory::new();
        let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shim/tests/libcuda/libcuda.c");
        fs::write(directory.join("nvml.c"), NVML).unwrap();
        for (source, library) in [
            (driver, "libcuda.so.1"),
            (directory.join("nvml.c"), "libnvidia-ml.so.1"),
        ] {
            let built = Command::new("gcc")
                .args(["-O1", "-w", "-shared", "-fPIC", "-pthread"])
                .arg(format!("-Wl,-soname,{library}"))
                .arg(source)
                .arg("-o")
                .arg(directory.join(library))
                .status();
            assert!(built.is_ok_and(|status| status.success()), "gcc builds it");
        }
        for name in ["run", "cache", "state"] {
            use std::os::unix::fs::PermissionsExt;
            let path = directory.join(name);
            fs::create_dir(&path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        }
        fs::write(directory.join("program.py"), program).unwrap();
        let card = Card { directory, python };
        // The parent and a first standby are made in the background then.
        let said = card.start("parked", arguments);
        assert!(said.err.contains("started plainly"), "{}", said.err);
        Some(card)
    }

    fn command(&self, options: &[&str], arguments: &[&str]) -> Command {
        let mut command = preheat();
        command
            .args(["start", "--patience", "20"])
            .args(options)
            .arg("--")
            .arg(&self.python)
            .arg("program.py")
            .args(arguments);
        self.with_environment(&mut command);
        command
    }

    fn with_environment(&self, command: &mut Command) {
        command
            .current_dir(self.directory.path())
            .env("LD_LIBRARY_PATH", self.directory.path())
            .env("XDG_RUNTIME_DIR", self.directory.join("run"))
            .env("XDG_CACHE_HOME", self.directory.join("cache"))
            .env("FAKE_STATE", self.directory.join("state"))
            .env_remove("LD_PRELOAD");
    }

    fn start(&self, form: &str, arguments: &[&str]) -> Said {
        let form = format!("--standby={form}");
        run(&mut self.command(&["-v", &form], arguments))
    }

    fn prepare(&self, form: &str, count: usize) -> Said {
        let (form, count) = (format!("--standby={form}"), count.to_string());
        run(&mut self.command(&["--prepare", &form, "--standby-count", &count], &[]))
    }

    fn list(&self) -> String {
        let mut command = preheat();
        command.args(["start", "--list"]);
        self.with_environment(&mut command);
        run(&mut command).out
    }

    /// The processes of standbys in this state; of all with an empty one.
    fn standbys(&self, state: &str) -> Vec<i32> {
        let files = fs::read_dir(self.directory.join("run/preheat")).unwrap();
        let texts = files
            .flatten()
            .filter(|entry| entry.path().extension().is_some_and(|is| is == "waits"))
            .filter_map(|entry| fs::read_to_string(entry.path()).ok());
        let field = |text: &str, name: &str| {
            let mut fields = text.split('\0');
            fields.find(|field| *field == name);
            fields.next().unwrap_or_default().to_owned()
        };
        texts
            .filter(|text| state.is_empty() || field(text, "state") == state)
            .map(|text| field(&text, "process").parse().unwrap())
            .collect()
    }

    fn script(&self, name: &str, text: &str) {
        fs::write(self.directory.join("state").join(name), text).unwrap();
    }

    fn unscript(&self, name: &str) {
        fs::remove_file(self.directory.join("state").join(name)).unwrap();
    }

    /// The number of times that the program ran since the last call.
    fn runs(&self) -> usize {
        let path = self.directory.join("ran");
        let runs = fs::read(&path).map_or(0, |bytes| bytes.len());
        let _ = fs::remove_file(path);
        runs
    }

    /// Stops everything, which waits until all standbys have exited.
    fn stop(&self) -> Said {
        let mut command = preheat();
        command.args(["start", "--stop", "all"]);
        self.with_environment(&mut command);
        run(&mut command)
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Trains on the CPU, plainly, recorded, and after a rehearsal: the hash of the parameters and
/// the random numbers are the same.
const TRAINS: &str = r#"
import _thread, ctypes, hashlib, os, sys
scope = {}
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"), scope)
import torch
from torch.utils import _python_dispatch as dispatch
F = torch.nn.functional

def train():
    torch.manual_seed(0)
    body = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Flatten(), torch.nn.Dropout(0.3), torch.nn.Linear(8 * 7 * 7, 10))
    words = torch.nn.Embedding(50, 10)
    attention = torch.nn.TransformerEncoderLayer(10, 2, 16, batch_first=True)
    parameters = [p for part in (body, words, attention) for p in part.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-3)
    for _ in range(8):
        images, labels = torch.randn(4, 3, 16, 16), torch.randint(0, 10, (4,))
        optimizer.zero_grad()
        scores = body(images) + attention(words(torch.randint(0, 50, (4, 7)))).mean(1)
        loss = F.cross_entropy(scores, labels) + scores.gather(1, labels[:, None]).sum()
        loss = loss + F.binary_cross_entropy(torch.sigmoid(scores), torch.rand(4, 10))
        loss = loss + torch.multinomial(torch.softmax(scores, -1), 2).sum()
        loss.backward()
        optimizer.step()
    digest = hashlib.sha256()
    for each in parameters + [torch.rand(3)]:
        digest.update(each.detach().numpy().tobytes())
    return digest.hexdigest()

plain, settled = train(), []
recorder = scope["Recorder"](torch, "cpu", lambda: settled.append(True))
mode = scope["mode"](torch, recorder, os, sys, _thread, ctypes)

class Above(dispatch.TorchDispatchMode):
    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        return operator(*args, **(kwargs or {}))

mode.__enter__()
with Above():
    # The recording ends here, and the mode stays below another one.
    recorded = train()
    assert dispatch._get_current_dispatch_mode_stack()[0] is mode
assert recorded == plain and train() == plain
if torch.__version__.startswith("1."):
    mode.__exit__(None, None, None)  # It cannot remove itself there.
assert dispatch._len_torch_dispatch_stack() == 0
lines = list(recorder.lines())
assert recorded == plain and settled == [True]
assert len(lines) == len(set(lines)) == len(recorder.operations) > 100
assert all(len(line) <= scope["MAX_TEXT"] for line in lines)

torch.manual_seed(7)
state, flags = torch.get_rng_state(), scope["read_flags"](scope["getters"](torch))
restore = scope["shield"](torch)
foreign = '["mine::op", "", [], {}, []]'
absent = '["aten::no_such_operator", "", [], {}, []]'
large = '["aten::relu", "", [{"tensor": [[1099511627776], [1], "torch.float32", "cpu"]}], {}, []]'
denied = '["aten::relu", "", [{"tensor": [[2], [1], "torch.float32", "cpu"]}], {}, []]'
rehearsal = scope["Rehearsal"](torch, lambda: 1 << 30)
rehearsal.run(lines + [foreign, absent, large])
scope["call_in_backward"](torch, "cpu", lambda: rehearsal.run(lines))
restore()
assert rehearsal.skipped == 3 and not rehearsal.failed, rehearsal.failed
assert rehearsal.done == 2 * len(lines)
error = scope["Broken"]("aten::relu", "lost")
try:
    scope["call_in_backward"](torch, "cpu", lambda: (_ for _ in ()).throw(error))
    raise SystemExit("it passes")
except scope["Broken"] as broken:
    assert broken is error
assert torch.equal(torch.get_rng_state(), state)
assert scope["read_flags"](scope["getters"](torch)) == flags
rehearsal.run([denied], {"aten::relu"})
assert rehearsal.skipped == 4
assert train() == plain
print("same")
"#;

/// Runs `code`, which loads a file of preheat's Python code, where a framework is installed.
fn prints_same(framework: &str, code: &str, file: &str) {
    if let Some(python) = require(framework, support::python_with(framework)) {
        prints_same_with(&python, code, file);
    }
}

fn prints_same_with(python: &Path, code: &str, file: &str) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../start/src/python");
    let said = run(Command::new(python)
        .args(["-c", code])
        .arg(directory.join(file)));
    assert_eq!(
        (said.out.as_str(), said.code),
        ("same\n", Some(0)),
        "{}",
        said.err
    );
}

#[test]
fn recording_and_rehearsing_change_nothing_that_pytorch_computes() {
    for python in support::pythons_with_torch() {
        prints_same_with(&python, TRAINS, "operations.py");
    }
}

/// Compiles with JAX on the CPU, in a process that is observed, and in one that has read the
/// executables ahead.
const COMPILES: &str = r#"
import json, os, sys, tempfile
directory = tempfile.TemporaryDirectory()
os.environ.update(JAX_COMPILATION_CACHE_DIR=directory.name, JAX_PLATFORMS="cpu",
                  JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0",
                  JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES="-1")
scope = {}
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"), scope)

def program(jax):
    return float(jax.jit(lambda x: (x @ x).sum() + 1)(jax.numpy.ones((32, 32))))

read, write = os.pipe()
if os.fork() == 0:
    import jax
    use = scope["JaxUse"](lambda function: None)
    use.see_imports()
    result = program(jax)
    os.write(write, json.dumps([result, use.record()]).encode())
    os._exit(0)
os.wait()
plain, learned = json.loads(os.read(read, 1 << 16))
assert learned["backends"] == ["cpu"] and not learned["distributed"], learned
import jax
from jax._src import compilation_cache
real, files = compilation_cache.get_executable_and_time, set(os.listdir(directory.name))
count = scope["bring_up_jax"](jax, learned, "cpu")
assert count == len(learned["executables"]) > 0, learned
assert set(os.listdir(directory.name)) == files and not jax.live_arrays()
assert compilation_cache.get_executable_and_time is not real
assert program(jax) == plain
# Every executable was used, and the function is the library's own again.
assert compilation_cache.get_executable_and_time is real
# JAX 0.11 has another argument, the program's own callbacks.
class cache:
    def get_executable_and_time(*asked):
        return asked
real, backend = cache.get_executable_and_time, object()
scope["give"](cache, {"a": "ready", "b": "ready"}, backend)
assert cache.get_executable_and_time("a", None, backend, [0], ()) == "ready"
assert cache.get_executable_and_time("b", None, backend, [0], [print])[4] == [print]
assert cache.get_executable_and_time("b", None, backend, [0]) == "ready"
assert cache.get_executable_and_time is real
why = scope["why_no_jax"]
off = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
assert why(learned, off) is None and "preallocate" in why(learned, {})
assert "distributed" in why(dict(learned, distributed=True), off)
for name in "jax_platforms", "jax_num_cpu_devices":
    changed = dict(learned["options"], **{name: "other"})
    assert name in why(dict(learned, options=changed), off)
assert "unknown" in why({"distributed": False}, off)
print("same")
"#;

#[test]
fn executables_of_jax_are_read_ahead() {
    prints_same("jax", COMPILES, "frameworks.py");
}

/// JAX removes its backends when the program ends, before preheat records them.
const ENDS: &str = r#"
import atexit, sys
scope = {}
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"), scope)
use = scope["JaxUse"](atexit.register)
def last():
    found = use.record()
    print("same" if found and found["backends"] == ["cpu"] else found)
atexit.register(last)
import jax
use.see_imports()
jax.block_until_ready(jax.numpy.ones(3).sum())
"#;

use preheat_model::RemedyId;

#[test]
fn the_backends_of_jax_are_recorded_before_it_removes_them() {
    prints_same("jax", ENDS, "frameworks.py");
}

/// A descriptor that shows when a process ends; `None` if it has already ended.
fn handle(process: i32) -> Option<OwnedFd> {
    // SAFETY: pidfd_open takes numbers; the new descriptor is owned at once.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, process, 0) as i32;
        (fd >= 0).then(|| OwnedFd::from_raw_fd(fd))
    }
}

fn wait(handle: &OwnedFd) {
    assert!(
        has_exited(handle, 60_000),
        "it has not exited after a minute"
    );
}

fn has_exited(handle: &OwnedFd, milliseconds: i32) -> bool {
    let mut poll = libc::pollfd {
        fd: handle.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: poll reads and writes one struct.
    unsafe { libc::poll(&mut poll, 1, milliseconds) == 1 }
}

fn parent_of(process: i32) -> i32 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    line.unwrap().trim().parse().unwrap()
}

fn kill(process: i32, signal: i32) {
    // SAFETY: kill takes numbers; the process is one of this test.
    assert_eq!(unsafe { libc::kill(process, signal) }, 0);
}

const WARM: &str = "context 0 result 0 [] False\n";
const STANDBY: &str = "context 1 result 0 [] False\n";

#[test]
fn a_hot_standby_serves_one_start() {
    let Some(card) = Card::learned(PROGRAM) else {
        return;
    };
    let said = card.prepare("hot", 1);
    assert_eq!(
        (said.code, said.err.as_str()),
        (Some(0), ""),
        "{}",
        said.out
    );
    let standby = card.standbys("hot");
    assert_eq!(standby.len(), 1);
    assert!(card.list().contains("standby hot, "), "{}", card.list());
    card.runs();
    let said = card.start("hot", &["a", "b c"]);
    let from = format!("from the hot standby {}", standby[0]);
    assert!(said.err.contains(&from), "{}", said.err);
    assert_eq!(said.out, "context 1 result 0 ['a', 'b c'] False\n");
    assert_eq!((said.code, card.runs()), (Some(0), 1));
    // Another one is prepared when the program has ended; it is another process.
    assert_eq!(card.prepare("hot", 2).code, Some(0));
    let next = card.standbys("hot");
    assert_eq!(next.len(), 2);
    assert!(!next.contains(&standby[0]));
    // Without the flag, and with other variables, it is an ordinary warm start.
    let said = run(&mut card.command(&["-v"], &[]));
    assert!(said.err.contains("started warm"), "{}", said.err);
    assert_eq!(said.out, WARM);
    let mut other = card.command(&["-v", "--standby=hot"], &[]);
    let said = run(other.env("CUDA_VISIBLE_DEVICES", "0"));
    assert!(
        said.err.contains("a different form, device, driver"),
        "{}",
        said.err
    );
    assert_eq!(said.out, WARM);
    // So that none is being prepared.
    assert_eq!(card.prepare("hot", 2).code, Some(0));
    assert_eq!(card.stop().code, Some(0));
    let left = fs::read_dir(card.directory.join("run/preheat")).unwrap();
    let names: Vec<_> = left.flatten().map(|entry| entry.file_name()).collect();
    let is_ours = |name: &&std::ffi::OsString| name.to_string_lossy().contains(".standby");
    assert_eq!(names.iter().find(is_ours), None, "{names:?}");
}

#[test]
fn a_parked_standby_is_restored_behind_the_program() {
    let Some(card) = Card::learned(PROGRAM) else {
        return;
    };
    assert_eq!(card.prepare("parked", 1).code, Some(0));
    let standby = card.standbys("parked")[0];
    assert!(card.list().contains("standby parked, 0 MiB on the GPU"));
    card.script("Restore.gate", "");
    card.runs();
    let mut started = card.command(&["-v", "--standby"], &[]);
    let child = started
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.unwrap();
    // The program has run its first lines when the card is still away.
    for file in ["state/Restore.reached", "ran"] {
        wait_for(&card.directory.join(file), &mut child);
    }
    card.unscript("Restore.gate");
    let done = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(error.contains("from the parked standby"), "{error}");
    assert_eq!(String::from_utf8_lossy(&done.stdout), STANDBY);
    assert_eq!(card.runs(), 1);
    let calls = fs::read_to_string(card.directory.join("state/calls")).unwrap();
    let own: Vec<_> = calls
        .lines()
        .filter_map(|line| line.strip_suffix(&format!(" {standby}")))
        .collect();
    assert_eq!(own, ["Lock", "Checkpoint", "Restore", "Unlock"]);
}

/// Forks, and executes another program in its place; both show whether the card was away.
const REPLACED: &str = r#"
import ctypes, os, sys
driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
gate = os.path.join(os.environ["FAKE_STATE"], "Restore.gate")
open("ran", "a").write("x")
if sys.argv[1] == "fork":
    child = os.fork()
    if child == 0:
        os.write(1, b"away\n" if os.path.exists(gate) else b"back\n")
        os._exit(0)
    os.waitpid(child, 0)
elif sys.argv[1] == "exec":
    code = "import os, sys; print('away' if os.path.exists(sys.argv[1]) else 'back')"
    os.execv(sys.executable, [sys.executable, "-c", code, gate])
elif sys.argv[1] == "use":
    driver.cuInit(0)
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
"#;

#[test]
fn forks_execs_and_the_end_wait_for_a_restore() {
    let Some(card) = Card::learned_with(REPLACED, &["use"]) else {
        return;
    };
    for (what, shown) in [("fork", "back\n"), ("exec", "back\n"), ("end", "")] {
        assert_eq!(card.prepare("parked", 1).code, Some(0));
        let standby = card.standbys("parked")[0];
        card.script("Restore.gate", "");
        card.runs();
        let mut started = card.command(&["-v", "--standby"], &[what]);
        let child = started
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.unwrap();
        for file in ["state/Restore.reached", "ran"] {
            wait_for(&card.directory.join(file), &mut child);
        }
        assert!(handle(standby).is_some(), "{what}: it has ended before");
        card.unscript("Restore.gate");
        card.unscript("Restore.reached");
        let done = child.wait_with_output().unwrap();
        let error = String::from_utf8_lossy(&done.stderr);
        assert!(error.contains("from the parked standby"), "{error}");
        assert_eq!(String::from_utf8_lossy(&done.stdout), shown, "{what}");
        assert_eq!(done.status.code(), Some(0), "{what}: {error}");
        // The restore was complete before the process ended.
        let calls = fs::read_to_string(card.directory.join("state/calls")).unwrap();
        assert!(calls.contains(&format!("Unlock {standby}\n")), "{calls}");
        assert!(!error.contains("could not be restored"), "{error}");
    }
}

/// Repeats a kernel.
const STEPS: &str = r#"
import ctypes
driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
driver.cuInit(0)
driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
driver.cuCtxSetCurrent(context)
for number in range(30):
    for kernel in (0x2000, 0x2010):
        kernel = ctypes.c_void_p(kernel)
        assert driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, None, None, None) == 0
    assert driver.cuCtxSynchronize() == 0
"#;

#[test]
fn a_recording_shows_the_time_that_a_restore_took() {
    let Some(card) = Card::learned(STEPS) else {
        return;
    };
    let record = |options: &[&str], recording: &str| {
        let start = card.command(options, &[]);
        let mut command = preheat();
        command
            .args(["run", "--starts", "1", "--output", recording, "--json"])
            .arg(format!("{recording}.json"))
            .arg("--")
            .arg(start.get_program())
            .args(start.get_args());
        card.with_environment(&mut command);
        command
    };
    // The parent of recorded starts is another one, with the recorder.
    let said = run(&mut record(&["--prepare", "--standby"], "prepared"));
    let standbys = card.standbys("parked");
    assert!(!standbys.is_empty(), "{}", said.err);
    card.script("Restore.gate", "");
    let mut recorded = record(&["-v", "--standby"], "recorded");
    let child = recorded
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.unwrap();
    wait_for(&card.directory.join("state/Restore.reached"), &mut child);
    let calls = fs::read_to_string(card.directory.join("state/calls")).unwrap();
    let restored = standbys.iter().find(|it| {
        let waits = card.directory.join(&format!("state/{it}.waits"));
        if card.standbys("parked").contains(it) {
            return false; // Another one, for starts without a recording.
        }
        wait_for(&waits, &mut child);
        true
    });
    assert!(restored.is_some(), "{calls}");
    card.unscript("Restore.gate");
    let done = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(error.contains("from the parked standby"), "{error}");
    let text = fs::read_to_string(card.directory.join("recorded.json")).unwrap();
    let report: preheat_model::run::RunReport = serde_json::from_str(&text).unwrap();
    let seconds = |cause: Cause| {
        let own = report.causes.iter().filter(|it| it.cause == cause);
        own.map(|it| it.seconds).sum::<f64>()
    };
    assert!(seconds(Cause::GpuRestore) > 0.0, "{text}");
    let sum: f64 = report.causes.iter().map(|it| it.seconds).sum();
    let total = report.time_to_first.value;
    assert!((sum / total - 1.0).abs() < 0.001, "{sum} of {total}");
}

#[test]
fn a_measurement_tries_both_forms() {
    let Some(card) = Card::learned(STEPS) else {
        return;
    };
    let measure = || {
        let mut command = preheat();
        command
            .args([
                "start",
                "--measure",
                "--starts",
                "4",
                "--json",
                "measurement.json",
            ])
            .args(["--only", "standby-parked,standby-hot", "--"])
            .arg(&card.python)
            .arg("program.py");
        card.with_environment(&mut command);
        let said = run(&mut command);
        assert_eq!(said.code, Some(0), "{}", said.err);
        let text = fs::read_to_string(card.directory.join("measurement.json")).unwrap();
        let report: MeasurementReport = serde_json::from_str(&text).unwrap();
        (report, said.err)
    };
    let (report, text) = measure();
    for form in [RemedyId::StandbyParked, RemedyId::StandbyHot] {
        let configuration = report
            .configurations
            .iter()
            .find(|it| it.remedies == [form]);
        let configuration = configuration.unwrap_or_else(|| panic!("{form}: {text}"));
        assert_eq!(configuration.values.len(), 3, "{text}");
        let result = report.remedies.iter().find(|it| it.id == form).unwrap();
        let holds = result.holds.unwrap_or_else(|| panic!("{form}: {text}"));
        assert!(holds.host > 0, "{text}");
    }
    assert!(text.contains("standby parked 0 B on the GPU"), "{text}");
    // The parent that the first start has requested is not the measurement's. It may come up at any
    // time, with its parked standby.
    let listed = card.list();
    assert!(!listed.contains("hot"), "{listed}");
    assert!(listed.matches("program.py").count() <= 1, "{listed}");
    // Without the checkpoint API only the hot one can be measured.
    card.script("Lock.error", "801");
    let (report, text) = measure();
    let skipped = report
        .skipped
        .iter()
        .find(|it| it.id == RemedyId::StandbyParked);
    assert!(skipped.is_some(), "{text}");
    assert!(text.contains("not supported (801)"), "{text}");
    assert!(
        report
            .remedies
            .iter()
            .any(|it| it.id == RemedyId::StandbyHot)
    );
}

#[test]
fn two_starts_that_race_for_a_standby_run_once_each() {
    let Some(card) = Card::learned(PROGRAM) else {
        return;
    };
    for _ in 0..5 {
        assert_eq!(card.prepare("hot", 1).code, Some(0));
        card.runs();
        let racing: Vec<_> = (0..3)
            .map(|_| {
                card.command(&["-v", "--standby=hot"], &[])
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        let done: Vec<_> = racing
            .into_iter()
            .map(|child| child.wait_with_output().unwrap())
            .collect();
        for one in &done {
            let out = String::from_utf8_lossy(&one.stdout);
            assert!(out == WARM || out == STANDBY, "{one:?}");
        }
        assert_eq!(card.runs(), 3);
    }
}

#[test]
fn a_killed_or_stopped_standby_costs_a_warm_start() {
    let Some(card) = Card::learned(PROGRAM) else {
        return;
    };
    for signal in [libc::SIGKILL, libc::SIGSTOP] {
        assert_eq!(card.prepare("hot", 1).code, Some(0));
        let standby = card.standbys("hot")[0];
        let handle = handle(standby).unwrap();
        kill(standby, signal);
        card.runs();
        let said = card.start("hot", &[]);
        assert_eq!((said.out.as_str(), card.runs()), (WARM, 1), "{}", said.err);
        assert!(said.err.contains("no standby: "), "{}", said.err);
        wait(&handle);
        assert!(!card.standbys("hot").contains(&standby));
    }
}

#[test]
fn stopping_waits_until_standbys_have_exited() {
    let Some(card) = Card::learned(PROGRAM) else {
        return;
    };
    // A suspended standby cannot exit: its supervisor kills it after a while.
    assert_eq!(card.prepare("hot", 2).code, Some(0));
    let standbys = card.standbys("hot");
    let handles: Vec<_> = standbys.iter().map(|it| handle(*it).unwrap()).collect();
    kill(standbys[0], libc::SIGSTOP);
    let said = card.stop();
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    for handle in &handles {
        assert!(has_exited(handle, 0), "it was not waited for");
    }
    // Without its supervisor, nothing kills it.
    assert_eq!(card.prepare("hot", 1).code, Some(0));
    let standby = card.standbys("hot")[0];
    let (gone, supervisor) = (handle(standby).unwrap(), parent_of(standby));
    kill(supervisor, libc::SIGSTOP);
    kill(standby, libc::SIGSTOP);
    let said = card.stop();
    assert_eq!(said.code, Some(125), "{}", said.err);
    let named = format!("have not exited yet, and may still hold memory of the GPU: {standby}");
    assert!(said.err.contains(&named), "{}", said.err);
    kill(supervisor, libc::SIGCONT);
    wait(&gone);
}

#[test]
fn each_error_of_the_driver_leads_to_one_warm_start() {
    let Some(card) = Card::learned(PROGRAM) else {
        return;
    };
    for (function, code, name) in [
        ("Lock", 600, "timeout (600)"),
        ("Lock", 801, "not supported (801)"),
        ("Checkpoint", 2, "out of memory (2)"),
        ("Checkpoint", 304, "operating system call failed (304)"),
    ] {
        assert_eq!(card.stop().code, Some(0));
        let script = format!("{function}.error");
        card.script(&script, &code.to_string());
        let said = card.prepare("parked", 1);
        assert_eq!(said.code, Some(125), "{}", said.err);
        let why = format!("cuCheckpointProcess{function} failed: {name}");
        assert!(said.err.contains(&why), "{}", said.err);
        card.runs();
        let said = card.start("parked", &[]);
        assert_eq!((said.out.as_str(), card.runs()), (WARM, 1), "{}", said.err);
        assert!(said.err.contains(&why), "{}", said.err);
        card.unscript(&script);
    }
    assert_eq!(card.stop().code, Some(0));
    for (script, text, why) in [
        ("cuDevicePrimaryCtxRetain.error", "2", "CUDA error 2"),
        ("exclusive", "", "exclusive mode"),
    ] {
        card.script(script, text);
        let said = card.prepare("hot", 1);
        assert!(said.err.contains(why), "{}", said.err);
        card.unscript(script);
        assert!(card.standbys("hot").is_empty());
    }
}

#[test]
fn a_standby_that_cannot_be_restored_does_not_run_the_program_twice() {
    let Some(card) = Card::learned(PROGRAM) else {
        return;
    };
    // The lack of memory is detected before, no matter how long the query takes.
    for script in ["nvml.fast", "nvml.slow"] {
        assert_eq!(card.prepare("parked", 1).code, Some(0));
        let standby = handle(card.standbys("parked")[0]).unwrap();
        card.script("free", "1000000");
        card.script(script, "");
        card.runs();
        let said = card.start("parked", &[]);
        assert!(
            said.err.contains("only 0 MiB of device memory"),
            "{}",
            said.err
        );
        assert_eq!((said.out.as_str(), card.runs()), (WARM, 1), "{}", said.err);
        wait(&standby);
        card.unscript("free");
        card.unscript(script);
    }
    for function in ["Restore", "Unlock"] {
        assert_eq!(card.prepare("parked", 1).code, Some(0));
        let standby = handle(card.standbys("parked")[0]).unwrap();
        let script = format!("{function}.error");
        card.script(&script, "2");
        card.runs();
        let said = card.start("parked", &[]);
        // As a rule the failure comes before the program may begin.
        if said.code == Some(0) {
            assert_eq!((said.out.as_str(), card.runs()), (WARM, 1), "{}", said.err);
        } else {
            assert!(said.err.contains("could not be restored"), "{}", said.err);
            assert!(card.runs() <= 1);
        }
        wait(&standby);
        card.unscript(&script);
    }
}

/// A program that already runs cannot start over: it may have acted. It ends with a message.
#[test]
fn a_restore_that_fails_late_ends_the_program_with_a_message() {
    let Some(card) = Card::learned_with(REPLACED, &["use"]) else {
        return;
    };
    assert_eq!(card.prepare("parked", 1).code, Some(0));
    card.script("Restore.gate", "");
    card.runs();
    let mut started = card.command(&["-v", "--standby"], &["use"]);
    let child = started
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.unwrap();
    for file in ["state/Restore.reached", "ran"] {
        wait_for(&card.directory.join(file), &mut child);
    }
    card.script("Restore.error", "2");
    card.unscript("Restore.gate");
    let done = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&done.stderr);
    let why = "the GPU could not be restored: cuCheckpointProcessRestore failed: out of memory (2)";
    assert!(error.contains(why), "{error}");
    assert!(!done.status.success());
    assert_eq!(card.runs(), 1);
}

/// Nobody else would restore the GPU: the calls of the program would block forever.
#[test]
fn a_program_ends_with_a_message_if_its_helper_is_killed() {
    let Some(card) = Card::learned_with(REPLACED, &["use"]) else {
        return;
    };
    assert_eq!(card.prepare("parked", 1).code, Some(0));
    let standby = card.standbys("parked")[0];
    let supervisor = parent_of(standby);
    let children = format!("/proc/{supervisor}/task/{supervisor}/children");
    let children = fs::read_to_string(children).unwrap();
    let mut children = children.split_whitespace().map(|it| it.parse().unwrap());
    let helper = children.find(|&it: &i32| it != standby).unwrap();
    card.script("Restore.gate", "");
    card.runs();
    let mut started = card.command(&["-v", "--standby"], &["use"]);
    let child = started
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.unwrap();
    for file in ["state/Restore.reached", "ran"] {
        wait_for(&card.directory.join(file), &mut child);
    }
    kill(helper, libc::SIGKILL);
    let done = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&done.stderr);
    let why = "the GPU could not be restored: the helper process has exited";
    assert!(error.contains(why), "{error}");
    assert!(!done.status.success());
    assert_eq!(card.runs(), 1);
    // One that is killed after the restore is not missed.
    card.unscript("Restore.gate");
    assert_eq!(card.prepare("parked", 1).code, Some(0));
    let said = card.start("parked", &["use"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
}

/// Starts without `--standby` keep the parent, but not the standby.
#[test]
fn a_standby_that_no_start_uses_leaves_after_the_idle_limit() {
    let Some(card) = Card::learned(PROGRAM) else {
        return;
    };
    // The next parent has another limit.
    assert_eq!(card.prepare("parked", 1).code, Some(0));
    assert_eq!(card.stop().code, Some(0));
    let mut prepare = card.command(&["--prepare", "--standby=hot", "--idle", "10"], &[]);
    let said = run(&mut prepare);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let standby = card.standbys("hot")[0];
    let parent = handle(parent_of(parent_of(standby))).unwrap();
    let standby = handle(standby).unwrap();
    while !has_exited(&standby, 500) {
        let said = run(&mut card.command(&["-v", "--idle", "10"], &[]));
        assert!(said.err.contains("started warm"), "{}", said.err);
        assert_eq!(said.out, WARM);
    }
    assert!(!has_exited(&parent, 0));
}

#[test]
fn programs_that_could_differ_have_no_standby() {
    let cpu = "print('context', 0)\nimport json";
    let sets = format!("import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\n{PROGRAM}");
    for (program, why) in [
        (cpu, "not seen to use CUDA"),
        (&sets, "mentions CUDA_VISIBLE_DEVICES"),
    ] {
        let Some(card) = Card::learned(program) else {
            return;
        };
        let said = card.prepare("hot", 1);
        assert_eq!(said.code, Some(125));
        assert!(said.err.contains(why), "{}", said.err);
        let said = card.start("hot", &[]);
        assert!(said.err.contains(why), "{}", said.err);
        assert!(said.out.starts_with("context 0"), "{}", said.out);
    }
}
