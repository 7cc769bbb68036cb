//! Inputs of imports: if one has changed, the start is correct, reports the change, and
//! creates a new parent.

use std::fs;
use std::path::Path;
use std::process::Command;

mod support;
#[allow(dead_code, reason = "a part of it is used here")]
#[path = "../../launch/tests/support/terminal.rs"]
mod terminal;
#[path = "start/warm.rs"]
mod warm;
use support::{require, run};
use terminal::Terminal;
use warm::{Observed, Warm, as_is, until};

const PROGRAM: [&str; 2] = ["venv/bin/python", "program.py"];

/// A plain start and one by preheat do the same; how the latter was started.
fn agrees(warm: &Warm, words: &[&str], how: &dyn Fn(&mut Command)) -> (String, String) {
    let mut plain = warm.plain(words);
    how(&mut plain);
    let plain = Observed::of(plain.output().expect("it starts"));
    let mut started = warm.started(words);
    how(&mut started);
    let started = Observed::of(started.output().expect("it starts"));
    let (said, err) = started.err.split_once('\n').unwrap_or((&started.err, ""));
    assert_eq!((&plain.out, &plain.err[..]), (&started.out, err), "{said}");
    assert_eq!(plain.status, started.status, "{said}");
    (said.to_owned(), started.out)
}

/// After `change` the start is plain, for this reason, and the one after it warm again;
/// what they print.
fn notices(warm: &Warm, words: &[&str], how: &dyn Fn(&mut Command), reason: &str) -> String {
    let (said, out) = agrees(warm, words, how);
    assert!(
        said.contains("started plainly") && said.contains(reason),
        "{said}"
    );
    until("it is warm again", || {
        let (said, again) = agrees(warm, words, how);
        assert_eq!(again, out, "{said}");
        said.contains("started warm")
    });
    // So that it does not count as a file that changes at every start.
    for _ in 0..2 {
        assert!(agrees(warm, words, how).0.contains("started warm"));
    }
    out
}

fn left_out(warm: &Warm) -> String {
    run(&mut warm.preheat(&["--list", "-v"])).out
}

#[test]
fn an_edited_env_file_is_read() {
    let package = "import typer
from pydantic_settings import BaseSettings, SettingsConfigDict

class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_file='.env')
    database: str = 'none'

settings = Settings()
app = typer.Typer()

@app.command()
def migrate():
    print('migrates', settings.database)
";
    let Some((warm, installed)) =
        Warm::with_package("pydantic_settings", "from shop import app\napp()\n")
    else {
        return;
    };
    fs::write(installed.join("shop.py"), package).expect("it is written");
    let env = warm.directory.join(".env");
    fs::write(&env, "DATABASE=staging\n").expect("it is written");
    warm.warm_up(&PROGRAM, &as_is);
    let (said, out) = agrees(&warm, &PROGRAM, &as_is);
    assert!(said.contains("started warm"), "{said}");
    assert_eq!(out, "migrates staging\n");
    fs::write(&env, "DATABASE=production\n").expect("it is written");
    let out = notices(&warm, &PROGRAM, &as_is, ".env has changed");
    assert_eq!(out, "migrates production\n");
    fs::remove_file(&env).expect("it goes");
    let out = notices(&warm, &PROGRAM, &as_is, ".env has changed");
    assert_eq!(out, "migrates none\n");
    fs::write(&env, "DATABASE=again\n").expect("it is written");
    let out = notices(&warm, &PROGRAM, &as_is, ".env did not exist before");
    assert_eq!(out, "migrates again\n");
}

#[test]
fn an_edited_matplotlibrc_is_read() {
    let program = "import matplotlib\nprint(matplotlib.rcParams['font.size'])\n";
    let Some((warm, _)) = Warm::with_package("matplotlib", program) else {
        return;
    };
    let file = warm.directory.join("matplotlibrc");
    fs::write(&file, "font.size: 11\n").expect("it is written");
    let home = warm.directory.join("home");
    fs::create_dir(&home).expect("a directory for the test");
    let how = |command: &mut Command| {
        command.env("HOME", &home);
    };
    warm.warm_up(&PROGRAM, &how);
    assert!(agrees(&warm, &PROGRAM, &how).0.contains("started warm"));
    fs::write(&file, "font.size: 12\n").expect("it is written");
    assert_eq!(
        notices(&warm, &PROGRAM, &how, "matplotlibrc has changed"),
        "12.0\n"
    );
}

#[test]
fn a_changed_time_zone_is_noticed() {
    let program = "import json, time\nprint(time.tzname, time.timezone)\n";
    let Some((warm, _)) = Warm::with_package("numpy", program) else {
        return;
    };
    // As `/etc/localtime` is, where TZ does not name a file.
    let (zone, zones) = (
        warm.directory.join("zone"),
        Path::new("/usr/share/zoneinfo"),
    );
    let Ok(_) = fs::copy(zones.join("Asia/Tokyo"), &zone) else {
        return;
    };
    let named = format!(":{}", zone.display());
    let how = |command: &mut Command| {
        command.env("TZ", &named);
    };
    warm.warm_up(&PROGRAM, &how);
    let (said, out) = agrees(&warm, &PROGRAM, &how);
    assert!(
        said.contains("started warm") && out.contains("JST"),
        "{said}{out}"
    );
    let new = warm.directory.join("new");
    fs::copy(zones.join("Europe/Lisbon"), &new).expect("it is a zone");
    fs::rename(&new, &zone).expect("it is moved");
    assert!(notices(&warm, &PROGRAM, &how, "zone has changed").contains("WET"));
}

