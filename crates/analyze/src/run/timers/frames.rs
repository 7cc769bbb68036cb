//! The location of a clock reading: frames of the program's own code.

use super::super::items::kernel;
use super::Timers;
use preheat_model::run::Address;

/// A line of the program's own code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The file, or the executable for native code without debug information.
    pub file: String,
    /// The line; 0 if unknown.
    pub line: u32,
    /// The function; `<module>` at the top level of a Python file.
    pub function: String,
}

/// The frames of a recorded location, innermost first. In Python, three fields each; the
/// offset of the innermost instruction follows. Native code has addresses in the
/// executable `program`.
pub fn frames(place: &str, program: &str, timers: &Timers) -> Vec<Frame> {
    if place.starts_with('+') {
        return native(place, program, timers);
    }
    let fields: Vec<&str> = place.split('\0').collect();
    let python = |frame: &[&str]| {
        Some(Frame {
            file: (*frame.first()?).to_owned(),
            line: frame.get(1)?.parse().ok()?,
            function: frame.get(2).copied().unwrap_or_default().to_owned(),
        })
    };
    fields.chunks(3).map_while(python).collect()
}

/// The position of a reading within its line: the offset of its instruction in Python, an
/// address in native code.
pub(super) fn position(place: &str) -> Option<&str> {
    match place.starts_with('+') {
        true => Some(place),
        false => place
            .rsplit('\0')
            .next()
            .filter(|last| last.starts_with('@')),
    }
}

/// Returns true for the host code that nvcc generates to launch a kernel.
fn is_launch_stub(frame: &Frame) -> bool {
    frame.file.contains(".cudafe1.") || frame.function.contains("__device_stub_")
}

/// An address of a native location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NativeCall {
    /// A return address in the executable.
    pub address: u64,
    /// True if it is of a caller: an address on the stack that may be an old one.
    pub is_caller: bool,
    /// The function that the call before a caller's address calls.
    pub calls: Option<u64>,
}

/// The addresses of a native location, such as `+4711<815=4096`: a return address, and
/// that of a caller with the function that it calls.
pub fn native_calls(place: &str) -> Vec<NativeCall> {
    let mut calls: Vec<NativeCall> = Vec::new();
    let mut rest = place;
    while let Some(mark) = rest.chars().next() {
        let text = rest.strip_prefix(['+', '<', '=']).unwrap_or_default();
        let end = text.find(['+', '<', '=']).unwrap_or(text.len());
        let Ok(address) = text[..end].parse() else {
            break;
        };
        match (mark, calls.last_mut()) {
            ('=', Some(caller)) => caller.calls = Some(address),
            _ => calls.push(NativeCall {
                address,
                is_caller: mark == '<',
                calls: None,
            }),
        }
        rest = &text[end..];
    }
    calls
}

/// The frames of a native location. If there are several addresses (some may be in a
/// statically linked library), the first one with a line counts. Its callers follow: each
/// calls the function of the frame before it.
fn native(place: &str, program: &str, timers: &Timers) -> Vec<Frame> {
    let calls = native_calls(place);
    let (callers, own): (Vec<NativeCall>, Vec<NativeCall>) =
        calls.into_iter().partition(|call| call.is_caller);
    let innermost = |call: &NativeCall| {
        let lines = lines_of(call.address, program, timers);
        lines.into_iter().next().unwrap_or_default()
    };
    let all: Vec<Frame> = own.iter().map(innermost).collect();
    // A kernel launch leaves the addresses of its stub, and of the function that calls
    // the stub, in parts of the stack that a later call does not overwrite.
    let is_stub = |at: usize| all.get(at).is_some_and(is_launch_stub);
    let with_line = (0..all.len()).find(|&at| {
        let left_over = is_stub(at) || at.checked_sub(1).is_some_and(is_stub);
        all[at].line > 0 && !left_over
    });
    let Some(chosen) = own.get(with_line.unwrap_or(0)) else {
        return Vec::new();
    };
    let mut frames = lines_of(chosen.address, program, timers);
    let mut function = known(chosen.address, program, timers).map(|known| &*known.symbol);
    for caller in callers {
        let Some(known) = known(caller.address, program, timers) else {
            continue;
        };
        let is_real = function.is_some_and(|name| !name.is_empty() && known.calls == name);
        if is_real && known.line > 0 {
            frames.extend(lines_of(caller.address, program, timers));
            function = Some(&known.symbol);
        }
    }
    frames
}

fn known<'a>(address: u64, program: &str, timers: &'a Timers) -> Option<&'a Address> {
    let mut all = timers.addresses.iter();
    all.find(|known| known.address == address && known.program == program)
}

/// The line of an address, and those that it was inlined into.
fn lines_of(address: u64, program: &str, timers: &Timers) -> Vec<Frame> {
    match known(address, program, timers) {
        Some(known) if !known.file.is_empty() => {
            let inner = Frame {
                file: known.file.clone(),
                line: known.line,
                function: known.function.clone(),
            };
            let outer = known.inlined_into.iter().map(|line| Frame {
                file: line.file.clone(),
                line: line.line,
                function: line.function.clone(),
            });
            [inner].into_iter().chain(outer).collect()
        }
        // The address distinguishes locations in one function.
        known => vec![Frame {
            file: program.to_owned(),
            line: 0,
            function: match known.map_or("", |known| &known.function) {
                "" => format!("{address:#x}"),
                function => format!("{}@{address:#x}", kernel(function)),
            },
        }],
    }
}

