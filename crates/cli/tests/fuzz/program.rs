//! Programs that the fuzzer makes: statements in a random order, some of which import an
//! installed module that does something when it is imported.
//!
//! In the texts `{p}` is the beginning of the names of a program's installed modules, and
//! `{n}` a number. A value after `RANDOM:` must differ in each start.

use super::random::Random;

/// Something that a program does.
pub struct Statement {
    /// The name in the table of known differences.
    pub name: &'static str,
    /// The text of the installed module `{p}_NAME`, if it has one.
    pub module: &'static str,
    pub code: &'static str,
}

const fn own(name: &'static str, code: &'static str) -> Statement {
    Statement {
        name,
        module: "",
        code,
    }
}

const fn installed(name: &'static str, module: &'static str, code: &'static str) -> Statement {
    Statement { name, module, code }
}

/// Everything that a program may do. The last ones end it.
pub const STATEMENTS: &[Statement] = &[
    own(
        "imports",
        "import collections, decimal, fractions, json; print(json.dumps([{n}, str(decimal.Decimal(1) / 7)]))",
    ),
    own(
        "numpy",
        "import numpy; print(numpy.arange({n}).sum(), numpy.get_printoptions()['precision'])",
    ),
    own(
        "requests",
        "import requests; print(requests.utils.default_user_agent()[:9], requests.certs.where()[-4:])",
    ),
    own("yaml", "import yaml; print(yaml.safe_load('a: {n}'))"),
    own(
        "looks_at_modules",
        "print({n}, [name for name in sys.modules if not name.startswith('importlib')])",
    ),
    own(
        "looks_at_packages",
        "print({n}, [(name, sorted(vars(sys.modules[name]))) for name in ('numpy', 'json', 'yaml', 'requests', 'email', 'xml') if name in sys.modules], hasattr(sys.modules.get('numpy'), 'fft'))",
    ),
    own(
        "imports_a_part",
        "import xml.dom.minidom, email.message, concurrent.futures; print({n})",
    ),
    own(
        "reads_variable",
        "print(os.environ.get('FUZZ_A'), os.getenv('FUZZ_B', 'none'))",
    ),
    own(
        "lists_variables",
        "print(sorted(name for name in os.environ if name.startswith('FUZZ')))",
    ),
    own(
        "sets_variable",
        "os.environ['FUZZ_' + 'SET'] = 'by the program'; os.putenv('FUZZ_PUT', '{n}')",
    ),
    own("reads_file", "print(open('read.txt').read())"),
    own(
        "lists_directory",
        "print(sorted(name for name in os.listdir('.') if name.endswith('.txt')))",
    ),
    own(
        "probes_file",
        "print(os.path.exists('absent.txt'), os.path.exists('read.txt'))",
    ),
    own(
        "own_module",
        "import fuzz_own; print(fuzz_own.VALUE, fuzz_own.__file__)",
    ),
    own(
        "path_edit",
        "sys.path.insert(0, 'vendored'); import fuzz_vendored; print(fuzz_vendored.VALUE, sys.path[:2])",
    ),
    own(
        "filters",
        "import warnings; warnings.simplefilter('always'); warnings.warn('number {n}')",
    ),
    own(
        "logs",
        "import logging; logging.basicConfig(level=logging.INFO); logging.getLogger('fuzz').info('{n} %s', logging.root.level)",
    ),
    own(
        "arguments",
        "import argparse; a = argparse.ArgumentParser(); a.add_argument('--number', type=int, default={n}); a.add_argument('--debug', action='store_true'); print(a.parse_known_args())",
    ),
    own(
        "prints",
        "print('out {n}'); print('err {n}', file=sys.stderr); sys.stdout.write('no end')",
    ),
    own(
        "random",
        "import random; print('RANDOM:%r' % random.random())",
    ),
    own(
        "seeded",
        "import random; print(random.Random({n}).random())",
    ),
    own(
        "secrets",
        "import secrets, uuid; print('RANDOM:' + secrets.token_hex(8), 'RANDOM:%s' % uuid.uuid4())",
    ),
    own(
        "time_zone",
        "import time, datetime; print(time.tzname, time.localtime(0)[3], datetime.datetime.fromtimestamp(86400))",
    ),
    own(
        "sets_time_zone",
        "import time; os.environ['TZ'] = 'Asia/Tokyo'; time.tzset(); print(time.localtime(0)[3])",
    ),
    own(
        "directory",
        "print(os.getcwd(), os.path.abspath('x'), __file__)",
    ),
    own(
        "changes_directory",
        "os.makedirs('below', exist_ok=True); os.chdir('below'); print(os.getcwd()); os.chdir('..')",
    ),
    own(
        "signals",
        "import signal; print([str(signal.getsignal(n)) for n in (1, 2, 10, 13, 15)])",
    ),
    own(
        "handles_signal",
        "import signal; signal.signal(10, lambda n, _: print('got', n)); signal.raise_signal(10)",
    ),
    own(
        "at_exit",
        "import atexit; atexit.register(print, 'at exit {n}')",
    ),
    own(
        "finalizes",
        "import weakref\nclass Fuzz_{n}:\n    def __del__(self): print('deleted {n}')\nkept_{n} = Fuzz_{n}(); weakref.finalize(kept_{n}, print, 'finalized {n}')",
    ),
    own(
        "cycle",
        "class Cycle_{n}:\n    def __del__(self): print('collected {n}')\ncycle_{n} = Cycle_{n}(); cycle_{n}.me = cycle_{n}; del cycle_{n}; import gc; gc.collect(); print(gc.isenabled(), gc.get_threshold())",
    ),
    own(
        "child",
        "import subprocess; sys.stdout.flush(); print(subprocess.run([sys.executable, '-c', 'import os, sys; print(sorted(n for n in os.environ if n[:4] in (\"FUZZ\", \"PREH\")), sys.path[1:3])'], capture_output=True, text=True))",
    ),
    own(
        "shell",
        "sys.stdout.flush(); os.system('umask; ulimit -n; echo $FUZZ_A; pwd')",
    ),
    own(
        "thread",
        "import threading; t = threading.Thread(target=print, args=('in a thread',)); t.start(); t.join(); print(threading.active_count(), threading.current_thread().name)",
    ),
    own(
        "late_thread",
        "import threading; threading.Thread(target=lambda: (threading.main_thread().join(), print('late {n}'))).start()",
    ),
    own(
        "fork",
        "sys.stdout.flush(); child = os.fork()\nif not child: print('child'); sys.stdout.flush(); os._exit(3)\nprint(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))",
    ),
    own(
        "writes_file",
        "open('written-{n}.txt', 'w').write('text'); os.mkfifo('pipe-{n}'); os.symlink('read.txt', 'link-{n}')",
    ),
    own(
        "reads_input",
        "print(repr(sys.stdin.read()) if sys.stdin else None)",
    ),
    own(
        "streams",
        "print([(s and (s.encoding, s.errors, s.line_buffering, s.isatty(), s.fileno())) for s in (sys.stdin, sys.stdout, sys.stderr)])",
    ),
    own(
        "limits",
        "import resource; print([resource.getrlimit(n) for n in range(10)], oct(os.umask(0o22)))",
    ),
    own(
        "host",
        "import socket; print(socket.gethostname(), os.uname().nodename)",
    ),
    own(
        "processors",
        "print(sorted(os.sched_getaffinity(0)), os.cpu_count())",
    ),
    own(
        "locale",
        "import locale; print(locale.setlocale(locale.LC_ALL, ''), locale.getpreferredencoding())",
    ),
    own(
        "flags",
        "print(sys.flags, sys.warnoptions, sys.argv, sys.orig_argv[1:])",
    ),
    own(
        "recursion",
        "print(sys.getrecursionlimit()); sys.setrecursionlimit(2000)",
    ),
    own(
        "pickles",
        "import pickle, copyreg; print(pickle.loads(pickle.dumps({'a': {n}})), len(copyreg.dispatch_table) >= 0)",
    ),
    own(
        "pool",
        "from concurrent.futures import ThreadPoolExecutor as Pool\nwith Pool(2) as pool: print(list(pool.map(str, range({n} % 5))))",
    ),
    own(
        "asynchronous",
        "import asyncio\nasync def work(): await asyncio.sleep(0); return {n}\nprint(asyncio.run(work()))",
    ),
    // Installed modules.
    installed(
        "m_variable",
        "import os\nVALUE = os.environ.get('FUZZ_A')",
        "import {p}_m_variable as m; print(m.VALUE)",
    ),
    installed(
        "m_own_variable",
        "import os\nVALUE = os.getenv('FUZZ_MENTIONED')",
        "os.environ['FUZZ_MENTIONED'] = '{n}'; import {p}_m_own_variable as m; print(m.VALUE)",
    ),
    installed(
        "m_hidden_variable",
        "import os\nVALUE = os.getenv('FUZZ_HIDDEN')",
        "os.environ['FUZZ_' + 'HIDDEN'] = '{n}'; import {p}_m_hidden_variable as m; print(m.VALUE)",
    ),
    installed(
        "m_all_variables",
        "import os\nVALUE = sorted(n for n in dict(os.environ) if n.startswith('FUZZ_A'))",
        "import {p}_m_all_variables as m; print(m.VALUE)",
    ),
    installed(
        "m_file",
        "VALUE = open('config.txt').read()",
        "import {p}_m_file as m; print(m.VALUE)",
    ),
    installed(
        "m_written",
        "VALUE = open('config.txt').read() if __import__('os').path.exists('config.txt') else None",
        "open('config.txt', 'a').write(str(len(sys.argv))); import {p}_m_written as m; print(m.VALUE)",
    ),
    installed(
        "m_moved",
        "import os\nVALUE = sorted(os.listdir('plugins'))",
        "import shutil; os.makedirs('plugins', exist_ok=True); shutil.copy(os.devnull, 'plugins/%d.txt' % len(sys.argv)); import {p}_m_moved as m; print(m.VALUE)",
    ),
    installed(
        "m_probe",
        "import os\nVALUE = os.path.exists('absent.txt')",
        "import {p}_m_probe as m; print(m.VALUE)",
    ),
    installed(
        "m_list",
        "import os\nVALUE = sorted(os.listdir('plugins'))",
        "import {p}_m_list as m; print(m.VALUE)",
    ),
    installed(
        "m_home",
        "import os\npath = os.path.expanduser('~/.fuzzrc')\nVALUE = open(path).read() if os.path.exists(path) else None",
        "import {p}_m_home as m; print(m.VALUE)",
    ),
    installed(
        "m_arguments",
        "import sys\nVALUE = '--debug' in sys.argv",
        "import {p}_m_arguments as m; print(m.VALUE)",
    ),
    installed(
        "m_argument_count",
        "import sys\nVALUE = len(sys.argv)",
        "import {p}_m_argument_count as m; print(m.VALUE)",
    ),
    installed(
        "m_warns",
        "import warnings\nwarnings.warn('{p} is old', DeprecationWarning, stacklevel=2)\nVALUE = 1",
        "import {p}_m_warns as m; print(m.VALUE)",
    ),
    installed(
        "m_logs",
        "import logging\nlogging.getLogger('{p}').warning('imported')\nVALUE = logging.root.level",
        "import {p}_m_logs as m; print(m.VALUE)",
    ),
    installed(
        "m_seeded",
        "import random\nG = random.Random(7)\nVALUE = G.random()",
        "import {p}_m_seeded as m; print(m.VALUE, m.G.random())",
    ),
    installed(
        "m_random",
        "import random\nG = random.Random()",
        "import {p}_m_random as m; print('RANDOM:%r' % m.G.random())",
    ),
    installed(
        "m_subclass",
        "import random\nclass Mine(random.Random): pass\nG = Mine()",
        "import {p}_m_subclass as m; print('RANDOM:%r' % m.G.random())",
    ),
    installed(
        "m_device",
        "VALUE = open('/dev/urandom', 'rb').read(8).hex()",
        "import {p}_m_device as m; print('RANDOM:%r' % m.VALUE)",
    ),
    installed(
        "m_token",
        "import secrets\nVALUE = secrets.token_hex(8)",
        "import {p}_m_token as m; print('RANDOM:' + m.VALUE)",
    ),
    installed(
        "m_default_rng",
        "import numpy\nG = numpy.random.default_rng()",
        "import {p}_m_default_rng as m; print('RANDOM:%r' % m.G.random())",
    ),
    installed(
        "m_pid",
        "import os\nVALUE = os.getpid()",
        "import {p}_m_pid as m; print(m.VALUE == os.getpid())",
    ),
    installed(
        "m_time_zone",
        "import time\nVALUE = time.tzname, time.localtime(0)[3]",
        "import {p}_m_time_zone as m; print(m.VALUE)",
    ),
    installed(
        "m_umask",
        "import os\nVALUE = os.umask(0o22)\nos.umask(VALUE)",
        "import {p}_m_umask as m; print(m.VALUE)",
    ),
    installed(
        "m_signal",
        "import signal\nVALUE = str(signal.getsignal(10))",
        "import {p}_m_signal as m; print(m.VALUE)",
    ),
    installed(
        "m_limit",
        "import resource\nVALUE = resource.getrlimit(7)",
        "import {p}_m_limit as m; print(m.VALUE)",
    ),
    installed(
        "m_host",
        "import socket\nVALUE = socket.gethostname()",
        "import {p}_m_host as m; print(m.VALUE)",
    ),
    installed(
        "m_processors",
        "import os\nVALUE = len(os.sched_getaffinity(0))",
        "import {p}_m_processors as m; print(m.VALUE)",
    ),
    installed(
        "m_directory",
        "import os\nVALUE = os.getcwd()",
        "import {p}_m_directory as m; print(m.VALUE)",
    ),
    installed(
        "m_streams",
        "import sys\nOUT, ERR = sys.stdout, sys.stderr\nVALUE = sys.stdin is None",
        "import {p}_m_streams as m; print('kept', file=m.OUT); print('kept', file=m.ERR); print(m.VALUE)",
    ),
    installed(
        "m_handler",
        "import logging, sys\nL = logging.getLogger('{p}'); L.addHandler(logging.StreamHandler()); L.setLevel(10)",
        "import {p}_m_handler as m; m.L.info('handled {n}')",
    ),
    installed(
        "m_at_exit",
        "import atexit\natexit.register(print, 'module ends')",
        "import {p}_m_at_exit as m; print(m.__name__)",
    ),
    installed(
        "m_finalizes",
        "class Kept:\n    def __del__(self): print('module deletes')\nVALUE = Kept()",
        "import {p}_m_finalizes as m; print(type(m.VALUE).__name__)",
    ),
    installed(
        "m_cycle",
        "import os\nclass Kept:\n    def __del__(self, write=os.write): write(2, b'collected\\n')\nVALUE = Kept(); VALUE.me = VALUE",
        "import {p}_m_cycle as m; print(type(m.VALUE).__name__)",
    ),
    installed(
        "m_writes",
        "open('side.txt', 'a').write('x')",
        "import {p}_m_writes as m; print(m.__name__)",
    ),
    installed(
        "m_prints",
        "print('imported')",
        "import {p}_m_prints as m; print(m.__name__)",
    ),
    installed(
        "m_thread",
        "import threading\nE = threading.Event(); T = threading.Thread(target=E.wait, daemon=True); T.start()",
        "import {p}_m_thread as m; print(m.T.is_alive()); m.E.set(); m.T.join()",
    ),
    installed(
        "m_sets_variable",
        "import os\nos.environ.setdefault('FUZZ_SET', 'by the module')",
        "import {p}_m_sets_variable; print(os.environ.get('FUZZ_SET'))",
    ),
    installed(
        "m_filter",
        "import warnings\nwarnings.filterwarnings('ignore', 'quiet')",
        "import {p}_m_filter, warnings; warnings.warn('quiet {n}'); warnings.warn('loud {n}')",
    ),
    installed(
        "m_lock",
        "import threading\nL = threading.RLock(); C = []",
        "import {p}_m_lock as m\nwith m.L: m.C.append({n}); print(m.C)",
    ),
    installed(
        "m_lazy",
        "import importlib\ndef value(): return importlib.import_module('statistics').mean([1, {n}])",
        "import {p}_m_lazy as m; print(m.value())",
    ),
    installed(
        "m_fails",
        "raise ImportError('not here')",
        "try: import {p}_m_fails\nexcept ImportError as error: print(error)",
    ),
    // Ends.
    own("exits", "sys.exit({n} % 5)"),
    own("exits_with_text", "sys.exit('text {n}')"),
    own(
        "raises",
        "def deep(n):\n    if n == 0: raise ValueError('{n}')\n    deep(n - 1)\ndeep(3)",
    ),
    own("ends_at_once", "sys.stdout.flush(); os._exit(4)"),
    own("is_killed", "sys.stdout.flush(); os.kill(os.getpid(), 15)"),
    own("interrupts_itself", "import signal; signal.raise_signal(2)"),
];

