//! The top of the page: where most of the time went, as a sentence and three numbers, and
//! the command.

use maud::{Markup, html};
use preheat_model::run::{Cause, CauseReport, EndOfTime, Importer, Item, Origin, RunReport};
use preheat_model::stats::Estimate;

use super::first_of;
use crate::html::page::{command, header, paragraph, tile};
use crate::html::{command_line, cut};
use crate::run::text::{
    done_once, in_order, other_clock, peak_name, ratio_span, shape, time_name, time_span, too_few,
    unknown_begin,
};
use crate::units::{TOO_WIDE, bytes, counted, duration, percent, ratio, tie, too_wide};

/// Renders the header.
pub(super) fn top(report: &RunReport) -> Markup {
    let (text, detail) = headline(report);
    let ended_early = report.settings.ended_early.as_deref();
    let content = html! {
        (paragraph("detail", &tie(&cut(&detail, 300))))
        div class="tiles" { (time(report)) (against_steady(report)) (memory(report)) }
        (command(&command_line(&report.command)))
        p class="run" { (run(report).join(" · ")) }
        (paragraph("warning", ended_early.unwrap_or_default()))
    };
    let headline = format!("{}.", tie(&text));
    header(Some("run-header"), "preheat run", &headline, &content)
}

fn time(report: &RunReport) -> Markup {
    let mut more = match time_span(&report.time_to_first) {
        Some(span) => format!(
            "95 % interval {span}, {}",
            counted(report.counted_starts, "start")
        ),
        None if report.counted_starts < 3 => format!(
            "{}: too few for an interval",
            counted(report.counted_starts, "start")
        ),
        None => counted(report.counted_starts, "start"),
    };
    // The number is that of the warmest starts, so a colder first start is not comparable.
    let warmest = report.starts.iter().map(|start| start.temperature).min();
    let first = report
        .starts
        .iter()
        .find(|start| start.first_start && Some(start.temperature) == warmest);
    if let Some(seconds) = first
        .and_then(|start| start.time_to_first)
        .filter(|_| report.starts.len() > 1)
    {
        more.push_str(&format!("; the first start {}", duration(seconds)));
    }
    tile(
        time_name(report),
        &duration(report.time_to_first.value),
        None,
        &more,
    )
}

fn against_steady(report: &RunReport) -> Markup {
    if let Some(why) = unknown_begin(report) {
        let second = report.second.map(|second| second.value);
        let (name, later) = match report.steady {
            Some(steady) => ("steady iteration", Some(steady)),
            None => ("second iteration", second),
        };
        let number = later.map_or("–".to_owned(), duration);
        return tile(name, &number, None, why);
    }
    let (Some(first), Some(steady)) = (report.first, report.steady) else {
        return against_second(report);
    };
    let mut more = format!("{} against {}", duration(first), duration(steady));
    let number = match report.ratio {
        None => "–".to_owned(),
        Some(interval) => {
            more.push_str(&interval_words(&interval));
            ratio(interval.value)
        }
    };
    match shape(report) {
        shape if shape.is_empty() => {}
        shape => more.push_str(&format!("; {shape}")),
    }
    tile("first ÷ steady iteration", &number, None, &more)
}

/// `; 95 % interval 172–260×`; empty if there is none.
fn interval_words(times: &Estimate) -> String {
    match ratio_span(times) {
        None => String::new(),
        Some(bounds) if too_wide(times.low, times.high) => {
            format!("; 95 % interval {bounds}, {TOO_WIDE}")
        }
        Some(bounds) => format!("; 95 % interval {bounds}"),
    }
}

/// The first iteration against the second, if there is no steady state.
fn against_second(report: &RunReport) -> Markup {
    let why = match report.iterations_by.end_of_time() {
        EndOfTime::Program => match done_once(report) {
            Some(once) => format!("{once}, so there is no first iteration."),
            None => "Nothing repeats, so there is no first iteration.".to_owned(),
        },
        EndOfTime::FirstIteration => (in_order(report).or_else(|| too_few(report)))
            .unwrap_or("The iterations do not reach a steady state.".to_owned()),
    } + other_clock(report);
    let (Some(first), Some(second), Some(times)) =
        (report.first, report.second, report.first_to_second)
    else {
        let number = report.first.map_or("–".to_owned(), duration);
        return tile("first iteration", &number, None, &why);
    };
    let mut more = format!("{} against {}", duration(first), duration(second.value));
    more.push_str(&interval_words(&times));
    let more = format!("{more}; {why}");
    tile("first ÷ second iteration", &ratio(times.value), None, &more)
}

