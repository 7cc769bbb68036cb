//! The headlines: the command, the time to its first iteration, the first iteration against
//! the steady one, and memory.
//!
//! The rows are paragraphs after a label and a value: their details wrap, unlike cells of a table.

use preheat_model::run::{DeviceBytes, EndOfTime, HostMemory, RunReport};

use super::super::text::{
    done_once, in_order, peak_name, pinned, ratio_span, shape, starts, time, time_name,
    unknown_begin,
};
use crate::html::command_line;
use crate::terminal::cells::middle;
use crate::terminal::{Screen, Style, clean, width};
use crate::units::{
    ABSENT, TIE, TOO_WIDE, Unit, bytes, counted, duration, ratio, tie, too_wide, with_interval,
};

/// The minimum width for details next to a value; narrower ones go below it.
const MIN_DETAIL: usize = 24;
/// With at least this width for details, the longest value may have them next to it.
const GOOD_DETAIL: usize = 36;
/// Parts below this share of all device memory do not affect the digits of the total.
const UNSEEN: f64 = 0.0005;

/// One headline.
struct Row {
    label: &'static str,
    value: String,
    detail: String,
}

/// Shows everything above the causes.
pub(super) fn show(screen: &mut Screen, report: &RunReport) {
    if let Some(why) = &report.settings.ended_early {
        screen.paragraph(&[(Style::Yellow, "! ")], 2, Style::Plain, why);
    }
    let failed: Vec<i32> = report.starts.iter().map(|start| start.exit_code).collect();
    let failed: Vec<i32> = failed.into_iter().filter(|code| *code != 0).collect();
    // An early end because of the failures has its own line.
    let stated = |code: &i32| report.settings.ended_with == Some(*code);
    let all_stated = failed.len() == report.starts.len() && failed.iter().all(stated);
    if let Some(code) = failed.first().filter(|_| !all_stated) {
        let which = if failed.iter().all(|other| other == code) {
            format!("exit code {code}")
        } else {
            "exit codes other than 0".to_owned()
        };
        let text = format!(
            "{} of {} ended with {which}.",
            failed.len(),
            counted(report.starts.len(), "start")
        );
        screen.paragraph(&[(Style::Yellow, "! ")], 2, Style::Plain, &text);
    }
    title(screen, report);
    screen.blank();
    rows(screen, report);
}

/// The command, the number of starts, and the definition of an iteration.
fn title(screen: &mut Screen, report: &RunReport) {
    let mut about = starts(report);
    match report.iterations_by.end_of_time() {
        EndOfTime::Program => about.push_str(" · no iterations"),
        EndOfTime::FirstIteration => {
            about.push_str(&format!(" · iterations: {}", clean(&report.iteration)))
        }
    }
    let room = screen.terminal.width;
    let command = clean(&command_line(&report.command));
    let beside = room.saturating_sub(width(&about) + 3);
    if width(&command) <= beside {
        screen.line(vec![
            (Style::Bold, command),
            (Style::Plain, format!(" · {about}")),
        ]);
    } else {
        screen.line(vec![(Style::Bold, middle(&command, room))]);
        screen.paragraph(&[], 0, Style::Plain, &about);
    }
}

