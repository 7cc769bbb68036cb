//! A program that is started warm is a job of the shell that starts it: it has the
//! terminal, is interrupted, stopped and continued from the keyboard.

mod support;
#[allow(dead_code, reason = "a part of it is used here")]
#[path = "../../launch/tests/support/terminal.rs"]
mod terminal;
#[path = "start/warm.rs"]
mod warm;
use std::fs;
use std::process::Command;
use terminal::Terminal;
use warm::{Warm, until};

/// A shell at a terminal, with a warm parent in its session.
fn shell(warm: &Warm) -> Terminal {
    let mut command = Command::new("bash");
    command
        .args(["--norc", "--noprofile", "-i"])
        .current_dir(warm.directory.path())
        .env("PS1", "")
        .env("TERM", "dumb")
        .env("XDG_RUNTIME_DIR", warm.directory.join("run"))
        .env("XDG_CACHE_HOME", warm.directory.join("cache"))
        .env("WARM", {
            let exe = env!("CARGO_BIN_EXE_preheat");
            let python = warm.python.display();
            format!("{exe} start -v --patience 60 -- {python} cases.py")
        })
        .env("PLAIN", format!("{} cases.py", warm.python.display()));
    let mut terminal = Terminal::new(command);
    terminal.type_in("$WARM code 3; echo code $?\n");
    terminal.expect("no warm parent yet in the session of this terminal");
    terminal.expect("code 3\r\n");
    warm.settle();
    terminal
}

#[test]
fn it_has_the_terminal() {
    let Some(warm) = Warm::new() else { return };
    let mut terminal = shell(&warm);
    for how in ["PLAIN", "WARM"] {
        terminal.type_in(&format!("${how} terminal; echo {how} $?\n"));
        if how == "WARM" {
            terminal.expect("started warm");
        }
        terminal.expect("[True, True, True] a terminal\r\n");
        terminal.expect("True (33, 77, 0, 0) os.terminal_size(columns=77, lines=33)\r\n");
        terminal.expect("to the terminal\r\n");
        terminal.expect(&format!("{how} 0\r\n"));
    }
    // Typed input reaches the program.
    terminal.type_in("$WARM echo; echo end $?\n");
    terminal.expect("started warm");
    terminal.type_in("typed\n\x04\x04");
    terminal.expect("read typed\r\n");
    terminal.expect("end 0\r\n");
}

#[test]
fn the_keyboard_interrupts_stops_and_continues_it() {
    let Some(warm) = Warm::new() else { return };
    let mut terminal = shell(&warm);
    terminal.type_in("$WARM waits\n");
    terminal.expect("started warm");
    terminal.expect("waits\r\n");
    terminal.type_in("\x03");
    terminal.expect("interrupted\r\n");
    terminal.expect("KeyboardInterrupt\r\n");
    terminal.type_in("echo code $?\n");
    terminal.expect("code 130\r\n");

    terminal.type_in("$WARM waits --handle\n");
    terminal.expect("waits\r\n");
    terminal.type_in("\x1a");
    terminal.expect("Stopped");
    terminal.type_in("kill -USR1 %1; fg\n");
    terminal.expect("got 10\r\n");
    terminal.type_in("\x03");
    terminal.expect("KeyboardInterrupt\r\n");

    terminal.type_in("$WARM waits --handle &\n");
    terminal.expect("waits\r\n");
    // To the one process that the shell knows: to its group it might come twice.
    terminal.type_in("kill $!; wait %1; echo code $?\n");
    terminal.expect("code 55\r\n");
}

/// readline asks for the size of the terminal when it is imported.
#[test]
fn readline_has_the_width_of_the_terminal() {
    let Some(warm) = Warm::new() else { return };
    let program = "import json, statistics, readline, ctypes
path = [line.split()[-1] for line in open('/proc/self/maps') if 'libreadline' in line][0]
rows, columns = ctypes.c_int(), ctypes.c_int()
ctypes.CDLL(path).rl_get_screen_size(ctypes.byref(rows), ctypes.byref(columns))
print('columns', columns.value)
";
    fs::write(warm.directory.join("program.py"), program).expect("it is written");
    let python = warm.python.to_str().expect("its path is text");
    let out = warm
        .plain(&[python, "program.py"])
        .output()
        .expect("it starts");
    // Some Pythons have another library for it.
    let has_it = out.status.success().then_some(());
    if support::require("libreadline", has_it).is_none() {
        return;
    }
    let mut terminal = shell(&warm);
    terminal.type_in("${WARM%cases.py}program.py; echo first $?\n");
    // This terminal is described as one that does not wrap, so its last column is not used.
    terminal.expect("columns 76\r\n");
    terminal.expect("first 0\r\n");
    until("there is a parent for it", || warm.count() == 2);
    for width in [77, 91] {
        terminal.type_in(&format!(
            "stty cols {width}; ${{WARM%cases.py}}program.py\n"
        ));
        terminal.expect("started warm");
        terminal.expect(&format!("columns {}\r\n", width - 1));
    }
}