fn memory(report: &RunReport) -> Markup {
    let memory = &report.memory;
    match &memory.device {
        Some(device) => {
            let mut more = format!("at {}", first_of(report));
            more.push_str(&format!(", peak {}", bytes(device.first_peak)));
            if let Some(steady) = device.steady_peak {
                more.push_str(&format!("; peak {} in the steady state", bytes(steady)));
            }
            tile("device memory", &bytes(device.total), None, &more)
        }
        None => host(report),
    }
}

/// Host memory as the terminal shows it.
/// Recordings without its use have resident memory alone.
fn host(report: &RunReport) -> Markup {
    let memory = &report.memory;
    let (total, words) = match (&memory.host, memory.resident_first) {
        (Some(host), _) => {
            let peak = peak_name(host);
            let words = format!(
                "at {}, {peak} {}",
                first_of(report),
                bytes(memory.resident_peak)
            );
            (host.first.total, words)
        }
        (None, Some(first)) => {
            let words = format!("peak; {} at {}", bytes(first), first_of(report));
            (memory.resident_peak, words)
        }
        (None, None) => (memory.resident_peak, "peak".to_owned()),
    };
    let more = format!("{words}. No device was used.");
    tile("host memory", &bytes(total), None, &more)
}

fn run(report: &RunReport) -> Vec<String> {
    let mut parts = vec![counted(report.starts.len(), "start")];
    if !report.iteration.is_empty() {
        parts.push(format!("iterations: {}", cut(&report.iteration, 120)));
    }
    parts.push(report.machine.cpu.clone());
    parts.push(report.created.clone());
    parts.push(format!("preheat {}", report.preheat));
    parts
}

// The headline: where most of the time went. It starts with the largest cause, so that it
// always agrees with the list of causes.

/// Items below this share of their cause are not named.
const WORTH_NAMING: f64 = 0.1;

/// The headline without a full stop, and details, which may be empty.
pub(super) fn headline(report: &RunReport) -> (String, String) {
    let total = report.time_to_first.value;
    if !total.is_finite() || total <= 0.0 {
        let text = match report.starts.is_empty() {
            true => "Nothing was recorded",
            false => "No start reached its first result",
        };
        return (text.to_owned(), String::new());
    }
    let Some(top) = largest(report, |_| true) else {
        let text = format!("{} to {}", duration(total), first_of(report));
        return (text, String::new());
    };
    let whole = match report.iterations_by.end_of_time() {
        EndOfTime::Program => format!("Of {} from start to end", duration(total)),
        EndOfTime::FirstIteration => format!("Of {} to the first result", duration(total)),
    };
    let text = format!(
        "{whole}, {} {}",
        duration(top.seconds),
        predicate(top.cause)
    );
    if top.cause == Cause::SteadyWork {
        let cold = largest(report, |cause| cause != Cause::SteadyWork);
        let detail = cold.map_or(String::new(), |cold| {
            let (name, seconds) = (cold.cause.as_str(), duration(cold.seconds));
            format!("The largest part of the cold start: {name}, {seconds}.")
        });
        return (text, detail);
    }
    let share = format!("{} of the total", percent(top.share));
    let Some(item) = item(top) else {
        return (text, format!("{share}."));
    };
    let name = short_name(&item.name);
    let line = match item
        .importer()
        .and_then(|importer| importer.line.as_deref())
    {
        Some(line) => format!(", imported at {}", cut(line, 60)),
        None => String::new(),
    };
    // A module between the program and the item, which the line does not show.
    let between = |importer: &&Importer| importer.module.is_some() && importer.line.is_some();
    let between = item.importer().filter(between).map(Importer::sentence);
    // Nested imports and libraries may have other causes.
    let nested = item.inclusive > item.seconds * 1.01;
    let about = match &between {
        _ if line.is_empty() && !item.detail.is_empty() => format!("; {name}: {}", item.detail),
        Some(imported) => format!("; {name} was {imported}"),
        None if module_name(&item.name).is_some() => format!("; {}", cut(&item.name, 80)),
        _ => String::new(),
    };
    if nested {
        let within = duration(item.inclusive);
        let text = format!("{text}, mainly {name}{line}");
        let by = between.map_or(String::new(), |imported| format!(", and was {imported}"));
        let detail = format!("{share}; {name} took {within}, including everything it loads{by}.");
        return (text, detail);
    }
    let them = match top.cause {
        Cause::PythonImports => "them",
        _ => "it",
    };
    let part = duration(item.inclusive);
    (
        format!("{text}, {part} of {them} {name}{line}"),
        format!("{share}{about}."),
    )
}

/// The name of an item in a headline: `the extension module _C` for
/// `_C.cpython-311-x86_64-linux-gnu.so`.
fn short_name(name: &str) -> String {
    match module_name(name) {
        Some(module) => format!("the extension module {}", cut(module, 40)),
        None => cut(name, 60),
    }
}