fn rows(screen: &mut Screen, report: &RunReport) {
    let mut rows = vec![time_to_first(report), first_and_steady(report)];
    rows.extend(memory(report));
    let label = rows.iter().map(|row| width(row.label)).max().unwrap_or(0) + 2;
    let mut values: Vec<usize> = rows.iter().map(|row| width(&row.value) + 2).collect();
    values.sort_unstable();
    let longest = values.last().copied().unwrap_or(0);
    let others = values.iter().rev().nth(1).copied().unwrap_or(0);
    // One long value must not squeeze all details into a narrow column.
    let value = match screen.terminal.width < label + longest + GOOD_DETAIL {
        true => others,
        false => longest,
    };
    let below = screen.terminal.width < label + value + MIN_DETAIL;
    for row in rows {
        let name = format!("{:<label$}", row.label);
        if !below && width(&row.value) + 2 > value {
            screen.line(vec![(Style::Dim, name), (Style::Bold, row.value)]);
            let margin = " ".repeat(label + value);
            screen.paragraph(
                &[(Style::Plain, &*margin)],
                label + value,
                Style::Plain,
                &row.detail,
            );
        } else if below {
            screen.line(vec![(Style::Dim, name), (Style::Bold, row.value)]);
            if !row.detail.is_empty() {
                screen.paragraph(&[(Style::Plain, "  ")], 2, Style::Plain, &row.detail);
            }
        } else {
            let lead = [
                (Style::Dim, &*name),
                (Style::Bold, &*format!("{:<value$}", row.value)),
            ];
            screen.paragraph(&lead, label + value, Style::Plain, &row.detail);
        }
    }
}

fn time_to_first(report: &RunReport) -> Row {
    let value = time(&report.time_to_first);
    let first = report.starts.iter().find(|start| start.first_start);
    let detail = first
        .filter(|_| report.starts.len() > report.counted_starts)
        .and_then(|start| Some((start, start.time_to_first?)))
        .map_or(String::new(), |(start, seconds)| {
            let cold = match report.ladder.len() {
                0 | 1 => String::new(),
                _ => format!(" ({})", start.temperature.as_str()),
            };
            format!("first start{cold} {}", duration(seconds))
        });
    Row {
        label: time_name(report),
        value,
        detail,
    }
}

fn first_and_steady(report: &RunReport) -> Row {
    let label = "first / steady";
    if let Some(why) = unknown_begin(report) {
        let second = report.second.map(|second| second.value);
        let (label, later) = match report.steady {
            Some(steady) => ("steady", Some(steady)),
            None => ("second", second),
        };
        return Row {
            label,
            value: later.map_or(ABSENT.to_owned(), duration),
            detail: why.to_owned(),
        };
    }
    let Some(first) = report.first else {
        let detail = match report.iterations_by.end_of_time() {
            EndOfTime::Program => done_once(report).unwrap_or("nothing repeats in this program"),
            EndOfTime::FirstIteration => "",
        };
        return Row {
            label,
            value: ABSENT.to_owned(),
            detail: clean(detail),
        };
    };
    if let Some(others) = in_order(report) {
        return Row {
            label: "first",
            value: duration(first),
            detail: clean(&others),
        };
    }
    let (label, later, times) = match (report.steady, report.second) {
        (None, Some(second)) => ("first / second", Some(second.value), report.first_to_second),
        (steady, _) => (label, steady, report.ratio),
    };
    let later = later.map_or(ABSENT.to_owned(), duration);
    let mut value = format!("{} / {later}", duration(first));
    let mut detail = shape(report);
    if let Some(interval) = times {
        let (bounds, times) = (ratio_span(&interval), ratio(interval.value));
        // The words for a wide interval have more room among the details.
        let times = with_interval(&times, bounds.as_deref(), false);
        value.push_str(&format!(" = {times}"));
        if too_wide(interval.low, interval.high) {
            detail = match detail.is_empty() {
                true => TOO_WIDE.to_owned(),
                false => format!("{TOO_WIDE}; {detail}"),
            };
        }
    }
    Row {
        label,
        value,
        detail,
    }
}

fn memory(report: &RunReport) -> Vec<Row> {
    let memory = &report.memory;
    let host = match &memory.host {
        Some(host) => host_row(report, host),
        None => resident_row(report),
    };
    let device = memory.device.as_ref().map(|device| Row {
        label: "device memory",
        value: bytes(device.total),
        detail: parts(device),
    });
    device.into_iter().chain([host]).collect()
}