#[test]
fn a_replaced_library_is_loaded() {
    let version = Command::new("gcc").arg("--version").output().ok();
    if require("gcc", version).is_none() {
        return;
    }
    let Some((warm, installed)) = Warm::with_package("numpy", "import loads\nprint(loads.value)\n")
    else {
        return;
    };
    let library = installed.join("libvalue.so");
    let build = |value: i32| {
        let source = warm.directory.join("value.c");
        fs::write(&source, format!("int value(void) {{ return {value}; }}")).expect("written");
        // A new file takes its place: the old one is mapped.
        let _ = fs::remove_file(&library);
        let mut compiler = Command::new("gcc");
        compiler
            .args(["-shared", "-fPIC", "-o"])
            .arg(&library)
            .arg(&source);
        assert!(compiler.status().expect("it starts").success());
    };
    let package = "import ctypes, os
value = ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'libvalue.so')).value()
";
    fs::write(installed.join("loads.py"), package).expect("it is written");
    build(1);
    warm.warm_up(&PROGRAM, &as_is);
    assert!(agrees(&warm, &PROGRAM, &as_is).0.contains("started warm"));
    build(2);
    // Its directory has changed as well.
    assert_eq!(notices(&warm, &PROGRAM, &as_is, " has changed"), "2\n");
}

#[test]
fn files_in_new_directories_are_found() {
    let program = "import json
try:
    import extra
    print(extra.value)
except ImportError:
    print('none')
";
    let Some((warm, _)) = Warm::with_package("numpy", program) else {
        return;
    };
    let (home, path) = (warm.directory.join("home"), warm.directory.join("later"));
    fs::create_dir(&home).expect("a directory for the test");
    let how = |command: &mut Command| {
        command.env("HOME", &home).env("PYTHONPATH", &path);
    };
    warm.warm_up(&PROGRAM, &how);
    assert!(agrees(&warm, &PROGRAM, &how).0.contains("started warm"));
    fs::create_dir(&path).expect("a directory for the test");
    fs::write(path.join("extra.py"), "value = 'by path'").expect("it is written");
    assert_eq!(
        notices(&warm, &PROGRAM, &how, "later did not exist before"),
        "by path\n"
    );
    fs::remove_dir_all(&path).expect("it goes");
    assert_eq!(
        notices(&warm, &PROGRAM, &how, "later has changed"),
        "none\n"
    );
    let ask = "import site; print(site.getusersitepackages(), end='')";
    let mut asked = warm.plain(&["venv/bin/python", "-c", ask]);
    how(&mut asked);
    let user = String::from_utf8(asked.output().expect("it starts").stdout).expect("a path");
    fs::create_dir_all(&user).expect("a directory for the test");
    fs::write(Path::new(&user).join("extra.py"), "value = 'of the user'").expect("written");
    assert_eq!(
        notices(&warm, &PROGRAM, &how, "did not exist before"),
        "of the user\n"
    );
}

#[test]
fn arguments_matter_to_who_searches_them() {
    let program = "import debugs\nprint(debugs.debug)\n";
    let Some((warm, installed)) = Warm::with_package("numpy", program) else {
        return;
    };
    let package = "import sys\ndebug = '--debug' in sys.argv\n";
    fs::write(installed.join("debugs.py"), package).expect("it is written");
    warm.warm_up(&PROGRAM, &as_is);
    let with_argument = [&PROGRAM[..], &["--debug"]].concat();
    let out = notices(&warm, &with_argument, &as_is, "read its arguments");
    assert_eq!(out, "True\n");
    assert_eq!(agrees(&warm, &PROGRAM, &as_is).1, "False\n");
}

/// Operators of C copy the arguments without asking for an iterator.
#[test]
fn arguments_matter_to_who_copies_them() {
    for (name, value) in [
        ("added", "['x'] + sys.argv"),
        ("unpacked", "['x', *sys.argv]"),
        ("extended", "(lambda to: to.extend(sys.argv) or to)(['x'])"),
        (
            "assigned",
            "(lambda to: to.__setitem__(slice(0), sys.argv) or to)(['x'])",
        ),
        ("joined", "'x' + '-'.join(sys.argv)"),
    ] {
        let program = format!("import {name}\nprint({name}.VALUE)\n");
        let Some((warm, installed)) = Warm::with_package("numpy", &program) else {
            return;
        };
        let text = format!("import sys\nVALUE = {value}\n");
        fs::write(installed.join(format!("{name}.py")), text).expect("it is written");
        warm.warm_up(&PROGRAM, &as_is);
        assert!(agrees(&warm, &PROGRAM, &as_is).0.contains("started warm"));
        let words = [&PROGRAM[..], &["other"]].concat();
        let (said, out) = agrees(&warm, &words, &as_is);
        assert!(said.contains("read its arguments"), "{name}: {said}");
        assert!(out.contains("other"), "{name}: {out}");
    }
}