/// Statements before a program prints anything: some influence later imports, and some must
/// not be executed ahead. `seen` is printed after all of it.
pub const FIRST: &[Statement] = &[
    own(
        "f_filter",
        "import warnings; warnings.simplefilter('always')",
    ),
    own(
        "f_errors",
        "import warnings; warnings.simplefilter('error')",
    ),
    own(
        "f_path",
        "sys.path.insert(0, 'vendored'); import fuzz_vendored; seen.append(fuzz_vendored.VALUE)",
    ),
    own("f_sets_variable", "os.environ['FUZZ_MENTIONED'] = '{n}'"),
    own("f_threads", "os.environ['OMP_NUM_THREADS'] = '1'"),
    own("f_variable", "seen.append(os.environ.get('FUZZ_A'))"),
    own(
        "f_variables",
        "seen.append(sorted(n for n in os.environ if n.startswith('FUZZ')))",
    ),
    own("f_file", "seen.append(open('read.txt').read())"),
    own("f_open", "kept_{n} = open('read.txt')"),
    own("f_probe", "seen.append(os.path.exists('absent.txt'))"),
    own(
        "f_lists",
        "seen.append(sorted(n for n in os.listdir('.') if n.endswith('.txt')))",
    ),
    own("f_own", "import fuzz_own; seen.append(fuzz_own.VALUE)"),
    own(
        "f_absent",
        "try: import fuzz_absent; seen.append(fuzz_absent.VALUE)\nexcept ImportError as error: seen.append(str(error))",
    ),
    own(
        "f_logging",
        "import logging; logging.basicConfig(level=logging.DEBUG)",
    ),
    own(
        "f_at_exit",
        "import atexit; atexit.register(print, 'registered first {n}')",
    ),
    own(
        "f_finalizes",
        "class First_{n}:\n    def __del__(self): print('first deleted {n}')\nfirst_{n} = First_{n}()",
    ),
    own(
        "f_cycle",
        "class Ring_{n}:\n    def __del__(self, write=os.write): write(2, b'ring {n}\\n')\nring_{n} = Ring_{n}(); ring_{n}.me = ring_{n}; del ring_{n}",
    ),
    own(
        "f_generator",
        "def steps_{n}():\n    try: yield 1\n    finally: print('closed {n}')\nsteps = steps_{n}(); next(steps)",
    ),
    own(
        "f_hook",
        "sys.excepthook = lambda kind, value, _: print('hooked', kind.__name__, value)",
    ),
    own("f_recursion", "sys.setrecursionlimit(1500)"),
    own(
        "f_numpy",
        "import numpy; seen.append(int(numpy.random.default_rng({n}).integers(1000)))",
    ),
    own(
        "f_program",
        "seen.append((sys.argv[0], __file__, __name__))",
    ),
    own("f_arguments", "seen.append(sys.argv[1:])"),
    own("f_input", "seen.append(sys.stdin is None)"),
    own(
        "f_signal",
        "import signal; seen.append(str(signal.getsignal(10)))",
    ),
    own("f_host", "seen.append(os.uname().nodename)"),
    own("f_processors", "seen.append(len(os.sched_getaffinity(0)))"),
    own("f_umask", "mask = os.umask(0o22); seen.append(mask)"),
    own(
        "f_process",
        "process = os.getpid(); seen.append(process)\nseen[-1] = seen[-1] == os.getpid()",
    ),
    own(
        "f_random",
        "import random; drawn_{n} = random.random(); seen.append('RANDOM:%r' % drawn_{n})",
    ),
    own(
        "f_clock",
        "import time; began = time.monotonic()\nseen.append(time.monotonic() - began < 60)",
    ),
    own(
        "f_stack",
        "import inspect; seen.append([(each.function, each.lineno) for each in inspect.stack()])",
    ),
    own(
        "f_frame",
        "seen.append((sys._getframe().f_lineno, sys._getframe().f_lasti, sys.gettrace(), sys.getprofile()))",
    ),
    own(
        "f_traceback",
        "import traceback\ntry: raise ValueError({n})\nexcept ValueError: seen.append(traceback.format_exc())",
    ),
    own(
        "f_stream",
        "sys.stdout.reconfigure(line_buffering=True); seen.append(sys.stdout.line_buffering)",
    ),
    own(
        "f_buffer",
        "buffer = sys.stdout.buffer; seen.append(buffer.name)",
    ),
    own("f_terminal", "seen.append(sys.stdout.isatty())"),
    own(
        "f_thread",
        "import threading; early = threading.Thread(target=seen.append, args=({n},)); early.start(); early.join()",
    ),
    own(
        "f_patch",
        "import builtins; builtins.fuzz_open = open; os.getpid_{n} = os.getpid",
    ),
    own(
        "f_loop",
        "for number in range({n}):\n    seen.append(str(number))\nseen[:] = [''.join(map(str, seen))]",
    ),
    own(
        "f_function",
        "def inside():\n    import json\n    seen.append(json.dumps({n}))\ninside()",
    ),
];