/// The use of host memory: `MiB: libraries 180 · …`.
fn host_row(report: &RunReport, host: &HostMemory) -> Row {
    let total = host.first.total;
    let short = Short::of(total);
    let uses = host.first.parts.iter();
    let seen = uses.filter(|part| part.bytes as f64 > UNSEEN * total as f64);
    let mut words: Vec<String> = seen
        .map(|part| format!("{}{TIE}{}", part.usage.name(), short.number(part.bytes)))
        .collect();
    let peak = peak_name(host).replace(' ', &TIE.to_string());
    words.push(format!(
        "{peak}{TIE}{}",
        short.number(report.memory.resident_peak)
    ));
    let pinned = pinned(report.memory.pinned);
    words.extend(pinned.map(|size| format!("pinned{TIE}{}", short.number(size))));
    Row {
        label: "host memory",
        value: bytes(total),
        detail: short.list(&words),
    }
}

/// Resident memory alone, of recordings without its use.
fn resident_row(report: &RunReport) -> Row {
    let memory = &report.memory;
    let mut host = vec!["peak".to_owned()];
    if let Some(resident) = memory.resident_first {
        host.push(format!("{} after the first iteration", bytes(resident)));
    }
    host.extend(pinned(memory.pinned).map(|size| format!("{} pinned", bytes(size))));
    Row {
        label: "host memory",
        value: bytes(memory.resident_peak),
        detail: tie(&host.join(" · ")).replace(" · ", &format!("{TIE}· ")),
    }
}

/// Sizes in the unit of a total, which is printed once: `MiB: context 510 · …`.
struct Short {
    unit: &'static str,
    scale: f64,
}

impl Short {
    fn of(total: u64) -> Short {
        let (scale, unit) = Unit::Bytes.shown_in(total as f64);
        Short { unit, scale }
    }

    /// A size without its unit, with at least two digits.
    fn number(&self, size: u64) -> String {
        let value = size as f64 / self.scale;
        let digits = match value {
            0.0 => 0,
            value => (1 - value.log10().floor() as i32).clamp(0, 9) as usize,
        };
        format!("{value:.digits$}")
    }

    /// Parts after their unit; empty without parts.
    fn list(&self, words: &[String]) -> String {
        match words.is_empty() {
            true => String::new(),
            false => format!("{}:{TIE}{}", self.unit, words.join(&format!("{TIE}· "))),
        }
    }
}