/// A directory is listed, and one of its names is a link to a file that does not exist yet.
#[test]
fn the_target_of_a_dangling_link_appears() {
    let program = "import reads\nprint(reads.VALUE)\n";
    let Some((warm, installed)) = Warm::with_package("numpy", program) else {
        return;
    };
    let package = "import os
names = os.listdir('settings')
try:
    VALUE = open('settings/local').read()
except FileNotFoundError:
    VALUE = 'none'
";
    fs::write(installed.join("reads.py"), package).expect("it is written");
    let (settings, target) = (
        warm.directory.join("settings"),
        warm.directory.join("target"),
    );
    fs::create_dir(&settings).expect("a directory for the test");
    std::os::unix::fs::symlink(&target, settings.join("local")).expect("a link");
    warm.warm_up(&PROGRAM, &as_is);
    assert_eq!(agrees(&warm, &PROGRAM, &as_is).1, "none\n");
    fs::write(&target, "production").expect("it is written");
    let out = notices(&warm, &PROGRAM, &as_is, "local did not exist before");
    assert_eq!(out, "production\n");
}

/// Functions for forks would run twice in each start, and locks on memory are not inherited.
#[test]
fn changes_by_a_fork_are_made_in_each_start() {
    let program = "import os, forks, locks, harmless
locked = [line for line in open('/proc/self/status') if line.startswith('VmLck')]
print(os.path.exists('forked'), locked[0].split()[1] != '0')
";
    let Some((warm, installed)) = Warm::with_package("filelock", program) else {
        return;
    };
    for (name, text) in [
        (
            "forks",
            "import os
def forked(): open('forked', 'a').write('x')
os.register_at_fork(after_in_child=forked)
",
        ),
        ("locks", "import ctypes\nctypes.CDLL(None).mlockall(1)\n"),
        ("harmless", "import filelock\n"),
    ] {
        fs::write(installed.join(format!("{name}.py")), text).expect("it is written");
    }
    warm.warm_up(&PROGRAM, &as_is);
    for _ in 0..2 {
        let (said, out) = agrees(&warm, &PROGRAM, &as_is);
        assert!(said.contains("started warm"), "{said}");
        assert!(out.starts_with("False "), "{out}");
    }
    let listed = left_out(&warm);
    for expected in [
        "not ahead: forks, which registers a function for forks",
        "not ahead: locks, which locks memory",
    ] {
        assert!(listed.contains(expected), "{listed}");
    }
    assert!(!listed.contains("filelock"), "{listed}");
}

#[test]
fn variables_that_native_code_asks_for_matter() {
    let program = "import numpy\nprint(numpy.__version__)\n";
    // numpy from PyPI contains OpenBLAS.
    let Some((warm, _)) = Warm::with_package("pydantic_settings", program) else {
        return;
    };
    warm.warm_up(&PROGRAM, &as_is);
    assert!(agrees(&warm, &PROGRAM, &as_is).0.contains("started warm"));
    for (variable, value) in [("NPY_DISABLE_CPU_FEATURES", ""), ("GOTO_NUM_THREADS", "1")] {
        let how = |command: &mut Command| {
            command.env(variable, value);
        };
        let reason = format!("{variable} has a different value");
        notices(&warm, &PROGRAM, &how, &reason);
    }
    // Others do not.
    let how = |command: &mut Command| {
        command.env("ANY_OTHER", "0");
    };
    assert!(agrees(&warm, &PROGRAM, &how).0.contains("started warm"));
    for (variable, value) in [("LOCPATH", "/nowhere"), ("MIMALLOC_VERBOSE", "0")] {
        let how = |command: &mut Command| {
            command.env(variable, value);
        };
        let (said, _) = agrees(&warm, &PROGRAM, &how);
        assert!(said.contains("started plainly"), "{said}");
    }
}

#[test]
fn a_terminal_matters_to_who_asks_for_it() {
    let program = "import json, loguru, structlog, sys
loguru.logger.info('by loguru')
structlog.get_logger().info('by structlog')
";
    let Some((warm, _)) = Warm::with_package("loguru", program) else {
        return;
    };
    let mut command = Command::new("bash");
    let exe = env!("CARGO_BIN_EXE_preheat");
    command
        .args(["--norc", "--noprofile", "-i"])
        .current_dir(warm.directory.path())
        .env("PS1", "")
        .env("TERM", "xterm")
        .env("XDG_RUNTIME_DIR", warm.directory.join("run"))
        .env("XDG_CACHE_HOME", warm.directory.join("cache"))
        .env(
            "WARM",
            format!("{exe} start -v --patience 60 -- venv/bin/python program.py"),
        );
    let mut terminal = Terminal::new(command);
    terminal.type_in("$WARM 2>&1 | cat; echo first $?\n");
    terminal.expect("by loguru");
    terminal.expect("first 0\r\n");
    warm.settle();
    terminal.type_in("$WARM 2>&1 | cat; echo piped $?\n");
    terminal.expect("started warm");
    terminal.expect(" - by loguru\r\n");
    terminal.expect("piped 0\r\n");
    // At the terminal both have colors; the parent for the pipe is not right.
    terminal.type_in("$WARM; echo colored $?\n");
    terminal.expect("is a terminal");
    terminal.expect("\x1b[1mby loguru\x1b[0m");
    terminal.expect("\x1b[1mby structlog");
    terminal.expect("colored 0\r\n");
    until("there is a parent for the terminal", || warm.count() == 2);
    terminal.type_in("$WARM; echo again $?\n");
    terminal.expect("started warm");
    terminal.expect("\x1b[1mby loguru\x1b[0m");
    terminal.expect("\x1b[1mby structlog");
    terminal.expect("again 0\r\n");
    let listed = left_out(&warm);
    assert!(listed.contains("asks about the terminal"), "{listed}");
}

