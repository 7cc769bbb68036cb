//! Renders a check as GitHub workflow commands: lines that become annotations.
//!
//! The format is `::error file=F,line=N,title=T::MESSAGE`. In messages, `%`, CR and LF are
//! escaped as `%25`, `%0D` and `%0A`; in properties, `:` and `,` are escaped too.

use preheat_model::check::{CheckReport, Line, Verdict};

use super::words::{fails, not_passing, title, why};
use crate::terminal::clean;

/// One workflow command for each line that does not pass.
pub fn check_github(report: &CheckReport) -> String {
    not_passing(report)
        .map(|line| command(report, line))
        .collect()
}

fn command(report: &CheckReport, line: &Line) -> String {
    let level = match line.verdict {
        _ if fails(report, line) => "error",
        Verdict::NotMeasured => "notice",
        _ => "warning",
    };
    let mut properties = Vec::new();
    // Attach the annotation to its line in the budget file.
    if let (Some(file), Some(place)) = (&report.budget, line.place) {
        properties.push(format!("file={}", property(file)));
        properties.push(format!("line={},col={}", place.line, place.column));
    }
    let verdict = match line.verdict {
        Verdict::Fail => "",
        other => &format!(" ({})", other.as_str()),
    };
    let title = format!("{}: {}{verdict}", report.name, title(line));
    properties.push(format!("title={}", property(&clean(&title))));
    format!(
        "::{level} {}::{}\n",
        properties.join(","),
        data(&clean(&why(line)))
    )
}

/// Escapes the text of a message.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_delimiters() {
        assert_eq!(data("50 %\r\n::x::"), "50 %25%0D%0A::x::");
        assert_eq!(property("a:b,c\n%"), "a%3Ab%2Cc%0A%25");
    }
}
