//! The spans of a thread as bars. Spans too short to be visible are merged with neighbors
//! of the same cause and depth.

use super::super::examine::seconds;
use super::super::facts::{ClassifiedSpan, Facts, ItemRef};
use super::super::items;
use super::super::path::ItemMeaning;
use super::super::trace::{Span, SpanKind, iteration_label};
use super::super::{Bar, Cause};
use crate::units;

/// Bars shorter than one n-th of the total are not visible.
const VISIBLE_PARTS: u64 = 2000;

/// A bar without labels.
#[derive(Clone, Copy)]
struct Raw {
    begin: u64,
    end: u64,
    depth: u8,
    cause: Option<Cause>,
    /// The longest span in it, and its length.
    longest: usize,
    length: u64,
    spans: u64,
}

/// At most `most` bars of a thread until `until`.
pub(super) fn bars(facts: &Facts, thread: usize, until: u64, most: usize) -> Vec<Bar> {
    let spans = &facts.process.threads[thread].spans;
    let mut grain = (until / VISIBLE_PARTS).max(1);
    let mut raw = merged(judged(facts, spans, until), grain, false);
    while raw.len() > most && grain <= until {
        grain *= 2;
        raw = merged(raw.into_iter(), grain, true);
    }
    // Deep nesting may still give too many.
    raw.sort_by_key(|bar| std::cmp::Reverse(bar.length));
    raw.truncate(most);
    raw.sort_by_key(|bar| (bar.begin, bar.depth));
    raw.iter().map(|bar| labelled(facts, spans, bar)).collect()
}

/// Each span as a separate bar.
fn judged<'a>(
    facts: &'a Facts,
    spans: &'a [Span],
    until: u64,
) -> impl Iterator<Item = Raw> + use<'a> {
    let mut open: Vec<(u64, Option<ClassifiedSpan>)> = Vec::new();
    let visible = spans.iter().enumerate();
    let visible = visible.take_while(move |(_, span)| span.begin < until);
    visible.map(move |(index, span)| {
        while open.pop_if(|(end, _)| *end <= span.begin).is_some() {}
        let outer = open.last().and_then(|(_, judged)| *judged);
        let own = facts.judge(span, outer.as_ref());
        open.push((span.end, own.or(outer)));
        let end = span.end.min(until);
        Raw {
            begin: span.begin,
            end,
            depth: span.depth,
            cause: own.map(|own| own.cause),
            longest: index,
            length: end - span.begin,
            spans: 1,
        }
    })
}

/// Merges bars shorter than `grain` with the previous one at the same depth; with `any`,
/// regardless of their causes: the longest determines the cause.
fn merged(bars: impl Iterator<Item = Raw>, grain: u64, any: bool) -> Vec<Raw> {
    let mut result: Vec<Raw> = Vec::new();
    let mut last_at: Vec<Option<usize>> = vec![None; 256];
    let small = |bar: &Raw| bar.end - bar.begin < grain || bar.spans > 1;
    for bar in bars {
        let place = usize::from(bar.depth);
        if let Some(last) = last_at[place].map(|at| &mut result[at])
            && (any || last.cause == bar.cause)
            && small(last)
            && small(&bar)
            && bar.begin.saturating_sub(last.end) < grain
        {
            last.end = last.end.max(bar.end);
            last.spans += bar.spans;
            if bar.length > last.length {
                (last.longest, last.length) = (bar.longest, bar.length);
                last.cause = bar.cause;
            }
            continue;
        }
        last_at[place] = Some(result.len());
        result.push(bar);
    }
    result
}

fn labelled(facts: &Facts, spans: &[Span], bar: &Raw) -> Bar {
    let span = &spans[bar.longest];
    let process = facts.process;
    let at = span.detail as usize;
    let text = || process.texts.get(at).map_or("", String::as_str);
    let label = match span.what {
        SpanKind::Iteration(which) => iteration_label(which, text()),
        SpanKind::Range => text().to_owned(),
        _ => call(facts, span),
    };
    let mut detail: Vec<String> = Vec::new();
    if bar.spans > 1 {
        detail.push(format!("{} merged", bar.spans));
    }
    match span.what {
        SpanKind::Import => detail.extend(
            process
                .imports
                .get(at)
                .map(|import| items::importer(import).to_string()),
        ),
        SpanKind::Load => detail.extend(process.loads.get(at).map(|load| load.path.clone())),
        SpanKind::Bytecode => detail.extend(process.bytecode.get(at).map(|made| made.path.clone())),
        _ if bar.spans == 1 && facts.bytes(span) > 0 => {
            detail.push(units::bytes(facts.bytes(span)));
        }
        _ if facts.is_first_launch(span) => detail.push("first launch".to_owned()),
        _ => {}
    }
    detail.retain(|part| !part.is_empty());
    Bar {
        begin: seconds(bar.begin),
        end: seconds(bar.end),
        depth: u32::from(bar.depth),
        cause: bar.cause,
        label,
        detail: detail.join(", "),
        spans: bar.spans,
    }
}

/// The name of a call: that of its kernel, module or library, or of the function itself.
fn call(facts: &Facts, span: &Span) -> String {
    let tables = facts.process;
    let at = span.detail as usize;
    let thing = match span.what {
        SpanKind::Launch if tables.functions.get(at).is_some_and(|f| !f.name.is_empty()) => {
            ItemRef::Function(span.detail)
        }
        SpanKind::Import if at < tables.imports.len() => ItemRef::Import(span.detail),
        SpanKind::Load if at < tables.loads.len() => ItemRef::Load(span.detail),
        SpanKind::Bytecode if at < tables.bytecode.len() => ItemRef::Bytecode(span.detail),
        SpanKind::Range if at < tables.texts.len() => ItemRef::Text(span.detail),
        _ => ItemRef::Symbol(u32::from(span.symbol)),
    };
    items::name(ItemMeaning::Of(0, thing), std::slice::from_ref(facts))
}