/// The mode of a terminal is changed by each start, and by nothing before it.
#[test]
fn a_terminal_is_set_by_each_start() {
    let Some(warm) = Warm::new() else { return };
    let program = "import sys
sys.path.append('more')
import json, numpy, os, termios, tty
terminal = os.open('/dev/tty', os.O_RDWR)
before = termios.tcgetattr(terminal)
tty.setraw(terminal)
raw = termios.tcgetattr(terminal)
termios.tcsetattr(terminal, termios.TCSANOW, before)
print('from', before[3], 'to', raw[3])
if sys.argv[1:]: tty.setraw(terminal)
";
    fs::write(warm.directory.join("program.py"), program).expect("it is written");
    let mut terminal = shell(&warm);
    terminal.type_in("stty -a >before; ${WARM%cases.py}program.py; echo first $?\n");
    terminal.expect("first 0\r\n");
    until("there is a parent for it", || warm.count() == 2);
    terminal.type_in("stty -a >after; cmp before after && echo same $?\n");
    terminal.expect("same 0\r\n");
    let mut modes = Vec::new();
    for how in ["PLAIN", "WARM"] {
        terminal.type_in(&format!(
            "${{{how}%cases.py}}program.py raw; stty -a; stty sane\n"
        ));
        if how == "WARM" {
            terminal.expect("started warm");
            terminal.expect("up to program.py:4, which");
        }
        terminal.expect("from ");
        modes.push(terminal.until("speed "));
        terminal.expect("-icanon");
    }
    assert_eq!(modes[0], modes[1]);
}

/// Signals to the whole group reach the client and the program, so the client leaves out
/// repeated ones. `sigqueue` sends to one process, and each signal has its own value.
#[test]
fn queued_signals_from_its_group_all_arrive() {
    let Some(warm) = Warm::new() else { return };
    let program = "import json, ctypes, signal, struct
number = signal.SIGRTMIN + 1
signal.pthread_sigmask(signal.SIG_BLOCK, [number])
open('ready', 'w').close()
mask, info = struct.pack('Q', 1 << number - 1) + bytes(120), ctypes.create_string_buffer(128)
for _ in range(2):
    assert ctypes.CDLL(None).sigwaitinfo(mask, info) == number
    print('value', struct.unpack_from('Q', info.raw, 24)[0], flush=True)
";
    let sender = "import ctypes, os, signal, sys
open('ready').close()
for value in 7, 8:
    assert not ctypes.CDLL(None).sigqueue(int(sys.argv[1]), signal.SIGRTMIN + 1, ctypes.c_void_p(value))
";
    for (name, text) in [("program.py", program), ("sender.py", sender)] {
        fs::write(warm.directory.join(name), text).expect("it is written");
    }
    let mut terminal = shell(&warm);
    terminal
        .type_in("mkfifo ready; export WARM PLAIN; ONE=${WARM%cases.py}program.py; export ONE\n");
    // Only an interactive shell gives each command a separate group.
    let both = "bash -c '$ONE & ${PLAIN%cases.py}sender.py $!; wait; echo end'\n";
    terminal.type_in(both);
    terminal.expect("value 8\r\n");
    terminal.expect("end\r\n");
    until("there is a parent for it", || warm.count() == 2);
    terminal.type_in(both);
    terminal.expect("started warm");
    terminal.expect("value 7\r\nvalue 8\r\nend\r\n");
}

#[test]
fn a_parent_leaves_with_its_session() {
    let Some(warm) = Warm::new() else { return };
    let mut terminal = shell(&warm);
    assert_eq!(warm.count(), 1);
    terminal.type_in("exit\n");
    terminal.child.wait().expect("it ends");
    until("it has left", || warm.count() == 0);
}