/// The beginning of a program that does something before it prints: later imports can only be
/// made ahead if the program itself runs ahead.
const BEFORE: &str = "seen = []\nsys.path.append('more')\nimport csv, fractions, statistics\n";

/// Lines that finalizers print, by statement.
const FINALIZERS: [(&str, &str); 6] = [
    ("f_finalizes", "first deleted {n}\n"),
    ("f_cycle", "ring {n}\n"),
    ("f_generator", "closed {n}\n"),
    ("finalizes", "deleted {n}\n"),
    ("m_finalizes", "module deletes\n"),
    ("m_cycle", "collected\n"),
];

/// The number of statements, the last ones, that end a program.
const ENDS: usize = 6;

/// A program: its statements in order, and the number in their texts.
pub struct Program {
    pub statements: Vec<(&'static Statement, u64)>,
    /// The number of them that come before it prints anything.
    pub before: usize,
    /// The beginning of its installed modules.
    pub prefix: String,
}

impl Program {
    /// One that does a few things.
    pub fn new(random: &mut Random, prefix: String) -> Program {
        let mut first: Vec<&'static Statement> = Vec::new();
        if random.below(2) == 0 {
            for _ in 0..2 + random.below(5) {
                let statement = &FIRST[random.below(FIRST.len())];
                if !first.iter().any(|other| other.name == statement.name) {
                    first.push(statement);
                }
            }
        }
        let (middle, ends) = STATEMENTS.split_at(STATEMENTS.len() - ENDS);
        let mut chosen: Vec<&'static Statement> = Vec::new();
        for _ in 0..3 + random.below(6) {
            let statement = &middle[random.below(middle.len())];
            if !chosen.iter().any(|other| other.name == statement.name) {
                chosen.push(statement);
            }
        }
        if random.below(3) == 0 {
            chosen.push(&ends[random.below(ends.len())]);
        }
        let before = first.len();
        let statements = first.into_iter().chain(chosen).map(|statement| {
            let number = random.below(90) as u64 + 10;
            (statement, number)
        });
        Program {
            statements: statements.collect(),
            before,
            prefix,
        }
    }

