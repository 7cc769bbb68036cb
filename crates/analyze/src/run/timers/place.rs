//! The location of a clock reading: frames of the program's own code.

use super::Timers;

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

/// The frames of a recorded location, innermost first. Native code has addresses in the
/// executable `program`; if there are several (some may be in a statically linked library),
/// the first one with a line counts.
pub fn frames(place: &str, program: &str, timers: &Timers) -> Vec<Frame> {
    if place.starts_with('+') {
        let all: Vec<Frame> = addresses(place)
            .map(|address| native(address, program, timers))
            .collect();
        // A kernel launch leaves the addresses of its stub, and of the function that calls
        // the stub, in parts of the stack that a later call does not overwrite.
        let is_stub = |at: usize| all.get(at).is_some_and(is_launch_stub);
        let with_line = (0..all.len()).find(|&at| {
            let left_over = is_stub(at) || at.checked_sub(1).is_some_and(is_stub);
            all[at].line > 0 && !left_over
        });
        return all
            .get(with_line.unwrap_or(0))
            .cloned()
            .into_iter()
            .collect();
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

/// Returns true for the host code that nvcc generates to launch a kernel.
fn is_launch_stub(frame: &Frame) -> bool {
    frame.file.contains(".cudafe1.") || frame.function.contains("__device_stub_")
}

/// The addresses of a native location.
pub fn addresses(place: &str) -> impl Iterator<Item = u64> {
    let numbers = place.strip_prefix('+').unwrap_or_default().split('+');
    numbers.filter_map(|number| number.parse().ok())
}

fn native(address: u64, program: &str, timers: &Timers) -> Frame {
    let known = (timers.addresses.iter())
        .find(|known| known.address == address && known.program == program);
    match known {
        Some(known) if !known.file.is_empty() => Frame {
            file: known.file.clone(),
            line: known.line,
            function: known.function.clone(),
        },
        // The address distinguishes locations in one function.
        known => Frame {
            file: program.to_owned(),
            line: 0,
            function: match known.map_or("", |known| &known.function) {
                "" => format!("{address:#x}"),
                function => format!("{function}@{address:#x}"),
            },
        },
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
    use preheat_model::run::{Address, TimedFile};

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
    fn functions_that_only_return_a_reading_are_skipped() {
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
