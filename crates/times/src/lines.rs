//! One number per line. An empty line ends a start; `#` begins a comment.

use preheat_model::classify::{Format, Measures, Times};

use crate::error::{Error, Problem, quoted};
use crate::source::Source;
use crate::starts::{Quota, Starts};
use crate::{Result, Settings, number};

/// The maximum length of a line: a number, possibly with a comment.
const MAX_LINE_BYTES: usize = 4096;

pub(crate) fn read(
    source: &mut Source,
    settings: &Settings,
    emit: &mut dyn FnMut(Format, Times),
) -> Result<Vec<String>> {
    let in_a_second = settings.unit.unwrap_or_default().in_a_second();
    let (mut starts, mut quota) = (Starts::default(), Quota::default());
    let mut line = Vec::new();
    loop {
        let position = (source.position().0, 1);
        let at = |why: Problem| Error::at(position, why);
        let more = next_line(source, &mut line)?;
        let text = line.split(|byte| *byte == b'#').next().unwrap_or_default();
        let comment = text.len() < line.len();
        let text = text.trim_ascii();
        if !text.is_empty() {
            let text = std::str::from_utf8(text).ok();
            let value = text.and_then(number::parse);
            let (Some(text), Some(value)) = (text, value) else {
                return Err(Error::at(position, not_a_number(&line)));
            };
            number::time(value, in_a_second, text)
                .and_then(|seconds| starts.push(seconds, &mut quota))
                .map_err(at)?;
        } else if !(starts.last_is_empty() || comment && more) {
            starts.mixed(settings).map_err(at)?;
            if more {
                starts.begin(&mut quota).map_err(at)?;
            }
        }
        if !more {
            break;
        }
    }
    if let Some(times) = starts.finish(settings.name.clone(), Measures::Iterations, Vec::new()) {
        emit(Format::Lines, times);
    }
    Ok(Vec::new())
}

/// Reads the next line, without its end; returns false at the end of the file, which counts
/// as an empty line.
fn next_line(source: &mut Source, line: &mut Vec<u8>) -> Result<bool> {
    line.clear();
    loop {
        match source.next()? {
            None if line.is_empty() => return Ok(false),
            None | Some(b'\n') => return Ok(true),
            Some(_) if line.len() == MAX_LINE_BYTES => {
                return Err(source.fail(format!(
                    "this line is longer than {MAX_LINE_BYTES} characters; write one number per line, \
                     or a JSON list"
                )));
            }
            Some(byte) => line.push(byte),
        }
    }
}

fn not_a_number(line: &[u8]) -> String {
    let shown = quoted(line.trim_ascii());
    let words: Vec<&[u8]> = line
        .split(|byte| byte.is_ascii_whitespace() || *byte == b',' || *byte == b';')
        .filter(|word| !word.is_empty())
        .collect();
    let numbers = words
        .iter()
        .filter(|word| std::str::from_utf8(word).is_ok_and(|w| number::parse(w).is_some()))
        .count();
    match (numbers, words.len()) {
        (2.., _) => format!("{shown} is more than one number; write one per line"),
        (1, 2) => {
            format!("{shown} is not a bare number; set the unit of all with --unit s|ms|us|ns")
        }
        _ => format!("{shown} is not a number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TimeUnit;

    fn all(text: &str, settings: &Settings) -> Result<Vec<Times>> {
        let mut found = Vec::new();
        crate::read(text.as_bytes(), settings, &mut |format, times| {
            assert_eq!(format, Format::Lines);
            found.push(times);
        })?;
        Ok(found)
    }

    fn starts(text: &str) -> Vec<Vec<f64>> {
        let settings = Settings {
            mixed_lengths: true,
            ..Settings::default()
        };
        all(text, &settings).unwrap().remove(0).starts
    }

    #[test]
    fn an_empty_line_ends_a_start() {
        assert_eq!(starts("1\n2\n3"), [[1.0, 2.0, 3.0]]);
        assert_eq!(starts("1\r\n2\r\n\r\n3\r\n"), [vec![1.0, 2.0], vec![3.0]]);
        assert_eq!(
            starts("\n\n# head\n1 # c\n#\n2\n\n\n3\n\n\n"),
            [vec![1.0, 2.0], vec![3.0]]
        );
        assert_eq!(starts("\u{feff}1e-3\n"), [[1e-3]]);
    }

    #[test]
    fn units_are_converted_to_seconds() {
        let settings = Settings {
            unit: Some(TimeUnit::Nanoseconds),
            ..Settings::default()
        };
        assert_eq!(all("1500\n", &settings).unwrap()[0].starts, [[1.5e-6]]);
    }

    #[test]
    fn errors_are_reported_with_their_line() {
        let long = "1 ".repeat(3000);
        for (text, why) in [
            ("1\nx\n", "line 2, column 1: \"x\" is not a number"),
            (
                "1 2\n",
                "line 1, column 1: \"1 2\" is more than one number; write one per line",
            ),
            ("1\n12 ms\n", "\"12 ms\" is not a bare number; set the unit"),
            ("1\nnan\n", "line 2, column 1: nan is not a time"),
            (
                "1\n-3\n",
                "line 2, column 1: -3 is not a time: it is below 0",
            ),
            ("0\n", "line 1, column 1: 0 is not a time"),
            ("1\n1e400\n", "line 2, column 1: 1e400 is not a time"),
            ("# nothing\n", "it has no times"),
            (&long, "line 1, column 4098: this line is longer than 4096"),
            (
                "1\n2\n\n3\n",
                "line 5, column 1: start 2 has 1 iteration and the first has 2: was one cut off?",
            ),
            ("1\n2\n\n3\n\n4\n5\n", "line 5, column 1: start 2 has 1"),
            ("\u{e9}\n", "is not a number"),
        ] {
            let error = all(text, &Settings::default()).unwrap_err().to_string();
            assert!(error.contains(why), "{text:?}: {error}");
        }
    }
}