/// `isatty` makes the first of these requests, and the second one since glibc 2.42.
#[test]
fn requests_that_ask_about_a_terminal_are_no_acts() {
    let program = "import json, tries\nprint(tries.found)\n";
    let Some((warm, installed)) = Warm::with_package("numpy", program) else {
        return;
    };
    let tries = "import fcntl
found = []
for request in (0x5401, 0x802c542a):
    try:
        fcntl.ioctl(0, request, bytes(60))
    except OSError as error:
        found.append(error.errno)
";
    fs::write(installed.join("tries.py"), tries).expect("it is written");
    warm.warm_up(&PROGRAM, &as_is);
    let (said, out) = agrees(&warm, &PROGRAM, &as_is);
    assert!(said.contains("started warm"), "{said}");
    assert_eq!(out, "[25, 25]\n");
    let listed = left_out(&warm);
    assert!(!listed.contains("controls a device"), "{listed}");
}

/// A module that acts has its effect once in every start, and never in a trial.
#[test]
fn an_act_happens_once_in_each_start() {
    for (act, why) in [
        ("open('log', 'a').write('x')", "writes"),
        ("os.mkdir('log%d' % len(os.listdir()))", "creates"),
        (
            "subprocess.run(['sh', '-c', 'printf x >> log'], check=True)",
            "starts a process",
        ),
        (
            "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', 'listens')",
            "sends to a socket",
        ),
        (
            "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendmsg([b'x'], [], 0, 'listens')",
            "sends to a socket",
        ),
    ] {
        let Some((warm, installed)) = Warm::with_package("numpy", "import json, acts\n") else {
            return;
        };
        let package = format!("import os, socket, subprocess\n{act}\n");
        fs::write(installed.join("acts.py"), package).expect("it is written");
        let socket = std::os::unix::net::UnixDatagram::bind(warm.directory.join("listens"));
        let socket = socket.expect("a socket for the test");
        socket.set_nonblocking(true).expect("it can be");
        let effects = || {
            let mut datagrams = 0;
            while socket.recv(&mut [0; 8]).is_ok() {
                datagrams += 1;
            }
            let written = fs::read(warm.directory.join("log"))
                .unwrap_or_default()
                .len();
            let names = fs::read_dir(warm.directory.path())
                .expect("it exists")
                .flatten();
            let made = names.filter(|it| it.path().is_dir()).count();
            (written, made, datagrams)
        };
        let before = effects();
        warm.warm_up(&PROGRAM, &as_is);
        let first = effects();
        let one = (first.0 - before.0, first.1 - before.1, first.2);
        assert!(
            [(1, 0, 0), (0, 1, 0), (0, 0, 1)].contains(&one),
            "{act}: {one:?}"
        );
        let started = warm.started(&PROGRAM).output().expect("it starts");
        Observed::of(started).warm(&PROGRAM);
        let second = effects();
        let two = (second.0 - first.0, second.1 - first.1, second.2);
        assert_eq!(two, one, "{act}");
        let listed = left_out(&warm);
        assert!(
            listed.contains("acts, which ") && listed.contains(why),
            "{listed}"
        );
    }
}

