//! The largest items over all causes: what exactly it was, and who asked for it.

use preheat_analyze::run::{Cause, Item, RunReport};

use super::cells::{durations, middle};
use crate::terminal::{Screen, Style, clean, width};
use crate::units::{bytes, duration};

/// So many items are shown.
const SHOWN: usize = 8;
/// A name may always be this long; a longer one gives way to what is told of it.
const USUAL_NAME: usize = 26;
/// From this width on the cause stands beside the name.
const WIDE: usize = 110;
/// Who asked is worth this many columns before anything else is told.
const USUAL_DETAIL: usize = 22;
/// Waiting is told from this part of an item's time on.
const WORTH_TELLING: f64 = 0.05;
/// So many are shown that are large by what lies within them alone.
const SHOWN_WITHIN: usize = 3;

/// A line of a list: the item and the seconds that it stands there for.
struct Entry<'a> {
    cause: Cause,
    item: &'a Item,
    seconds: f64,
    /// The other of the item's two times, in words.
    other: Option<String>,
}

/// The lists: by what items took themselves, then those that are large only by what
/// lies within them, such as a small module that imports large ones.
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
                .then(|| format!("{} in all", duration(item.inclusive))),
        })
        .collect();
    list(
        screen,
        "Largest items",
        "own time, and in all with what lies within",
        &own,
    );

    let mut within: Vec<Entry> = rest
        .into_iter()
        .filter(|(_, item)| item.inclusive > smallest)
        .map(|(cause, item)| Entry {
            cause,
            item,
            seconds: item.inclusive,
            other: Some(format!("{} its own", duration(item.seconds))),
        })
        .collect();
    within.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    within.truncate(SHOWN_WITHIN);
    list(screen, "Large by what lies within", "", &within);
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
    let time = times.first().map_or(0, |text| width(text));
    let names: Vec<String> = entries
        .iter()
        .map(|entry| clean(&entry.item.name))
        .collect();
    let longest = names.iter().map(|text| width(text)).max().unwrap_or(0);
    let name = longest.min((room / 3).max(USUAL_NAME));
    let cause = entries
        .iter()
        .map(|entry| width(entry.cause.as_str()))
        .max()
        .filter(|_| room >= WIDE)
        .map_or(0, |width| width + 2);
    let left = room.saturating_sub(2 + time + 2 + name + 2 + cause);
    for ((entry, time), title) in entries.iter().zip(&times).zip(&names) {
        let mut line = vec![
            (Style::Plain, format!("  {time}  ")),
            (Style::Bold, format!("{:<name$}  ", middle(title, name))),
        ];
        if cause > 0 {
            line.push((Style::Plain, format!("{:<cause$}", entry.cause.as_str())));
        }
        line.push((Style::Dim, told(entry, left)));
        screen.line(line);
    }
}

/// What is told of an item, in at most `room` columns: who asked, then as many facts as
/// there is room for.
fn told(entry: &Entry, room: usize) -> String {
    let item = entry.item;
    let facts = [
        entry.other.clone(),
        item.waiting
            .filter(|waiting| *waiting >= WORTH_TELLING * item.seconds.max(f64::MIN_POSITIVE))
            .map(|waiting| format!("{} waiting", duration(waiting))),
        (item.count > 1).then(|| match entry.cause {
            Cause::PythonImports => format!("{} modules", item.count),
            _ => format!("{} times", item.count),
        }),
        item.bytes.map(bytes),
    ];
    let detail = clean(&item.detail);
    let mut left = room.saturating_sub(width(&detail).min(USUAL_DETAIL));
    let mut words = vec![String::new()];
    for fact in facts.into_iter().flatten() {
        let Some(rest) = left.checked_sub(width(&fact) + 3) else {
            break;
        };
        left = rest;
        words.push(fact);
    }
    // What the facts leave is for who asked.
    words[0] = middle(&detail, left + width(&detail).min(USUAL_DETAIL).min(room));
    words.retain(|word| !word.is_empty());
    words.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;
    use crate::terminal::Terminal;

    fn item(detail: &str) -> Item {
        Item {
            name: "torch._dynamo".to_owned(),
            detail: detail.to_owned(),
            seconds: 2.6,
            inclusive: 4.2,
            count: 1,
            bytes: None,
            waiting: Some(0.25),
        }
    }

    fn told_in(item: &Item, room: usize) -> String {
        let entry = Entry {
            cause: Cause::PythonImports,
            item,
            seconds: item.seconds,
            other: Some("4.2 s in all".to_owned()),
        };
        told(&entry, room)
    }

    #[test]
    fn who_asked_comes_first_and_facts_as_there_is_room() {
        let item = item("torch._compile inner:53, from train.py:12");
        assert_eq!(
            told_in(&item, 80),
            "torch._compile inner:53, from train.py:12 · 4.2 s in all · 250 ms waiting"
        );
        assert_eq!(
            told_in(&item, 45),
            "torch._compile…om train.py:12 · 4.2 s in all"
        );
        assert_eq!(told_in(&item, 20), "torch._com…ain.py:12");
        assert_eq!(told_in(&item, 0), "");
    }

    #[test]
    fn what_is_not_known_is_not_told() {
        let item = Item {
            waiting: Some(f64::NAN),
            ..item("")
        };
        assert_eq!(told_in(&item, 40), "4.2 s in all");
    }

    #[test]
    fn a_small_module_that_imports_large_ones_is_seen() {
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
                "\n\nLarge by what lies within\n  4.20 s  torch._dynamo  \
             torch._compile inner…3, from train.py:12 · 4 ms its own\n"
            ),
            "{text}"
        );
    }
}
