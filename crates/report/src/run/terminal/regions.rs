//! Regions that the program times itself, with their causes, and the moments that it marks.

use preheat_model::run::{MarkReport, RegionReport, RunReport};

use super::super::text::{
    about_regions, around_sentence, capitalized, causes_listed, first_start, repeated, time,
    timed_and_levels, unfinished_sentence,
};
use crate::terminal::{Screen, Style, clean};
use crate::units::{duration, ratio};

/// The number of regions to show; the page and the JSON have all of them.
const SHOWN: usize = 6;

/// Shows the list, in the order of the program.
pub(super) fn show(screen: &mut Screen, report: &RunReport) {
    if !report.marks.is_empty() {
        screen.blank();
        let title = [(Style::Bold, "Marked by the program"), (Style::Plain, "  ")];
        screen.paragraph(&title, 2, Style::Plain, &marks(&report.marks));
    }
    let (timed, levels) = timed_and_levels(report);
    if !timed.is_empty() {
        screen.blank();
        let title = [(Style::Bold, "Timed by the program"), (Style::Plain, "  ")];
        screen.paragraph(&title, 2, Style::Dim, &about_regions(&timed));
    }
    for region in shown(&timed) {
        let name = format!("  {}  ", clean(&region.name));
        screen.paragraph(&[(Style::Bold, &*name)], 4, Style::Plain, &numbers(region));
        if !region.causes.is_empty() {
            let causes = causes_listed(&region.causes);
            screen.paragraph(&[(Style::Plain, "    ")], 4, Style::Dim, &causes);
        }
        if let Some(around) = &region.around {
            let text = around_sentence(around, report.first);
            screen.paragraph(&[(Style::Plain, "    ")], 4, Style::Plain, &text);
        }
        if let Some(unfinished) = &region.unfinished {
            let text = unfinished_sentence(unfinished, region.clock);
            screen.paragraph(&[(Style::Plain, "    ")], 4, Style::Yellow, &text);
        }
    }
    let more = timed.len().saturating_sub(SHOWN);
    if more > 0 {
        let text = format!("{more} more in --html and --json");
        screen.paragraph(&[(Style::Plain, "  ")], 2, Style::Dim, &text);
    }
    for level in levels.iter().take(SHOWN) {
        screen.blank();
        let name = capitalized(&clean(&level.name));
        let title = [(Style::Bold, &*name), (Style::Plain, "  ")];
        screen.paragraph(&title, 2, Style::Plain, &numbers(level));
        if !level.causes.is_empty() {
            let causes = causes_listed(&level.causes);
            screen.paragraph(&[(Style::Plain, "  ")], 2, Style::Dim, &causes);
        }
    }
    let more = levels.len().saturating_sub(SHOWN);
    if more > 0 {
        screen.blank();
        let text = format!("{more} more in --html and --json");
        screen.paragraph(&[], 0, Style::Dim, &text);
    }
}

/// `weights loaded 2.3 s (2.2–2.4 s) · listening 4.1 s`.
fn marks(marks: &[MarkReport]) -> String {
    let one = |mark: &MarkReport| format!("{} {}", clean(&mark.name), time(&mark.first));
    let mut listed: Vec<String> = marks.iter().take(SHOWN).map(one).collect();
    if marks.len() > SHOWN {
        listed.push(format!("{} more in --json", marks.len() - SHOWN));
    }
    listed.join(" · ")
}

/// The first regions; one that iterates takes the place of the last, if it would be left out.
fn shown<'a>(timed: &[&'a RegionReport]) -> Vec<&'a RegionReport> {
    let mut shown: Vec<&RegionReport> = timed.iter().take(SHOWN).copied().collect();
    if !shown.iter().any(|region| region.iterates)
        && let Some(iterating) = timed.iter().find(|region| region.iterates)
    {
        shown.pop();
        shown.push(iterating);
    }
    shown
}

