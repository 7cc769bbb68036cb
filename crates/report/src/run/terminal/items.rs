//! The largest items of all causes, with their importers.

use preheat_model::run::{Cause, Item, RunReport};

use super::super::text::waited;
use crate::terminal::cells::{durations, is_words, name as cut};
use crate::terminal::table::{Table, left};
use crate::terminal::{Screen, Style, clean, pad, width};
use crate::units::{bytes, duration};

/// The number of items to show.
const SHOWN: usize = 8;
/// Names may always have this length; longer ones are cut to make room for details.
const USUAL_NAME: usize = 24;
/// Phrases may have this length.
const LONG_WORDS: usize = 34;
/// The minimum width for full names of causes.
const WIDE: usize = 110;
/// The minimum width for causes.
const MIN_WITH_CAUSE: usize = 60;
/// The number of items to show that are large only by total time.
const SHOWN_WITHIN: usize = 3;

/// A row of a list: the item and the seconds to show.
struct Entry<'a> {
    cause: Cause,
    item: &'a Item,
    seconds: f64,
    /// The other of the item's two times, as text.
    other: Option<String>,
}

/// Shows the lists: by own time, then those that are large only by total time, such as a
/// small module that imports large ones.
pub(super) fn show(screen: &mut Screen, report: &RunReport) {
    let mut items: Vec<(Cause, &Item)> = report
        .causes
        .iter()
        .flat_map(|cause| cause.items.iter().map(|item| (cause.cause, item)))
        .collect();
    items.sort_by(|(_, a), (_, b)| b.seconds.total_cmp(&a.seconds));
    let rest = items.split_off(items.len().min(SHOWN));
    let smallest = items.last().map_or(f64::INFINITY, |(_, item)| item.seconds);
    let own: Vec<Entry> = items
        .into_iter()
        .map(|(cause, item)| Entry {
            cause,
            item,
            seconds: item.seconds,
            other: (item.inclusive > item.seconds * 1.01)
                .then(|| format!("{} total", duration(item.inclusive))),
        })
        .collect();
    list(
        screen,
        "Largest items",
        "own time; total includes nested items",
        &own,
    );

    let mut within: Vec<Entry> = rest
        .into_iter()
        .filter(|(_, item)| item.inclusive > smallest)
        .map(|(cause, item)| Entry {
            cause,
            item,
            seconds: item.inclusive,
            other: Some(format!("{} own", duration(item.seconds))),
        })
        .collect();
    within.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    within.truncate(SHOWN_WITHIN);
    list(screen, "Largest by total time", "", &within);
}

fn list(screen: &mut Screen, title: &str, about: &str, entries: &[Entry]) {
    if entries.is_empty() {
        return;
    }
    let about = match entries.iter().any(|entry| entry.other.is_some()) {
        true => about,
        false => "",
    };
    screen.blank();
    screen.paragraph(
        &[(Style::Bold, title), (Style::Plain, "  ")],
        2,
        Style::Dim,
        about,
    );
    let room = screen.terminal.width;
    let times = durations(entries.iter().map(|entry| entry.seconds));
    let names: Vec<String> = entries
        .iter()
        .map(|entry| clean(&entry.item.name))
        .collect();
    let longest = names.iter().map(|text| width(text)).max().unwrap_or(0);
    let words = names.iter().filter(|text| is_words(text));
    let words = words.map(|text| width(text)).max().unwrap_or(0);
    let name = longest.min((room * 3 / 10).max(USUAL_NAME).max(words.min(LONG_WORDS)));
    let cause = match room {
        _ if room >= WIDE => Cause::as_str,
        _ => Cause::short,
    };
    let mut table = Table::new(&[left(""), left("")]);
    for (time, title) in times.into_iter().zip(&names) {
        let title = pad(&cut(title, name), name);
        table.row(vec![(Style::Plain, time), (Style::Bold, title)]);
    }
    if room >= MIN_WITH_CAUSE {
        let cell = |entry: &Entry| (Style::Plain, cause(entry.cause).to_owned());
        table.append(left(""), entries.iter().map(cell));
    }
    let rest = room.saturating_sub(table.width() + 2);
    let cell = |entry: &Entry| (Style::Dim, details(entry, rest));
    table.append(left(""), entries.iter().map(cell));
    table.show(screen);
}