/// The module that a file with an ABI tag of Python implements.
fn module_name(file: &str) -> Option<&str> {
    let (module, _) = file
        .split_once(".cpython-")
        .or_else(|| file.split_once(".abi3."))?;
    file.ends_with(".so").then_some(module)
}

/// The largest of the selected causes.
fn largest(report: &RunReport, of: impl Fn(Cause) -> bool) -> Option<&CauseReport> {
    let causes = report.causes.iter().filter(|cause| of(cause.cause));
    causes
        .filter(|cause| cause.seconds.is_finite() && cause.seconds > 0.0)
        .max_by(|a, b| a.seconds.total_cmp(&b.seconds))
}

/// The item of a cause for the headline: the one with the largest inclusive time. The main
/// thread, and waiting as such, are not informative.
fn item(cause: &CauseReport) -> Option<&Item> {
    let items = cause.items.iter().filter(|item| {
        let vague = matches!(item.origin, Some(Origin::MainThread | Origin::Waiting));
        item.inclusive.is_finite() && !vague
    });
    items
        .max_by(|a, b| a.inclusive.total_cmp(&b.inclusive))
        .filter(|item| item.inclusive >= WORTH_NAMING * cause.seconds)
}

/// The predicate of a sentence about the seconds of a cause.
fn predicate(cause: Cause) -> String {
    match cause {
        Cause::SteadyWork => "are work of every iteration".to_owned(),
        Cause::OwnCpu => "were spent in the program's own code on the CPU".to_owned(),
        Cause::Idle => "were idle".to_owned(),
        Cause::Unexplained => "are unexplained".to_owned(),
        other => format!("were spent on {}", other.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;

    #[test]
    fn the_largest_cause_leads_and_its_largest_item_follows() {
        let (text, detail) = headline(&run::report());
        assert_eq!(
            text,
            "Of 8.94 s to the first result, 6.96 s were spent on Python imports, mainly \
             torch._dynamo, imported at train.py:12"
        );
        assert_eq!(
            detail,
            "78 % of the total; torch._dynamo took 4.2 s, including everything it loads, and was \
             imported by torch._compile inner:53, from train.py:12."
        );
    }

    #[test]
    fn an_item_of_another_cause_does_not_lead() {
        let mut report = run::report();
        report.causes[1].items[0].inclusive = 8.0;
        assert!(headline(&report).0.contains("were spent on Python imports"));
    }

    #[test]
    fn an_extension_module_has_its_file_name_below() {
        let mut report = run::report();
        report.causes.truncate(1);
        report.causes[0].cause = Cause::LibraryLoading;
        report.causes[0].items.truncate(1);
        let item = &mut report.causes[0].items[0];
        item.name = "_C.cpython-311-x86_64-linux-gnu.so".to_owned();
        item.detail.clear();
        item.origin = None;
        item.inclusive = item.seconds;
        let (text, detail) = headline(&report);
        assert!(text.ends_with("of it the extension module _C"), "{text}");
        assert_eq!(
            detail,
            "78 % of the total; _C.cpython-311-x86_64-linux-gnu.so."
        );
        assert_eq!(short_name("libcublasLt.so.13"), "libcublasLt.so.13");
        assert_eq!(short_name("_rust.abi3.so"), "the extension module _rust");
    }

    #[test]
    fn an_item_without_nested_ones_is_part_of_its_cause() {
        let mut report = run::report();
        let item = &mut report.causes[0].items[1];
        item.seconds = item.inclusive;
        let (text, detail) = headline(&report);
        assert!(
            text.ends_with("4.2 s of them torch._dynamo, imported at train.py:12"),
            "{text}"
        );
        assert!(
            detail.starts_with("78 % of the total; torch._dynamo was imported by"),
            "{detail}"
        );
    }

    #[test]
    fn the_main_thread_is_not_a_headline() {
        let mut report = run::report();
        report.causes.retain(|cause| cause.cause == Cause::OwnCpu);
        report.causes[0].items = vec![Item {
            origin: Some(Origin::MainThread),
            seconds: 0.4,
            inclusive: 0.4,
            count: 1,
            ..Item::named("main thread")
        }];
        let (text, detail) = headline(&report);
        assert!(text.ends_with("420 ms were spent in the program's own code on the CPU"));
        assert_eq!(detail, "4.7 % of the total.");
    }

    #[test]
    fn steady_work_is_not_called_cold() {
        let mut report = run::report();
        report.causes[13].seconds = 60.0;
        report.time_to_first.value = 70.0;
        let (text, detail) = headline(&report);
        assert!(text.ends_with("60 s are work of every iteration"), "{text}");
        assert_eq!(
            detail,
            "The largest part of the cold start: Python imports, 6.96 s."
        );
    }
}
