//! The headlines: what was run, the time to its first iteration, the first iteration
//! against the steady one, and memory.

use preheat_analyze::run::{DeviceBytes, IterationsBy, RunReport};
use preheat_analyze::stats::{Class, Consistency};

use super::cells::{counted, ends, middle};
use crate::html::command::command_line;
use crate::terminal::{Screen, Style, clean, width};
use crate::units::{ABSENT, TIE, bytes, duration, number, ratio, span};

/// A detail needs this many columns beside its value; else it goes below.
const LEAST_DETAIL: usize = 24;
/// From this width on the ratio shows its interval.
const WIDE: usize = 100;

/// One headline.
struct Row {
    label: &'static str,
    value: String,
    detail: String,
}

/// Everything above the causes.
pub(super) fn show(screen: &mut Screen, report: &RunReport) {
    if let Some(why) = &report.settings.ended_early {
        screen.paragraph(&[(Style::Yellow, "! ")], 2, Style::Plain, why);
    }
    let failed: Vec<i32> = report.starts.iter().map(|start| start.exit_code).collect();
    let failed: Vec<i32> = failed.into_iter().filter(|code| *code != 0).collect();
    if let Some(code) = failed.first() {
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

/// The command, how often it was started, and what an iteration is.
fn title(screen: &mut Screen, report: &RunReport) {
    let mut about = counted(report.starts.len(), "start");
    match report.iterations_by {
        IterationsBy::None => about.push_str(" · no iterations"),
        _ => about.push_str(&format!(" · iterations: {}", clean(&report.iteration))),
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
    let mut rows = vec![
        time_to_first(report),
        first_and_steady(report, screen.terminal.width >= WIDE),
    ];
    rows.extend(memory(report));
    let label = rows.iter().map(|row| width(row.label)).max().unwrap_or(0) + 2;
    let value = rows.iter().map(|row| width(&row.value)).max().unwrap_or(0) + 2;
    let below = screen.terminal.width < label + value + LEAST_DETAIL;
    for row in rows {
        let name = format!("{:<label$}", row.label);
        if below {
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
    let median = duration(report.time_to_first.median);
    let value = match ends(&report.time_to_first) {
        Some(ends) => format!("{median} ({ends})"),
        None => median,
    };
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
    let label = match report.iterations_by {
        IterationsBy::None => "time to end",
        _ => "time to first",
    };
    Row {
        label,
        value,
        detail,
    }
}

fn first_and_steady(report: &RunReport, wide: bool) -> Row {
    let label = "first / steady";
    let Some(first) = report.first else {
        let detail = match report.iterations_by {
            IterationsBy::None => "nothing repeats in this program",
            _ => "",
        };
        return Row {
            label,
            value: ABSENT.to_owned(),
            detail: detail.to_owned(),
        };
    };
    let steady = report.steady.map_or(ABSENT.to_owned(), duration);
    let mut value = format!("{} / {steady}", duration(first));
    if let Some(interval) = &report.ratio {
        value.push_str(&format!(" = {}", ratio(interval.median)));
        if let Some(ends) = span(interval.low, interval.high).filter(|_| wide) {
            value.push_str(&format!(" ({ends})"));
        }
    }
    Row {
        label,
        value,
        detail: shape(report),
    }
}

/// How the iterations behave, in words.
fn shape(report: &RunReport) -> String {
    let Some(class) = report.class else {
        return String::new();
    };
    let meaning = match class {
        Class::Flat => "the first is like the others".to_owned(),
        Class::ColdFirst => "only the first is slow".to_owned(),
        Class::Warmup => match (report.warmup, report.excess) {
            (Some(count), Some(excess)) => {
                format!("the first {} cost {} more", number(count), duration(excess))
            }
            _ => "several are slow before it settles".to_owned(),
        },
        Class::Slowdown => "it becomes slower".to_owned(),
        Class::NoSteadyState => "it does not settle".to_owned(),
    };
    let differ = match report.consistency {
        None | Some(Consistency::Consistent) => "",
        Some(_) => "; not in all starts",
    };
    format!("{}: {meaning}{differ}", class.as_str())
}

fn memory(report: &RunReport) -> Vec<Row> {
    let memory = &report.memory;
    let mut host = vec!["resident at most".to_owned()];
    if let Some(resident) = memory.resident_first {
        host.push(format!("after the first {}", bytes(resident)));
    }
    if memory.pinned > 0 {
        host.push(format!("pinned {}", bytes(memory.pinned)));
    }
    let host = Row {
        label: "host memory",
        value: bytes(memory.resident_peak),
        detail: host.join(" · "),
    };
    let device = memory.device.as_ref().map(|device| Row {
        label: "device memory",
        value: bytes(device.total),
        detail: parts(device),
    });
    device.into_iter().chain([host]).collect()
}

/// What the device's memory is used for, in the unit of the total: `context 510 · …`.
fn parts(device: &DeviceBytes) -> String {
    let total = bytes(device.total);
    let unit = total.split(' ').nth(1).unwrap_or_default();
    let power = ["B", "KiB", "MiB", "GiB", "TiB"]
        .iter()
        .position(|name| *name == unit)
        .unwrap_or(0);
    let scale = 1024f64.powi(power as i32);
    let short = |size: u64| {
        let value = size as f64 / scale;
        let digits = usize::from(value < 9.95);
        let text = format!("{value:.digits$}");
        text.trim_end_matches(".0").to_owned()
    };
    let mut words: Vec<String> = [
        ("context", device.context),
        ("kernels", device.kernels),
        ("allocated", device.used),
        ("reserved", device.reserved),
        ("workspaces", device.workspaces),
        ("other", device.other),
    ]
    .into_iter()
    .map(|(name, size)| (name, short(size)))
    .filter(|(_, size)| size != "0")
    .map(|(name, size)| format!("{name}{TIE}{size}"))
    .collect();
    if let Some(steady) = device.steady_peak {
        words.push(format!(
            "peak{TIE}{},{TIE}steady{TIE}{}",
            short(device.first_peak),
            short(steady)
        ));
    }
    words.join(&format!("{TIE}· "))
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
    fn a_long_command_loses_its_middle_and_has_a_line_of_its_own() {
        let mut report = run::report();
        report.command.push("--dataset=/a/very/long/path".repeat(5));
        let text = text(&report, 80);
        let mut lines = text.lines();
        let first = lines.next().unwrap();
        assert!(first.starts_with("python train.py --data") && first.contains('…'));
        assert_eq!(lines.next(), Some("5 starts · iterations: steps of SGD"));
    }

    #[test]
    fn a_program_without_repetition_has_a_time_to_its_end() {
        let text = text(&run::bare(), 80);
        assert!(text.contains("time to end     12.4 ms\n"), "{text}");
        assert!(text.contains("nothing repeats in this program"));
        assert!(!text.contains("device memory"));
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
        report.starts[1].exit_code = 139;
        assert!(text(&report, 80).contains("! 2 of 5 starts ended with exit codes other than 0."));
    }

    #[test]
    fn memory_in_another_unit_keeps_what_is_small() {
        let device = DeviceBytes {
            total: 3 << 30,
            context: 512 << 20,
            used: 5 << 29,
            kernels: 1 << 20,
            ..DeviceBytes::default()
        };
        assert_eq!(
            parts(&device).replace(TIE, " "),
            "context 0.5 · allocated 2.5"
        );
    }

    #[test]
    fn a_warm_up_says_what_it_cost() {
        let mut report = run::report();
        report.class = Some(Class::Warmup);
        report.warmup = Some(5.0);
        report.consistency = Some(Consistency::GoodInconsistent);
        assert_eq!(
            shape(&report),
            "warmup: the first 5 cost 541 ms more; not in all starts"
        );
    }
}