/// Values that a fresh process draws by chance differ from start to start.
#[test]
fn values_by_chance_are_drawn_in_each_start() {
    for (package, reason) in [
        (
            "import numpy\nvalue = numpy.random.default_rng().integers(2**62)",
            Some("keeps random bytes"),
        ),
        (
            "import secrets\nvalue = secrets.token_hex()",
            Some("keeps random bytes"),
        ),
        (
            "import os\nvalue = os.urandom(16)",
            Some("keeps random bytes"),
        ),
        (
            "import uuid\nvalue = uuid.uuid4()",
            Some("keeps random bytes"),
        ),
        (
            "import os\nvalue = os.getpid()",
            Some("keeps the process ID"),
        ),
        (
            "import random\nvalue = random.random()",
            Some("draws random numbers"),
        ),
        (
            "import random\nvalue = random.Random().getrandbits(64)",
            Some("draws random numbers"),
        ),
        (
            "import random\nclass Own(random.Random): pass\nvalue = Own().sample(range(99999), 5)",
            Some("draws random numbers"),
        ),
        (
            "import tempfile\nvalue = tempfile.mktemp()",
            Some("draws random numbers"),
        ),
        (
            "import ssl\nvalue = ssl.RAND_bytes(8)",
            Some("keeps random bytes"),
        ),
        (
            "import _ssl\nvalue = _ssl.RAND_bytes(8)",
            Some("keeps random bytes"),
        ),
        (
            "value = open('/dev/urandom', 'rb').read(16)",
            Some("reads random bytes"),
        ),
        (
            "import multiprocessing\nvalue = multiprocessing.current_process().pid",
            Some("keeps the process ID"),
        ),
        (
            "import threading\nvalue = threading.get_native_id()",
            Some("keeps the process ID"),
        ),
        (
            "import random
class Own(random.Random):
    def seed(self, *values):
        super().seed()
own = Own()
class Later:
    def __repr__(self): return repr(own.random())
value = Later()",
            Some("creates a random generator"),
        ),
        (
            "import random
class Own(random.Random):
    pass
own = Own()
class Later:
    def __repr__(self): return repr(own.random())
value = Later()",
            None,
        ),
    ] {
        let Some((warm, installed)) =
            Warm::with_package("numpy", "import json, draws\nprint(repr(draws.value))\n")
        else {
            return;
        };
        fs::write(installed.join("draws.py"), package).expect("it is written");
        warm.warm_up(&PROGRAM, &as_is);
        let start = || {
            let output = warm.started(&PROGRAM).output().expect("it starts");
            Observed::of(output).warm(&PROGRAM).out
        };
        let (first, second) = (start(), start());
        assert_ne!(first, second, "{package}");
        let listed = left_out(&warm);
        match reason {
            Some(reason) => assert!(listed.contains(reason), "{package}: {listed}"),
            None => assert!(!listed.contains("draws"), "{package}: {listed}"),
        }
    }
}

/// A generator with a constant seed draws the same numbers in each process.
#[test]
fn numbers_by_a_constant_seed_are_drawn_ahead() {
    let program = "import json, draws\nprint(draws.value, draws.later.random() != draws.value)\n";
    let Some((warm, installed)) = Warm::with_package("numpy", program) else {
        return;
    };
    let package = "import random
own = random.Random(7)
value = own.random()
later = random.Random()
later.seed('text')
value += later.random() + random.Random(x=3).random()
later = random.Random()
";
    fs::write(installed.join("draws.py"), package).expect("it is written");
    warm.warm_up(&PROGRAM, &as_is);
    assert!(agrees(&warm, &PROGRAM, &as_is).0.contains("started warm"));
    let listed = left_out(&warm);
    assert!(!listed.contains("not ahead"), "{listed}");
}

/// A module that reads a file which differs at each start is left out after a while.
#[test]
fn a_file_that_always_changes_is_read_by_the_program() {
    let program = "import json, counts\nopen('count', 'a').write('x')\nprint(counts.count)\n";
    let Some((warm, installed)) = Warm::with_package("numpy", program) else {
        return;
    };
    let package = "import os\ncount = os.path.exists('count') and len(open('count').read())\n";
    fs::write(installed.join("counts.py"), package).expect("it is written");
    for number in 0.. {
        let output = warm.started(&PROGRAM).output().expect("it starts");
        let observed = Observed::of(output);
        let expected = if number == 0 {
            "False\n".into()
        } else {
            format!("{number}\n")
        };
        assert_eq!(observed.out, expected, "{}", observed.err);
        warm.settle();
        if left_out(&warm).contains("count, which differs at each start") {
            break;
        }
        assert!(number < 20, "{}", observed.err);
    }
    for _ in 0..2 {
        let output = warm.started(&PROGRAM).output().expect("it starts");
        Observed::of(output).warm(&PROGRAM);
    }
}

/// PyTorch 2.5 to 2.8 makes a directory for temporary files when it is imported; a module of
/// the same name, which does the same, stands for it.
#[test]
fn a_temporary_directory_is_made_in_each_start_and_removed() {
    let program = "import os, sys, torch.distributed.nn.jit.instantiator as made
import _remote_module_non_scriptable as generated
path = made.INSTANTIATED_TEMPLATE_DIR_PATH
print(os.listdir(path) and path in sys.path and generated.__file__.startswith(path), path)
";
    let Some((warm, installed)) = Warm::with_package("numpy", program) else {
        return;
    };
    let package = installed.join("torch/distributed/nn/jit");
    fs::create_dir_all(&package).expect("a directory for the test");
    for above in package.ancestors().take(4) {
        fs::write(above.join("__init__.py"), "").expect("it is written");
    }
    let content = "import atexit, os, sys, tempfile
_TEMP_DIR = tempfile.TemporaryDirectory()
INSTANTIATED_TEMPLATE_DIR_PATH = _TEMP_DIR.name
atexit.register(_TEMP_DIR.cleanup)
sys.path.append(INSTANTIATED_TEMPLATE_DIR_PATH)
with open(os.path.join(_TEMP_DIR.name, '_remote_module_non_scriptable.py'), 'w') as file:
    file.write('value = 1')
import _remote_module_non_scriptable
";
    fs::write(package.join("instantiator.py"), content).expect("it is written");
    let temporary = warm.directory.join("temporary");
    fs::create_dir(&temporary).expect("a directory for the test");
    let how = |command: &mut Command| {
        command.env("TMPDIR", &temporary);
    };
    warm.warm_up(&PROGRAM, &how);
    let mut paths = Vec::new();
    for _ in 0..2 {
        let mut started = warm.started(&PROGRAM);
        how(&mut started);
        let observed = Observed::of(started.output().expect("it starts")).warm(&PROGRAM);
        assert_eq!(observed.err, "");
        let path = observed
            .out
            .strip_prefix("True ")
            .expect("it exists")
            .trim_end()
            .to_owned();
        assert!(!Path::new(&path).exists());
        paths.push(path);
    }
    assert_ne!(paths[0], paths[1]);
    assert_eq!(fs::read_dir(&temporary).expect("it exists").count(), 0);
    assert!(!left_out(&warm).contains("instantiator"));
}