    /// The smallest one with these statements.
    pub fn of(names: &[&str], prefix: String) -> Program {
        let find = |name: &&str| {
            let found = STATEMENTS.iter().find(|statement| statement.name == *name);
            (found.expect("it is in the table"), 42)
        };
        Program {
            statements: names.iter().map(find).collect(),
            before: 0,
            prefix,
        }
    }

    pub fn has(&self, name: &str) -> bool {
        self.statements.iter().any(|(one, _)| one.name == name)
    }

    /// The lines that its finalizers print.
    pub fn finalizers(&self) -> impl Iterator<Item = String> {
        let line = |&(name, line): &(&str, &str)| {
            let (_, number) = self.statements.iter().find(|(one, _)| one.name == name)?;
            Some(line.replace("{n}", &number.to_string()))
        };
        FINALIZERS.iter().filter_map(line)
    }

    pub fn text(&self) -> String {
        let lines: Vec<String> = self
            .statements
            .iter()
            .map(|(statement, number)| {
                let code = self.fill(statement.code);
                code.replace("{n}", &number.to_string()) + "\n"
            })
            .collect();
        let (first, rest) = lines.split_at(self.before);
        let mut text = "import os, sys\n".to_owned();
        if self.before > 0 {
            text += &format!("{BEFORE}{}print(seen)\n", first.concat());
        }
        text + &rest.concat()
    }

    /// Names and texts of its installed modules.
    pub fn modules(&self) -> impl Iterator<Item = (String, String)> {
        let with = self
            .statements
            .iter()
            .filter(|(it, _)| !it.module.is_empty());
        with.map(|(statement, number)| {
            let name = format!("{}_{}.py", self.prefix, statement.name);
            let text = self.fill(statement.module) + "\n";
            (name, text.replace("{n}", &number.to_string()))
        })
    }

    fn fill(&self, text: &str) -> String {
        text.replace("{p}", &self.prefix)
    }
}
