//! The table of first and steady times, grouped by subject, and the list of claims.

use preheat_model::lab::{Claim, LabReport, Series, Verdict};
use preheat_model::stats::Consistency;

use super::columns::{Cells, Columns};
use crate::lab::overview::{Row, Subject};
use crate::lab::verdicts::{basis, count, lack_of_starts, sign};
use crate::terminal::text::{clean, width};
use crate::terminal::{Screen, Style, of_verdict};
use crate::units::{duration_parts, span_ends};

/// Shows the table of all subjects.
pub(super) fn show(screen: &mut Screen, subjects: &[Subject]) {
    let rows = |subject: &Subject| -> Vec<Vec<Cells>> {
        subject
            .groups
            .iter()
            .map(|group| group.rows.iter().map(cells).collect())
            .collect()
    };
    let table: Vec<Vec<Vec<Cells>>> = subjects.iter().map(rows).collect();
    let all: Vec<&Cells> = table.iter().flatten().flatten().collect();
    if all.is_empty() {
        return;
    }
    let families = subjects.iter().flat_map(|subject| &subject.groups);
    let family = families.map(|group| width(group.name)).max().unwrap_or(0);
    let columns = Columns::new(&all, family, screen.terminal.width);
    for (subject, groups) in subjects.iter().zip(&table) {
        screen.blank();
        columns.heading(screen, &clean(&subject.title));
        for (group, rows) in subject.groups.iter().zip(groups) {
            columns.group(screen, group, rows);
        }
    }
    if columns.shows_class() && all.iter().any(|cells| !cells.consistent) {
        screen.blank();
        screen.paragraph(&[], 2, Style::Dim, "* not every start is in this class");
    }
}

fn cells(row: &Row) -> Cells {
    let series = row.series;
    Cells {
        label: clean(&row.label),
        first: duration_parts(series.first),
        steady: series.steady.and_then(duration_parts),
        ratio: series
            .ratio
            .map(|interval| interval.value)
            .filter(|ratio| ratio.is_finite()),
        interval: series
            .ratio
            .and_then(|interval| span_ends(interval.low, interval.high)),
        class: class(series, row.once()),
        consistent: matches!(series.consistency, None | Some(Consistency::Consistent)),
        once: row.once(),
    }
}

fn class(series: &Series, once: bool) -> String {
    if once {
        return "once".to_owned();
    }
    series
        .class
        .map_or(String::new(), |class| class.as_str().to_owned())
}

// The claims: number, verdict, text, and the result on this machine.

/// Shows the claims in order.
pub(super) fn show_claims(screen: &mut Screen, report: &LabReport) {
    let claims = &report.claims[..];
    if claims.is_empty() {
        return;
    }
    screen.title("Claims");
    screen.paragraph(&[(Style::Plain, "  ")], 2, Style::Dim, &count(claims));
    if let Some(text) = lack_of_starts(report) {
        screen.paragraph(&[(Style::Plain, "  ")], 2, Style::Yellow, &text);
    }
    let (unmeasured, judged): (Vec<&Claim>, Vec<&Claim>) = claims
        .iter()
        .partition(|claim| claim.verdict == Verdict::NotMeasurable);
    for claim in judged {
        let style = of_verdict(claim.verdict);
        let number = format!("  {:>2} ", claim.id);
        let words = format!("{} {}", sign(claim.verdict), claim.verdict.as_str());
        let lead = [
            (Style::Plain, &*number),
            (style, &*words),
            (Style::Plain, "  "),
        ];
        screen.paragraph(&lead, 7, Style::Plain, &claim.text);
        if !claim.sentence.trim().is_empty() {
            screen.paragraph(&[(Style::Plain, "       ")], 7, Style::Dim, &claim.sentence);
        }
        let basis = basis(claim);
        if !basis.is_empty() {
            let text = format!("{basis}.");
            screen.paragraph(&[(Style::Plain, "       ")], 7, Style::Dim, &text);
        }
    }
    if !unmeasured.is_empty() {
        let ids = unmeasured.iter().map(|claim| claim.id.to_string());
        let numbers: Vec<String> = ids.collect();
        let lead = format!("     {} ", sign(Verdict::NotMeasurable));
        let text = format!(
            "{}: no experiment in this run measures {}",
            Verdict::NotMeasurable.as_str(),
            numbers.join(", ")
        );
        screen.paragraph(&[(Style::Dim, &*lead)], 7, Style::Dim, &text);
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture;
    use crate::lab::lab_terminal;
    use crate::terminal::Terminal;

    fn at(width: usize) -> String {
        lab_terminal(
            &fixture::report(),
            &Terminal {
                width,
                color: false,
                unicode: true,
            },
        )
    }

    #[test]
    fn columns_are_dropped_in_order() {
        for (width, bar, interval, class) in [
            (120, true, true, true),
            (80, false, true, true),
            (60, false, false, false),
        ] {
            let text = at(width);
            assert_eq!(text.contains("log scale"), bar, "{width}");
            assert_eq!(text.contains("  95 %  "), interval, "{width}");
            assert_eq!(text.contains("  class"), class, "{width}");
            assert!(text.contains("first"), "{width}");
        }
    }

    #[test]
    fn units_are_aligned() {
        let text = at(80);
        let column = |name: &str| {
            let line = text.lines().find(|line| line.contains(name)).unwrap();
            let unit = [" ms", " µs"]
                .iter()
                .filter_map(|unit| line.find(unit))
                .min()
                .unwrap();
            line[..unit].chars().count()
        };
        assert_eq!(column("load driver library"), column("create stream"));
    }

    #[test]
    fn a_stage_is_shown_as_once_without_steady() {
        let text = at(80);
        let line = text
            .lines()
            .find(|line| line.contains("initialize driver"))
            .unwrap();
        assert!(line.ends_with("once") && line.contains("101 ms"));
        assert!(!line.contains('×'));
    }

    #[test]
    fn a_claim_has_symbol_verdict_text_and_result() {
        let terminal = Terminal {
            width: 200,
            color: false,
            unicode: true,
        };
        let text = lab_terminal(&fixture::report(), &terminal);
        assert!(text.contains("   3 ✓ holds  Timing without synchronizing misjudges GPU work.\n"));
        assert!(text.contains("\n       The first takes 252× a later one on cuda"));
        assert!(text.contains("\n       Based on train · model on device (cuda, torch on cpu).\n"));
        assert!(text.contains("   8 ✗ does not hold  "));
        assert!(text.contains("   7 ~ depends  "));
        assert!(text.contains("   2 ? inconclusive  "));
        assert!(text.contains("– not measurable here: no experiment in this run measures "));
    }
}