/// Imports may try a directory for temporary files, if they remove what they create there.
#[test]
fn temporary_files_that_an_import_removes_are_harmless() {
    let attempt = "import os, pathlib, tempfile
with tempfile.TemporaryDirectory() as directory:
    source = pathlib.Path(directory, 'source')
    source.touch()
    os.link(source, pathlib.Path(directory, 'link'))
    found = len(os.listdir(directory))
with tempfile.NamedTemporaryFile(suffix='.so') as file:
    file.write(b'x')
with tempfile.TemporaryFile() as file:
    file.write(b'x')
del directory, source, file
";
    let left = "import os, tempfile\nfound = tempfile.mkdtemp()\n";
    let linked = "import os, tempfile
with tempfile.TemporaryDirectory() as directory:
    os.link('program.py', os.path.join(directory, 'linked'))
";
    let symbolic = "import os, tempfile
with tempfile.TemporaryDirectory() as directory:
    os.symlink('/', os.path.join(directory, 'root'))
";
    // The same name at each start: others may look for it.
    let fixed = "import os, tempfile
path = os.path.join(tempfile.gettempdir(), 'tmp.lock')
os.close(os.open(path, os.O_CREAT | os.O_EXCL))
os.unlink(path)
";
    for (content, why) in [
        (attempt, None),
        (left, Some("leaves")),
        (linked, Some("creates")),
        (symbolic, Some("creates")),
        (fixed, Some("writes")),
    ] {
        let program = "import json, tries\nprint(getattr(tries, 'found', None) == 2)\n";
        let Some((warm, installed)) = Warm::with_package("numpy", program) else {
            return;
        };
        fs::write(installed.join("tries.py"), content).expect("it is written");
        let temporary = warm.directory.join("temporary");
        fs::create_dir(&temporary).expect("a directory for the test");
        let how = |command: &mut Command| {
            command.env("TMPDIR", &temporary);
        };
        let names = || fs::read_dir(&temporary).expect("it exists").count();
        warm.warm_up(&PROGRAM, &how);
        let before = names();
        let (said, out) = agrees(&warm, &PROGRAM, &how);
        assert!(said.contains("started warm"), "{said}");
        assert_eq!(out.trim(), if why.is_none() { "True" } else { "False" });
        // The plain and the warm start leave theirs behind, and no other process does.
        let is_left = usize::from(content == left);
        assert_eq!((before, names()), (is_left, 3 * is_left), "{content}");
        let listed = left_out(&warm);
        match why {
            Some(why) => {
                let expected = format!("not ahead: tries, which {why}");
                assert!(listed.contains(&expected), "{listed}");
            }
            None => {
                assert!(!listed.contains("not ahead"), "{listed}");
                // Its answer depends on the directory.
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o750);
                fs::set_permissions(&temporary, mode).expect("it can be");
                notices(&warm, &PROGRAM, &how, "temporary has changed");
            }
        }
    }
}

/// A lock of filelock works only in the process that created it; its classes work everywhere.
#[test]
fn a_lock_that_a_module_creates_is_the_programs() {
    let program = "import json, derives, creates
for lock in (derives.Lock('a.lock'), creates.lock):
    with lock:
        print(lock.is_locked)
";
    let Some((warm, installed)) = Warm::with_package("filelock", program) else {
        return;
    };
    for (name, content) in [
        ("derives", "class Lock(filelock.FileLock):\n    pass\n"),
        ("creates", "lock = filelock.FileLock('b.lock')\n"),
    ] {
        let text = format!("import filelock\n{content}");
        fs::write(installed.join(format!("{name}.py")), text).expect("it is written");
    }
    warm.warm_up(&PROGRAM, &as_is);
    let (said, out) = agrees(&warm, &PROGRAM, &as_is);
    assert!(said.contains("started warm"), "{said}");
    assert_eq!(out, "True\nTrue\n");
    let listed = left_out(&warm);
    assert!(
        listed.contains("not ahead: creates, which keeps the process ID"),
        "{listed}"
    );
    assert!(!listed.contains("derives"), "{listed}");
}