/// `189 ms (180–199 ms), first of 2; second 1.9 ms = 99.7×`.
fn numbers(region: &RegionReport) -> String {
    let mut text = time(&region.first);
    if region.clock.is_some_and(|clock| clock.is_cpu_time()) {
        text.push_str(" of CPU time");
    }
    if region.count > 1 {
        text.push_str(&format!(", first of {}", region.count));
    }
    if let Some(second) = &region.second {
        text.push_str(&format!("; second {}", time(second)));
    }
    if let Some(times) = &region.ratio {
        text.push_str(&format!(" = {}", ratio(times.value)));
    }
    if let Some(repeats) = &region.repeats {
        text.push_str(&format!("; {}", clean(&repeated(repeats))));
    }
    if let Some(best) = region.best.filter(|_| region.count > 2) {
        text.push_str(&format!("; fastest {}", duration(best.value)));
    }
    if let Some(seconds) = first_start(region) {
        let seconds = duration(seconds);
        text.push_str(&format!(" (very first start, not counted: {seconds})"));
    }
    if let Some(helper) = &region.helper {
        text.push_str(&format!("; timed by the helper at {}", clean(helper)));
    }
    if region.paired_by_order {
        text.push_str("; readings paired by their order");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;
    use crate::terminal::Terminal;
    use preheat_model::run::{AroundReport, RepeatReport};
    use preheat_model::stats::Estimate;

    fn text(report: &RunReport) -> String {
        let mut screen = Screen::new(&Terminal {
            width: 80,
            color: false,
            unicode: true,
        });
        show(&mut screen, report);
        screen.finish()
    }

    #[test]
    fn the_iterating_region_is_shown() {
        let mut report = run::twice();
        let region = RegionReport {
            iterates: false,
            ..report.regions[0].clone()
        };
        report.regions = (1..=8)
            .map(|number| RegionReport {
                name: format!("train.py:{number}"),
                iterates: number == 8,
                ..region.clone()
            })
            .collect();
        let text = text(&report);
        assert!(
            text.contains("train.py:5 ") && text.contains("train.py:8 "),
            "{text}"
        );
        assert!(!text.contains("train.py:6 "), "{text}");
        assert!(text.contains("  2 more in --html"), "{text}");
    }

    #[test]
    fn a_region_has_its_numbers_and_their_causes() {
        let text = text(&run::twice());
        assert!(
            text.contains("  train.py:14–20  541 ms (530–552 ms), first of 2; second 900 µs ="),
            "{text}"
        );
        assert!(
            text.contains("    kernel loading 312 ms, library set-up 142 ms,"),
            "{text}"
        );
        assert!(text.contains("without waiting for 3 kernels"), "{text}");
    }

    #[test]
    fn a_different_first_start_is_shown_because_its_output_is() {
        let mut report = run::twice();
        report.regions[0].firsts = vec![Some(2.0), Some(0.541), Some(0.541)];
        let shown = text(&report).replace("\n    ", " ");
        assert!(
            shown.contains(" (very first start, not counted: 2 s)"),
            "{shown}"
        );
        assert!(shown.contains("a single run prints its numbers"), "{shown}");
        report.regions[0].firsts[0] = Some(0.542);
        assert!(!text(&report).contains("very first start"));
        report.regions[0].firsts = vec![Some(2.0)];
        assert!(!text(&report).contains("very first start"));
    }

    #[test]
    fn the_time_around_the_first_iteration_is_explained() {
        let mut report = run::twice();
        report.first = Some(0.2);
        report.regions[0].around = Some(AroundReport {
            seconds: 0.341,
            causes: report.regions[0].causes[..1].to_vec(),
        });
        let shown = text(&report).replace("\n    ", " ");
        assert!(
            shown.contains("341 ms of it is outside the first iteration (200 ms): kernel loading"),
            "{shown}"
        );
    }

    #[test]
    fn epochs_are_not_timed_by_the_program() {
        let mut report = run::twice();
        report.regions[0].clock = None;
        report.regions[0].name = "epochs of fit".to_owned();
        let shown = text(&report);
        assert!(
            shown.contains("Epochs of fit  541 ms (530–552 ms), first of 2; second 900 µs"),
            "{shown}"
        );
        assert!(!shown.contains("Timed by the program"), "{shown}");
    }

    #[test]
    fn the_same_code_further_down_is_compared_with_the_first() {
        let mut report = run::twice();
        let region = &mut report.regions[0];
        (region.second, region.ratio, region.count) = (None, None, 1);
        region.repeats = Some(RepeatReport {
            first: "infer.py:17–19".to_owned(),
            position: 2,
            ratio: Some(region.first),
        });
        region
            .repeats
            .as_mut()
            .unwrap()
            .ratio
            .as_mut()
            .unwrap()
            .value = 311.0;
        let shown = text(&report).replace("\n    ", " ");
        assert!(
            shown.contains("; second time: infer.py:17–19 took 311× as long"),
            "{shown}"
        );
    }

    #[test]
    fn a_program_without_timers_has_no_such_section() {
        assert_eq!(text(&run::report()).trim(), "");
    }

    #[test]
    fn marks_are_listed_with_their_times() {
        let mark = |name: &str, median| MarkReport {
            name: name.to_owned(),
            count: 1,
            first: Estimate {
                value: median,
                low: None,
                high: None,
            },
        };
        let mut report = run::twice();
        report.marks = vec![mark("weights loaded", 2.3), mark("listening", 4.1)];
        let line = "Marked by the program  weights loaded 2.3 s · listening 4.1 s\n";
        assert!(text(&report).contains(line), "{}", text(&report));
        report.marks = vec![mark("step", 1.0); 8];
        assert!(text(&report).contains("2 more in --json"));
        report.marks.clear();
        assert!(!text(&report).contains("Marked by the program"));
    }

    #[test]
    fn many_regions_are_counted() {
        let mut report = run::twice();
        report.regions = vec![report.regions[0].clone(); 9];
        assert!(text(&report).contains("\n  3 more in --html and --json\n"));
    }
}
