//! Renders a check as JUnit XML, as written by Ant and read by Jenkins, GitLab and others:
//! one test suite with a test case per limit.
//!
//! The format has no common schema. The output conforms to both published ones: Ant's
//! (ordered elements, all attributes present, no time zone) and Jenkins'. Test results cannot
//! be inconclusive, so an inconclusive limit is *skipped*, unless it is set to fail.
//! quick-junit writes only one of the two forms.

use preheat_model::check::{CheckReport, Line, Unit, Verdict};

use super::terminal::check_terminal;
use super::{fails, title, why};
use crate::html::command_line;
use crate::terminal::Terminal;

/// The report as an XML document.
pub fn check_junit(report: &CheckReport) -> String {
    let failed = report
        .lines
        .iter()
        .filter(|line| fails(report, line))
        .count();
    let skipped = (report.lines.iter())
        .filter(|line| line.verdict != Verdict::Pass && !fails(report, line))
        .count();
    let name = attribute(&format!("preheat check {}", report.name));
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite id=\"0\" \
         name=\"{name}\" package=\"preheat\" timestamp=\"{}\" hostname=\"localhost\" \
         tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\" time=\"0\">\n    \
         <properties>\n",
        timestamp(&report.created),
        report.lines.len(),
    );
    for (name, value) in properties(report) {
        xml.push_str(&format!(
            "      <property name=\"{name}\" value=\"{}\"/>\n",
            attribute(&value)
        ));
    }
    xml.push_str("    </properties>\n");
    for line in &report.lines {
        xml.push_str(&case(report, line));
    }
    let plain = Terminal {
        width: 80,
        color: false,
        unicode: true,
    };
    xml.push_str(&format!(
        "    <system-out>{}</system-out>\n    <system-err></system-err>\n  </testsuite>\n</testsuites>\n",
        content(&check_terminal(report, &plain))
    ));
    xml
}

fn properties(report: &CheckReport) -> Vec<(&'static str, String)> {
    let machine = &report.machine;
    vec![
        ("command", command_line(&report.command)),
        ("recording", report.recording.clone()),
        ("budget", report.budget.clone().unwrap_or_default()),
        ("starts", report.starts.to_string()),
        (
            "machine",
            format!("{}, {} cores, {}", machine.cpu, machine.cores, machine.os),
        ),
        ("preheat", report.preheat.clone()),
    ]
}

fn case(report: &CheckReport, line: &Line) -> String {
    // Report the measured time as the duration of the test, so that CI servers plot it.
    let seconds = match (line.unit, &line.measured) {
        (Unit::Seconds, Some(found)) if found.value > 0.0 && found.value.is_finite() => {
            format!("{:.6}", found.value)
        }
        _ => "0".to_owned(),
    };
    let head = format!(
        "    <testcase name=\"{}\" classname=\"{}\" time=\"{seconds}\"",
        attribute(&title(line)),
        attribute(&format!("preheat.{}", report.name)),
    );
    let (message, text) = (attribute(&line.reason), content(&why(line)));
    match line.verdict {
        Verdict::Pass => format!("{head}/>\n"),
        verdict if fails(report, line) => format!(
            "{head}>\n      <failure type=\"{}\" message=\"{message}\">{text}</failure>\n    </testcase>\n",
            verdict.as_str()
        ),
        verdict => format!(
            "{head}>\n      <skipped message=\"{}: {message}\"/>\n    </testcase>\n",
            verdict.as_str()
        ),
    }
}

/// Returns `2026-03-01T12:34:56`, without the time zone, which is always UTC; the Unix epoch
/// if `created` is not a timestamp.
fn timestamp(created: &str) -> &str {
    const FORM: &[u8] = b"0000-00-00T00:00:00";
    let time = created.get(..FORM.len()).unwrap_or_default();
    let fits = |(c, form): (u8, &u8)| match form {
        b'0' => c.is_ascii_digit(),
        form => c == *form,
    };
    if time.len() == FORM.len() && time.bytes().zip(FORM).all(fits) {
        time
    } else {
        "1970-01-01T00:00:00"
    }
}

/// Escapes text between elements. Characters that are invalid in XML become spaces.
fn content(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' | '\t' => safe.push(c),
            '\u{fffe}' | '\u{ffff}' => safe.push(' '),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

/// Escapes an attribute value, on one line.
fn attribute(text: &str) -> String {
    content(&text.replace(['\n', '\t'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_markup_and_invalid_characters() {
        assert_eq!(
            content("<a b=\"c\">]]>&\u{1b}\0\u{ffff}\n"),
            "&lt;a b=&quot;c&quot;&gt;]]&gt;&amp;   \n"
        );
        assert_eq!(attribute("a\nb"), "a b");
    }

    #[test]
    fn removes_the_time_zone() {
        assert_eq!(timestamp("2026-03-01T12:34:56Z"), "2026-03-01T12:34:56");
        for odd in [
            "",
            "yesterday",
            "2026-03-01 12:34:56Z",
            "µµµµµµµµµµµµµµµµµµµ",
        ] {
            assert_eq!(timestamp(odd), "1970-01-01T00:00:00");
        }
    }
}