/// `ctypes.util.find_library` runs `ldconfig -p`, which prints a file.
#[test]
fn a_library_that_an_import_looks_up_is_an_input() {
    let program = "import json, looks, runs\nprint(looks.found, runs.found)\n";
    let Some((warm, installed)) = Warm::with_package("numpy", program) else {
        return;
    };
    let looks = "import ctypes.util\nfound = ctypes.util.find_library('c')\n";
    let runs = "import subprocess
found = subprocess.run(['/sbin/ldconfig', '--version'], stdout=-1, check=True).stdout[:8]
";
    for (name, content) in [("looks.py", looks), ("runs.py", runs)] {
        fs::write(installed.join(name), content).expect("it is written");
    }
    warm.warm_up(&PROGRAM, &as_is);
    let (said, out) = agrees(&warm, &PROGRAM, &as_is);
    assert!(said.contains("started warm"), "{said}");
    assert_eq!(out, "libc.so.6 b'ldconfig'\n");
    let listed = left_out(&warm);
    assert!(
        listed.contains("not ahead: runs, which starts a process"),
        "{listed}"
    );
    assert!(!listed.contains("looks"), "{listed}");
    let parents = fs::read_dir(warm.directory.join("run/preheat"));
    let files = parents.expect("it exists").flatten();
    let mut states = files.filter(|it| it.path().extension().is_some_and(|it| it == "parent"));
    let state = fs::read(states.next().expect("a parent").path()).expect("it can be read");
    let cache = b"\0/etc/ld.so.cache\0";
    assert!(state.windows(cache.len()).any(|part| part == cache));
}

/// A module that loads when it is first used is not loaded by preheat, and pytest is a library
/// where it runs no tests.
#[test]
fn lazy_modules_and_test_libraries_stay_what_they_are() {
    let program = "import json, lazily, pytest, sys
print('lazy' in sys.modules, lazily.is_loaded())
";
    let Some((warm, installed)) = Warm::with_package("pytest", program) else {
        return;
    };
    let lazily = "import importlib.util, os, sys
spec = importlib.util.find_spec('lazy')
spec.loader = importlib.util.LazyLoader(spec.loader)
module = importlib.util.module_from_spec(spec)
sys.modules['lazy'] = module
spec.loader.exec_module(module)
def is_loaded():
    return type(module).__name__ != '_LazyModule'
";
    for (name, content) in [
        ("lazily.py", lazily),
        ("lazy.py", "open('loaded', 'a').close()\n"),
    ] {
        fs::write(installed.join(name), content).expect("it is written");
    }
    warm.warm_up(&PROGRAM, &as_is);
    let (said, out) = agrees(&warm, &PROGRAM, &as_is);
    assert!(said.contains("started warm"), "{said}");
    assert_eq!(out, "True False\n");
    assert!(!warm.directory.join("loaded").exists());
    assert!(!left_out(&warm).contains("not ahead"));
}

/// A module keeps what it asks about its process, which a warm parent cannot know.
#[test]
fn an_import_that_asks_about_its_process_asks_in_each_start() {
    const MODULES: [(&str, &str, &str); 5] = [
        (
            "words",
            "open('/proc/self/cmdline', 'rb').read()",
            "reads the command line of its process",
        ),
        (
            "status",
            "open('/proc/self/status').read().split('Umask:')[1][:6]",
            "reads the status of its process",
        ),
        (
            "input_type",
            "os.fstat(0).st_mode",
            "inspects a standard stream",
        ),
        (
            "position",
            "sys.stdin.seekable()",
            "inspects a standard stream",
        ),
        (
            "handlers",
            "signal.getsignal(signal.SIGUSR1)",
            "asks how signals are handled",
        ),
    ];
    let names = MODULES.map(|(name, ..)| name).join(", ");
    let values = MODULES.map(|(name, ..)| format!("{name}.VALUE")).join(", ");
    let program = format!("import numpy, {names}\nprint({values})\n");
    let Some((warm, installed)) = Warm::with_package("numpy", &program) else {
        return;
    };
    for (name, value, _) in MODULES {
        let text = format!("import os, signal, sys\nVALUE = {value}\n");
        fs::write(installed.join(format!("{name}.py")), text).expect("it is written");
    }
    let words = [&PROGRAM[..], &["an argument"]].concat();
    warm.warm_up(&words, &as_is);
    for line in [
        "exec $@",
        "umask 027; exec $@",
        "exec $@ <program.py",
        "trap '' USR1; exec $@",
    ] {
        let exe = env!("CARGO_BIN_EXE_preheat");
        let shell = ["sh", "-c", line, "sh"];
        let preheat = [exe, "start", "-v", "--patience", "60", "--"];
        let plain = warm.plain(&[&shell[..], &words].concat()).output();
        let plain = Observed::of(plain.expect("it starts"));
        let started = [&shell[..], &preheat, &words].concat();
        let started = Observed::of(warm.plain(&started).output().expect("it starts"));
        let started = started.warm(&words);
        assert_eq!(plain.out, started.out, "{line}");
        assert_eq!(plain.err, started.err, "{line}");
    }
    let listed = left_out(&warm);
    for (name, _, why) in MODULES {
        assert!(listed.contains(&format!("{name}, which {why}")), "{listed}");
    }
}

