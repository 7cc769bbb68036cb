//! Renders a check for GitHub: as Markdown, for a job summary or a comment, and as workflow
//! commands, which become annotations.
//!
//! The format of a command is `::error file=F,line=N,title=T::MESSAGE`. In messages, `%`, CR
//! and LF are escaped as `%25`, `%0D` and `%0A`; in properties, `:` and `,` are escaped too.

use preheat_model::check::{CheckReport, Line, Verdict};

use super::{fails, headline, measured, not_passing, title, used, why};
use crate::html::command_line;
use crate::terminal::clean;
use crate::units::counted;

/// Renders the report as GitHub Markdown, ending with a newline.
pub fn check_markdown(report: &CheckReport) -> String {
    let mut text = format!(
        "### {} preheat check: {}\n\n{}.\n\n",
        mark(report.verdict),
        escape(&report.name),
        headline(report)
    );
    text.push_str("| | limit | at most | measured | used |\n|---|---|---:|---:|---:|\n");
    for line in &report.lines {
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} |\n",
            mark(line.verdict),
            escape(&title(line)),
            line.unit.write(line.most),
            measured(line),
            used(line)
        ));
    }
    let explanations = not_passing(report)
        .map(|line| format!("**{}**: {}", escape(&title(line)), escape(&why(line))));
    for (at, sentence) in explanations
        .chain(report.notes.iter().map(|note| escape(note)))
        .enumerate()
    {
        let gap = if at == 0 { "\n" } else { "" };
        text.push_str(&format!("{gap}- {sentence}\n"));
    }
    let machine = &report.machine;
    text.push_str(&format!(
        "\n<sub>{} · {} · {} · {} cores · {} · preheat {}; measured with 95 % intervals over starts</sub>\n",
        escape(&command_line(&report.command)),
        counted(report.starts, "start"),
        escape(&machine.cpu),
        machine.cores,
        escape(&report.created),
        escape(&report.preheat)
    ));
    text
}

fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "✅",
        Verdict::Fail => "❌",
        Verdict::Inconclusive => "❔",
        Verdict::NotMeasured => "➖",
    }
}

/// Escapes `text` so that it renders literally, on one line. Mentions and links are broken
/// with an entity, since GitHub detects them without markup.
fn escape(text: &str) -> String {
    let mut safe = String::new();
    for c in clean(text).chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '@' => safe.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' => {
                safe.push('\\');
                safe.push(c);
            }
            c => safe.push(c),
        }
    }
    safe.replace("://", ":&#47;/")
}

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
        Verdict::Fail | Verdict::Inconclusive | Verdict::Pass => "warning",
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
    fn escapes_markup() {
        assert_eq!(
            escape("<b>|`x`*_\n@user [a](http://b)"),
            "&lt;b&gt;\\|\\`x\\`\\*\\_ &#64;user \\[a\\](http:&#47;/b)"
        );
        assert_eq!(escape("8.94 s (8.71–9.20 s)"), "8.94 s (8.71–9.20 s)");
    }

    #[test]
    fn escapes_delimiters() {
        assert_eq!(data("50 %\r\n::x::"), "50 %25%0D%0A::x::");
        assert_eq!(property("a:b,c\n%"), "a%3Ab%2Cc%0A%25");
    }
}
