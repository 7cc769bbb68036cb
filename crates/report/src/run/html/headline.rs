//! Where most of the time went, in a sentence. It leads with the largest cause, so that
//! it never says other than the causes below it.

use preheat_model::run::{Cause, CauseReport, Item, IterationsBy, RunReport};

use super::super::words::{own_line, percent};
use super::words::{asked, first_of};
use crate::html::cut::cut;
use crate::units::duration;

/// An item is named from this part of its cause on.
const WORTH_NAMING: f64 = 0.1;

/// The sentence without its full stop, and more about it, which may be empty.
pub(super) fn headline(report: &RunReport) -> (String, String) {
    let total = report.time_to_first.median;
    if !total.is_finite() || total <= 0.0 {
        let text = match report.starts.is_empty() {
            true => "Nothing was recorded",
            false => "No start came to its first result",
        };
        return (text.to_owned(), String::new());
    }
    let Some(top) = largest(report, |_| true) else {
        let text = format!("{} to {}", duration(total), first_of(report));
        return (text, String::new());
    };
    let whole = match report.iterations_by {
        IterationsBy::None => format!("Of {} from start to end", duration(total)),
        _ => format!("Of {} to the first result", duration(total)),
    };
    let text = format!("{whole}, {} {}", duration(top.seconds), went(top.cause));
    if top.cause == Cause::SteadyWork {
        let cold = largest(report, |cause| cause != Cause::SteadyWork);
        let detail = cold.map_or(String::new(), |cold| {
            let (name, seconds) = (cold.cause.as_str(), duration(cold.seconds));
            format!("The largest part of the cold start: {name}, {seconds}.")
        });
        return (text, detail);
    }
    let share = format!("{} of the whole", percent(top.share));
    let Some(item) = item(top) else {
        return (text, format!("{share}."));
    };
    let name = cut(&item.name, 60);
    let line = match own_line(&item.detail) {
        Some(line) => format!(", asked for at {}", cut(line, 60)),
        None => String::new(),
    };
    // What lies within an import may be of other causes.
    let nested = item.inclusive > item.seconds * 1.01;
    let all = if nested {
        ", with all that it loads,"
    } else {
        ""
    };
    let about = match (asked(top.cause, &item.detail), line.is_empty()) {
        (about, true) if !about.is_empty() => format!("; {name}: {about}"),
        (about, false) if about.contains(", from ") => format!("; {name}{all} was {about}"),
        _ if nested => format!("; {name} is counted with all that it loads"),
        _ => String::new(),
    };
    if item.inclusive > top.seconds {
        let within = duration(item.inclusive);
        let text = format!("{text}, first of all {name}{line}");
        let detail = format!("{share}; {name} took {within} with all that it loads.");
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

/// The largest of the causes that are asked about.
fn largest(report: &RunReport, of: impl Fn(Cause) -> bool) -> Option<&CauseReport> {
    let causes = report.causes.iter().filter(|cause| of(cause.cause));
    causes
        .filter(|cause| cause.seconds.is_finite() && cause.seconds > 0.0)
        .max_by(|a, b| a.seconds.total_cmp(&b.seconds))
}

/// The item of a cause that is worth a headline: the largest with all within it. That it
/// was the main thread, or that what was idle waited, says nothing.
fn item(cause: &CauseReport) -> Option<&Item> {
    let items = cause.items.iter().filter(|item| {
        item.inclusive.is_finite() && !["main thread", "waiting"].contains(&&*item.name)
    });
    items
        .max_by(|a, b| a.inclusive.total_cmp(&b.inclusive))
        .filter(|item| item.inclusive >= WORTH_NAMING * cause.seconds)
}

/// What became of a cause's seconds.
fn went(cause: Cause) -> String {
    match cause {
        Cause::SteadyWork => "are work that every iteration does".to_owned(),
        Cause::OwnCpu => "went into the program's own work on the CPU".to_owned(),
        Cause::Idle => "went by idle".to_owned(),
        Cause::Unexplained => "are unexplained".to_owned(),
        other => format!("went into {}", other.as_str()),
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
            "Of 8.94 s to the first result, 6.96 s went into Python imports, 4.2 s of them \
             torch._dynamo, asked for at train.py:12"
        );
        assert_eq!(
            detail,
            "78 % of the whole; torch._dynamo, with all that it loads, was asked for by \
             torch._compile inner:53, from train.py:12."
        );
    }

    #[test]
    fn an_item_of_another_cause_does_not_lead() {
        let mut report = run::report();
        report.causes[1].items[0].inclusive = 8.0;
        assert!(headline(&report).0.contains("went into Python imports"));
    }

    #[test]
    fn what_is_more_than_its_cause_is_no_part_of_it() {
        let mut report = run::report();
        report.causes[0].items[1].inclusive = 7.2;
        let (text, detail) = headline(&report);
        assert!(text.ends_with(
            "6.96 s went into Python imports, first of all torch._dynamo, asked for at train.py:12"
        ));
        assert!(
            detail
                .starts_with("78 % of the whole; torch._dynamo took 7.2 s with all that it loads.")
        );
    }

    #[test]
    fn the_main_thread_is_no_headline() {
        let mut report = run::report();
        report.causes.retain(|cause| cause.cause == Cause::OwnCpu);
        report.causes[0].items = vec![Item {
            name: "main thread".to_owned(),
            detail: String::new(),
            seconds: 0.4,
            inclusive: 0.4,
            count: 1,
            bytes: None,
            waiting: None,
        }];
        let (text, detail) = headline(&report);
        assert!(text.ends_with("420 ms went into the program's own work on the CPU"));
        assert_eq!(detail, "4.7 % of the whole.");
    }

    #[test]
    fn steady_work_is_told_as_what_it_is() {
        let mut report = run::report();
        report.causes[13].seconds = 60.0;
        report.time_to_first.median = 70.0;
        let (text, detail) = headline(&report);
        assert!(
            text.ends_with("60 s are work that every iteration does"),
            "{text}"
        );
        assert_eq!(
            detail,
            "The largest part of the cold start: Python imports, 6.96 s."
        );
    }
}
