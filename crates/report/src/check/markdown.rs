//! Renders a check as Markdown, for a job summary or a comment.

use preheat_model::check::{CheckReport, Verdict};

use super::words::{headline, measured, not_passing, starts, title, used, why};
use crate::html::markup::command_line;
use crate::terminal::clean;

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
        starts(report.starts),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_markup() {
        assert_eq!(
            escape("<b>|`x`*_\n@user [a](http://b)"),
            "&lt;b&gt;\\|\\`x\\`\\*\\_ &#64;user \\[a\\](http:&#47;/b)"
        );
        assert_eq!(escape("8.94 s (8.71–9.20)"), "8.94 s (8.71–9.20)");
    }
}