/// The use of the device's memory, in the unit of the total.
fn parts(device: &DeviceBytes) -> String {
    let short = Short::of(device.total);
    let mut words: Vec<String> = [
        ("context", device.context),
        ("kernels", device.kernels),
        ("allocated", device.used),
        ("reserved", device.reserved),
        ("libraries", device.workspaces),
        ("other", device.other),
    ]
    .into_iter()
    .filter(|(_, size)| *size as f64 > UNSEEN * device.total as f64)
    .map(|(name, size)| format!("{name}{TIE}{}", short.number(size)))
    .collect();
    if let Some(steady) = device.steady_peak {
        words.push(format!(
            "peak{TIE}{},{TIE}steady{TIE}{}",
            short.number(device.first_peak),
            short.number(steady)
        ));
    }
    short.list(&words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;
    use crate::terminal::Terminal;

    fn text(report: &RunReport, width: usize) -> String {
        let mut screen = Screen::new(&Terminal {
            width,
            color: false,
            unicode: true,
        });
        show(&mut screen, report);
        screen.finish()
    }

    #[test]
    fn a_long_command_is_cut_and_has_a_separate_line() {
        let mut report = run::report();
        report.command.push("--dataset=/a/very/long/path".repeat(5));
        let text = text(&report, 80);
        let mut lines = text.lines();
        let first = lines.next().unwrap();
        assert!(first.starts_with("python train.py --data") && first.contains('…'));
        assert_eq!(
            lines.next(),
            Some("5 starts, 4 counted · iterations: steps of SGD")
        );
    }

    #[test]
    fn a_program_without_repetition_has_a_time_to_its_end() {
        let text = text(&run::bare(), 80);
        assert!(text.contains("time to end     12.4 ms\n"), "{text}");
        assert!(text.contains("nothing repeats in this program"));
        assert!(!text.contains("device memory"));
    }

    #[test]
    fn a_model_that_is_called_once_is_named() {
        let mut report = run::bare();
        report.iteration = "Linear was called once; nothing repeats".to_owned();
        let text = text(&report, 80);
        assert!(
            text.contains("Linear was called once; nothing repeats"),
            "{text}"
        );
        assert!(!text.contains("in this program"));
    }

    #[test]
    fn regions_timed_once_are_listed_in_order() {
        let mut report = run::twice();
        report.iterations_by = preheat_model::run::IterationsBy::Timers;
        report.second = None;
        report.first_to_second = None;
        let twice = report.regions[0].clone();
        let once = |from: u32, to: u32, seconds: f64| {
            let mut region = twice.clone();
            region.name = format!("pinned.py:{from}–{to}");
            (region.from, region.to) = (Some(from), Some(to));
            region.count = 1;
            region.first.value = seconds;
            region
        };
        // The second one contains the first.
        report.regions = vec![
            once(13, 15, 0.541),
            once(13, 21, 0.545),
            once(17, 19, 0.00274),
        ];
        let text = text(&report, 120);
        assert!(
            text.contains("pinned.py:13–15, then 2.74 ms (pinned.py:17–19)"),
            "{text}"
        );
        assert!(
            text.lines().any(|line| line.starts_with("first    ")),
            "{text}"
        );
    }

    #[test]
    fn failed_starts_and_an_early_end_stand_at_the_top() {
        let mut report = run::report();
        report.settings.ended_early = Some("interrupted".to_owned());
        report.starts[2].exit_code = 3;
        assert!(
            text(&report, 80)
                .starts_with("! interrupted\n! 1 of 5 starts ended with exit code 3.\n")
        );
        for start in &mut report.starts {
            start.exit_code = 3;
        }
        let early = "2 of 5 starts were made: the command failed with exit code 3";
        report.settings.ended_early = Some(early.to_owned());
        report.settings.ended_with = Some(3);
        let text_of = |report| text(report, 80);
        assert_eq!(text_of(&report).matches("exit code").count(), 1);
        report
            .starts
            .iter_mut()
            .for_each(|start| start.exit_code = 0);
        report.starts[2].exit_code = 3;
        report.starts[1].exit_code = 139;
        assert!(text(&report, 80).contains("! 2 of 5 starts ended with exit codes other than 0."));
    }

    #[test]
    fn the_parts_of_memory_have_the_unit_of_the_whole_and_two_digits() {
        let device = DeviceBytes {
            total: 3 << 30,
            context: 512 << 20,
            used: 5 << 29,
            kernels: 1 << 20,
            workspaces: 6 << 20,
            ..DeviceBytes::default()
        };
        assert_eq!(
            parts(&device).replace(TIE, " "),
            "GiB: context 0.50 · allocated 2.5 · libraries 0.0059"
        );
    }

    #[test]
    fn the_ratio_keeps_its_interval_at_80_columns() {
        let text = text(&run::report(), 80);
        assert!(text.contains("= 716× (690–741×)"), "{text}");
    }

    #[test]
    fn no_line_begins_with_a_unit_or_a_dot() {
        for width in 40..120 {
            for line in text(&run::report(), width).lines() {
                let line = line.trim_start();
                assert!(
                    !line.starts_with("GiB ") && line != "GiB" && !line.starts_with('·'),
                    "{width}: {line}"
                );
            }
        }
    }

    #[test]
    fn a_few_pinned_bytes_are_not_shown() {
        let mut report = run::report();
        report.memory.pinned = 4;
        assert!(!text(&report, 120).contains("pinned"));
    }
}