/// The details of an item in at most `room` columns: as many facts as fit, preceded by the
/// importer: in full, else the program's own line, else nothing.
fn details(entry: &Entry, room: usize) -> String {
    let item = entry.item;
    let facts = [
        entry.other.clone(),
        waited(item.waiting, entry.seconds).map(|waiting| format!("{} waiting", duration(waiting))),
        (item.count > 1).then(|| match entry.cause {
            Cause::PythonImports | Cause::BytecodeCompilation => {
                format!("{} modules", item.count)
            }
            _ => format!("{} times", item.count),
        }),
        item.bytes.map(bytes),
    ];
    let mut left = room;
    let mut words: Vec<String> = Vec::new();
    for fact in facts.into_iter().flatten() {
        let gap = if words.is_empty() { 0 } else { 3 };
        let Some(rest) = left.checked_sub(width(&fact) + gap) else {
            break;
        };
        left = rest;
        words.push(fact);
    }
    if !words.is_empty() {
        left = left.saturating_sub(3);
    }
    let detail = clean(&item.detail);
    let line = item.importer().and_then(|importer| importer.line.as_ref());
    let line = line.map(|line| format!("from {}", clean(line)));
    let importer = [Some(detail), line];
    let fits = |text: &String| !text.is_empty() && width(text) <= left;
    if let Some(importer) = importer.into_iter().flatten().find(fits) {
        words.insert(0, importer);
    }
    words.join(" · ")
}

#[cfg(test)]
mod tests {
    use preheat_model::run::{Importer, Origin};

    use super::*;
    use crate::fixture::run;
    use crate::terminal::Terminal;

    fn item(importer: Importer) -> Item {
        Item {
            detail: importer.sentence(),
            origin: Some(Origin::Import(importer)),
            seconds: 2.6,
            inclusive: 4.2,
            count: 1,
            waiting: Some(0.25),
            ..Item::named("torch._dynamo")
        }
    }

    fn details_in(item: &Item, room: usize) -> String {
        let entry = Entry {
            cause: Cause::PythonImports,
            item,
            seconds: item.seconds,
            other: Some("4.2 s total".to_owned()),
        };
        details(&entry, room)
    }

    #[test]
    fn facts_are_shown_as_they_fit_after_the_importer() {
        let item = item(Importer {
            module: Some("torch._compile inner:53".to_owned()),
            line: Some("train.py:12".to_owned()),
        });
        assert_eq!(
            details_in(&item, 90),
            "imported by torch._compile inner:53, from train.py:12 · 4.2 s total · 250 ms waiting"
        );
        // The importer is dropped first: shortened to the program's own line, then omitted.
        assert_eq!(
            details_in(&item, 50),
            "from train.py:12 · 4.2 s total · 250 ms waiting"
        );
        assert_eq!(details_in(&item, 40), "4.2 s total · 250 ms waiting");
        assert_eq!(details_in(&item, 20), "4.2 s total");
        assert_eq!(details_in(&item, 0), "");
    }

    #[test]
    fn unknown_facts_are_omitted() {
        let item = Item {
            waiting: Some(f64::NAN),
            ..item(Importer::default())
        };
        assert_eq!(details_in(&item, 40), "4.2 s total");
    }

    #[test]
    fn a_small_module_that_imports_large_ones_is_shown() {
        let mut report = run::report();
        let imports = &mut report.causes[0].items;
        imports[1].seconds = 0.004;
        let mut screen = Screen::new(&Terminal {
            width: 80,
            color: false,
            unicode: true,
        });
        show(&mut screen, &report);
        let text = screen.finish();
        assert!(
            text.ends_with(
                "\n\nLargest by total time\n  4.20 s  torch._dynamo  imports  \
             from train.py:12 · 4 ms own\n"
            ),
            "{text}"
        );
    }
}