/// Drops frames that only return the reading to their caller.
pub(super) fn without_returns(mut frames: Vec<Frame>, timers: &Timers) -> Vec<Frame> {
    let returns = |frame: &Frame| {
        let file = timers.file(&frame.file);
        file.is_some_and(|file| file.returns.contains(&frame.line))
    };
    while frames.len() > 1 && returns(&frames[0]) {
        frames.remove(0);
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;
    use preheat_model::run::{SourceLine, TimedFile};

    fn frame(file: &str, line: u32, function: &str) -> Frame {
        Frame {
            file: file.into(),
            line,
            function: function.into(),
        }
    }

    #[test]
    fn a_python_location_has_a_frame_per_three_fields() {
        let timers = Timers::default();
        let found = frames("a.py\x003\0now\0b.py\x009\0<module>", "python", &timers);
        assert_eq!(
            found,
            [frame("a.py", 3, "now"), frame("b.py", 9, "<module>")]
        );
        assert_eq!(frames("a.py", "python", &timers), []);
        assert_eq!(frames("", "python", &timers), []);
        assert_eq!(frames("a.py\0x\0f", "python", &timers), []);
    }

    #[test]
    fn an_address_has_its_line_where_that_is_known() {
        let timers = Timers {
            addresses: vec![Address {
                program: "/bin/x".into(),
                address: 16,
                file: "x.cpp".into(),
                line: 7,
                function: "main".into(),
                ..Address::default()
            }],
            ..Timers::default()
        };
        assert_eq!(
            frames("+16", "/bin/x", &timers),
            [frame("x.cpp", 7, "main")]
        );
        assert_eq!(
            frames("+17", "/bin/x", &timers),
            [frame("/bin/x", 0, "0x11")]
        );
        assert_eq!(frames("+x", "/bin/x", &timers), []);
        // A library linked into the executable has no lines.
        assert_eq!(
            frames("+17+16+20", "/bin/x", &timers),
            [frame("x.cpp", 7, "main")]
        );
        assert_eq!(
            frames("+17+20", "/bin/x", &timers),
            [frame("/bin/x", 0, "0x11")]
        );
        // A kernel was launched before: addresses on the stack of a program on an H200.
        let line = |address, file: &str, line, function: &str| Address {
            program: "/bin/x".into(),
            address,
            file: file.into(),
            line,
            function: function.into(),
            ..Address::default()
        };
        let timers = Timers {
            addresses: vec![
                line(
                    37052,
                    "/tmp/tmpxft_5fc-6_x.cudafe1.stub.c",
                    13,
                    "_Z26__device_stub__Z3addi",
                ),
                line(37189, "x.cu", 7, "_Z3addi"),
                line(36326, "x.cu", 31, "main"),
            ],
            ..Timers::default()
        };
        assert_eq!(
            frames("+457259+37052+37189+36326", "/bin/x", &timers),
            [frame("x.cu", 31, "main")]
        );
    }

    #[test]
    fn addresses_are_read_with_their_callers() {
        let call = |address, is_caller, calls| NativeCall {
            address,
            is_caller,
            calls,
        };
        assert_eq!(
            native_calls("+16<32=8<64=24"),
            [
                call(16, false, None),
                call(32, true, Some(8)),
                call(64, true, Some(24))
            ]
        );
        assert_eq!(
            native_calls("+16+17"),
            [call(16, false, None), call(17, false, None)]
        );
        assert_eq!(native_calls("+16<x"), [call(16, false, None)]);
        assert_eq!(native_calls(""), []);
    }

    #[test]
    fn only_a_caller_of_the_function_is_one() {
        let address = |address, line, function: &str, calls: &str| Address {
            program: "/bin/x".into(),
            address,
            file: "x.cpp".into(),
            line,
            function: function.into(),
            symbol: function.into(),
            calls: calls.into(),
            ..Address::default()
        };
        let timers = Timers {
            addresses: vec![
                address(16, 3, "_ZL3nowv", ""),
                // Left over from an earlier call of something else.
                address(32, 20, "main", "_ZL4workv"),
                address(48, 9, "_Z5benchv", "_ZL3nowv"),
                address(64, 21, "main", "_Z5benchv"),
            ],
            ..Timers::default()
        };
        assert_eq!(
            frames("+16<32=1<48=2<64=3", "/bin/x", &timers),
            [
                frame("x.cpp", 3, "_ZL3nowv"),
                frame("x.cpp", 9, "_Z5benchv"),
                frame("x.cpp", 21, "main")
            ]
        );
    }

    #[test]
    fn an_inlined_line_has_the_lines_around_it() {
        let timers = Timers {
            addresses: vec![Address {
                program: "/bin/x".into(),
                address: 16,
                file: "x.cpp".into(),
                line: 3,
                function: "main".into(),
                inlined_into: vec![SourceLine {
                    file: "x.cpp".into(),
                    line: 12,
                    function: "main".into(),
                }],
                ..Address::default()
            }],
            ..Timers::default()
        };
        assert_eq!(
            frames("+16", "/bin/x", &timers),
            [frame("x.cpp", 3, "main"), frame("x.cpp", 12, "main")]
        );
    }

    #[test]
    fn whoever_only_returns_a_reading_is_not_its_place() {
        let timers = Timers {
            files: vec![TimedFile {
                file: "a.py".into(),
                returns: vec![3],
                ..TimedFile::default()
            }],
            ..Timers::default()
        };
        let all = vec![frame("a.py", 3, "now"), frame("a.py", 9, "<module>")];
        let left = without_returns(all.clone(), &timers);
        assert_eq!(left, all[1..]);
        assert_eq!(without_returns(all[..1].to_vec(), &timers), all[..1]);
    }
}