/// `python -m` replaces the first argument by the path of the module.
#[test]
fn an_import_sees_the_path_of_a_module_that_is_run() {
    let program = "import numpy, named\nprint(named.VALUE, named.REST)\n";
    let Some((warm, installed)) = Warm::with_package("numpy", program) else {
        return;
    };
    let text = "import sys\nVALUE = sys.argv[0]\nREST = len(sys.argv)\n";
    fs::write(installed.join("named.py"), text).expect("it is written");
    let words = ["venv/bin/python", "-m", "program"];
    warm.warm_up(&words, &as_is);
    let (said, out) = agrees(&warm, &words, &as_is);
    assert!(said.contains("started warm"), "{said}");
    assert!(out.ends_with("program.py 1\n"), "{out}");
    let listed = left_out(&warm);
    let why = "named, which reads the path of the program, which is set later";
    assert!(listed.contains(why), "{listed}");
}

/// An installed module looks for an optional one, also in the program's directory.
#[test]
fn an_optional_module_appears_beside_the_program() {
    let program = "import numpy, optional\nprint(optional.VALUE, optional.IS_FOUND)\n";
    let Some((warm, installed)) = Warm::with_package("numpy", program) else {
        return;
    };
    let text = "import importlib.util\ntry:\n    import faster\n    VALUE = 1\n\
        except ImportError:\n    VALUE = None\n\
        IS_FOUND = importlib.util.find_spec('faster_still') is not None\n";
    fs::write(installed.join("optional.py"), text).expect("it is written");
    warm.warm_up(&PROGRAM, &as_is);
    assert_eq!(agrees(&warm, &PROGRAM, &as_is).1, "None False\n");
    let paths = ["faster.py", "faster_still.py"].map(|name| warm.directory.join(name));
    fs::write(&paths[0], "").expect("it is written");
    let (said, out) = agrees(&warm, &PROGRAM, &as_is);
    assert!(said.contains("faster.py did not exist before"), "{said}");
    assert_eq!(out, "1 False\n");
    fs::remove_file(&paths[0]).expect("it goes");
    fs::write(&paths[1], "").expect("it is written");
    assert_eq!(agrees(&warm, &PROGRAM, &as_is).1, "None True\n");
    fs::remove_file(&paths[1]).expect("it goes");
    assert_eq!(agrees(&warm, &PROGRAM, &as_is).1, "None False\n");
    // A directory is a package, even without a file.
    fs::create_dir(warm.directory.join("faster")).expect("it is made");
    assert_eq!(agrees(&warm, &PROGRAM, &as_is).1, "1 False\n");
}

/// All arguments of the interpreter are there while modules are imported.
#[test]
fn an_import_sees_all_original_arguments() {
    let program = "import numpy, words\nprint(words.VALUE)\n";
    let Some((warm, installed)) = Warm::with_package("numpy", program) else {
        return;
    };
    let text = "import sys\nVALUE = sys.orig_argv[-2:]\n";
    fs::write(installed.join("words.py"), text).expect("it is written");
    let words = [&PROGRAM[..], &["--one", "two"]].concat();
    warm.warm_up(&words, &as_is);
    let (said, out) = agrees(&warm, &words, &as_is);
    assert!(said.contains("started warm"), "{said}");
    assert_eq!(out, "['--one', 'two']\n");
}

/// A package without `__init__` has a part in each directory that has one of its name.
#[test]
fn a_new_part_of_a_package_is_noticed() {
    let program = "import numpy, whole.one\nprint(len(whole.__path__), whole.one.VALUE)\n";
    let Some((warm, installed)) = Warm::with_package("numpy", program) else {
        return;
    };
    let write = |path: &Path, text: &str| {
        fs::create_dir_all(path.parent().expect("it is in a directory")).expect("it is made");
        fs::write(path, text).expect("it is written");
    };
    write(&installed.join("whole/one.py"), "VALUE = 'installed'\n");
    warm.warm_up(&PROGRAM, &as_is);
    assert!(agrees(&warm, &PROGRAM, &as_is).0.contains("started warm"));
    write(&warm.directory.join("whole/two.py"), "");
    let (said, out) = agrees(&warm, &PROGRAM, &as_is);
    assert!(said.contains("whole did not exist before"), "{said}");
    assert_eq!(out, "2 installed\n");
    write(&warm.directory.join("whole/one.py"), "VALUE = 'beside'\n");
    assert_eq!(agrees(&warm, &PROGRAM, &as_is).1, "2 beside\n");
}

/// A module that keeps a standard stream may keep that there is none.
#[test]
fn a_closed_stream_matters_to_who_keeps_it() {
    let program = "import numpy, keeps\nprint(keeps.VALUE)\n";
    let Some((warm, installed)) = Warm::with_package("numpy", program) else {
        return;
    };
    let text = "import sys\nVALUE = sys.stdin is None\n";
    fs::write(installed.join("keeps.py"), text).expect("it is written");
    warm.warm_up(&PROGRAM, &as_is);
    assert!(agrees(&warm, &PROGRAM, &as_is).0.contains("started warm"));
    let exe = env!("CARGO_BIN_EXE_preheat");
    let closed = ["sh", "-c", "exec $@ <&-", "sh", exe, "start", "-v", "--"];
    let words = [&closed[..], &PROGRAM].concat();
    let started = Observed::of(warm.plain(&words).output().expect("it starts"));
    assert_eq!(started.out, "True\n");
    assert!(
        started
            .err
            .contains("one of its standard streams is closed"),
        "{}",
        started.err
    );
}
