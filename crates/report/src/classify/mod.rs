//! Renders classified iteration times: the texts that the renderers `terminal` and `html` share.

mod html;
mod terminal;

use std::collections::HashMap;

use preheat_model::classify::{Benchmark, ClassifyReport, Measures};
use preheat_model::stats::{Class, Consistency};

use crate::units::{TIE, counted, duration, minus, ratio};

pub use html::{ClassifySketch, classify_html};
pub use terminal::classify_terminal;

/// The classes in display order.
const CLASSES: [Class; 5] = [
    Class::Flat,
    Class::ColdFirst,
    Class::Warmup,
    Class::Slowdown,
    Class::NoSteadyState,
];

/// The overall result, without a full stop.
fn headline(report: &ClassifyReport) -> String {
    match &report.benchmarks[..] {
        [] => "Nothing could be classified".to_owned(),
        [one] => format!("{}: {}", one.name, behavior(one)),
        all => {
            let classes: Vec<String> = (CLASSES.into_iter())
                .map(|class| (report.count(class), class))
                .filter(|(count, _)| *count > 0)
                .map(|(count, class)| match class {
                    // Do not break the line between a number and its class.
                    Class::NoSteadyState => format!("{count}{TIE}with {class}"),
                    _ => format!("{count}{TIE}{class}"),
                })
                .collect();
            format!("{} benchmarks: {}", all.len(), classes.join(", "))
        }
    }
}

/// The behavior of one benchmark, as the end of a sentence.
fn behavior(benchmark: &Benchmark) -> String {
    let one = benchmark.measures.singular();
    let times = benchmark.ratio.map_or(String::new(), |interval| {
        format!("{} a steady one", ratio(interval.value))
    });
    let after = |count: Option<usize>| {
        let count = count.unwrap_or(0);
        counted(count, one)
    };
    match benchmark.class {
        // Flat means that the first is within the noise. With few or noisy iterations it can
        // still be far from steady.
        Class::Flat => match benchmark.ratio.map(|ratio| ratio.value) {
            Some(middle) if !(0.9..=1.1).contains(&middle) => format!(
                "no warm-up detected: the first {one} takes {times}, which is within the noise"
            ),
            _ => format!("flat, at full speed from the first {one}"),
        },
        Class::ColdFirst => format!("only the first {one} is slow, {times}"),
        Class::Warmup => format!(
            "steady after {}; the first takes {times}",
            after(benchmark.discard)
        ),
        Class::Slowdown => format!(
            "a slowdown, steady after {} but slower than before",
            after(benchmark.discard)
        ),
        Class::NoSteadyState => "no steady state".to_owned(),
    }
}

/// The advice on what to discard: one sentence for iterations, one for whole starts.
fn discard(report: &ClassifyReport) -> Vec<String> {
    [Measures::Iterations, Measures::Starts]
        .into_iter()
        .filter_map(|measures| {
            let these: Vec<&Benchmark> = (report.benchmarks.iter())
                .filter(|b| b.measures == measures)
                .collect();
            (!these.is_empty()).then(|| discard_of(&these, measures))
        })
        .collect()
}

fn discard_of(these: &[&Benchmark], measures: Measures) -> String {
    let settled: Vec<usize> = these.iter().filter_map(|b| b.discard).collect();
    let open = these.len() - settled.len();
    let most = settled.iter().copied().max();
    let of_each = match measures {
        Measures::Iterations => " of each start",
        Measures::Starts => "",
    };
    let mut text = match most {
        None => String::new(),
        Some(0) => format!("No {} needs to be discarded", measures.singular()),
        Some(1) => format!("Discard the first {}{of_each}", measures.singular()),
        Some(n) => format!("Discard the first {n} {}{of_each}", measures.plural()),
    };
    if let (Some(most @ 1..), Measures::Starts) = (most, measures) {
        text.push_str(&format!(", as `hyperfine --warmup {most}` does"));
    }
    if let (Some(most @ 1..), 2..) = (most, settled.len()) {
        let need = settled.iter().filter(|count| **count == most).count();
        match these.iter().find(|b| b.discard == Some(most)) {
            Some(one) if need == 1 => {
                let next = settled.iter().copied().filter(|n| *n < most).max();
                let others = match next.unwrap_or(0) {
                    0 => "the others need none".to_owned(),
                    n => format!("the others need at most {n}"),
                };
                text.push_str(&format!(": {} needs that many, {others}", one.name));
            }
            _ => text.push_str(&format!(": {need} of {} need that many", settled.len())),
        }
    }
    if open == 0 {
        return text + ".";
    }
    if !text.is_empty() {
        text.push_str(". ");
    }
    let without = match (these.len(), open) {
        (1, _) => "It has".to_owned(),
        (_, 1) => "1 benchmark has".to_owned(),
        (_, n) => format!("{n} benchmarks have"),
    };
    text + &format!(
        "{without} no steady state: discarding {} does not help; run longer, or find out what \
         changes.",
        measures.plural()
    )
}

/// `10 starts of 2000 iterations`, `12 starts`.
fn extent(benchmark: &Benchmark) -> String {
    let (least, most) = benchmark.iterations();
    if benchmark.measures == Measures::Starts {
        return counted(most, "start");
    }
    let starts = counted(benchmark.starts.len(), "start");
    match least == most {
        true => format!("{starts} of {}", counted(most, "iteration")),
        false => format!("{starts} of {least} to {most} iterations"),
    }
}

/// The agreement of the starts, shown after the class; empty for a single start.
fn agreement(benchmark: &Benchmark) -> String {
    let starts = benchmark.starts.len();
    let alike = (benchmark.starts.iter())
        .filter(|start| start.class == benchmark.class)
        .count();
    match benchmark.consistency {
        _ if starts < 2 => String::new(),
        // Each start alone is flat; only together they show a slow first.
        Consistency::Consistent if alike == 0 => "visible only over all starts".to_owned(),
        Consistency::Consistent => "all starts agree".to_owned(),
        mixed => format!("{alike} of {starts} starts, {mixed}"),
    }
}

/// Formats a time, which may be negative (a saving).
fn time(seconds: f64) -> String {
    minus(&duration(seconds))
}

/// The display name of each benchmark, with its file if the name is not unique.
fn names(report: &ClassifyReport) -> Vec<String> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for benchmark in &report.benchmarks {
        *seen.entry(&benchmark.name).or_default() += 1;
    }
    let name = |benchmark: &Benchmark| match seen.get(benchmark.name.as_str()) {
        Some(1) | None => benchmark.name.clone(),
        _ => format!("{} ({})", benchmark.name, benchmark.file),
    };
    report.benchmarks.iter().map(name).collect()
}

/// The notes with the number of benchmarks that have them, most frequent first.
fn notes(report: &ClassifyReport) -> Vec<(usize, &str)> {
    let mut notes: Vec<(usize, &str)> = Vec::new();
    let mut index: HashMap<&str, usize> = HashMap::new();
    for note in report.benchmarks.iter().flat_map(|b| &b.notes) {
        let at = *index.entry(note).or_insert_with(|| {
            notes.push((0, note));
            notes.len() - 1
        });
        notes[at].0 += 1;
    }
    notes.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_times_have_a_minus_sign() {
        assert_eq!(time(-0.284), "−284 ms");
        assert_eq!(time(0.284), "284 ms");
    }
}
