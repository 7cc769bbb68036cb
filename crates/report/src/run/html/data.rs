//! The data of the interactive charts, as JSON in the page.
//!
//! Its size is bounded: only the longest bars and parts are kept, and names are truncated
//! and stored once. Times are whole microseconds. The JSON cannot end its element.

use preheat_model::run::{Bar, Cause, FlameNode, RunView};
use serde_json::{Value, json};

use crate::html::data::{DETAIL, NAME, Names, element, longest, micros, plain, segment};

/// The maximum number of each that is drawn.
const BARS: usize = 3000;
const SEGMENTS: usize = 1500;
const NODES: usize = 2000;
const ITERATIONS: usize = 64;

/// The element that holds the data.
pub(super) fn block(view: &RunView) -> String {
    element(&data(view))
}

fn data(view: &RunView) -> Value {
    let mut names = Names::default();
    let path: Vec<Value> = longest(&view.path, SEGMENTS, |part| (part.begin, part.end))
        .into_iter()
        .map(|part| segment(part, &mut names))
        .collect();
    let bars = view.rows.iter().enumerate();
    let bars: Vec<(usize, &Bar)> = bars
        .flat_map(|(row, of)| of.bars.iter().map(move |bar| (row, bar)))
        .collect();
    let mut rows: Vec<Vec<Value>> = vec![Vec::new(); view.rows.len()];
    for (row, bar) in longest(&bars, BARS, |(_, bar)| (bar.begin, bar.end)) {
        rows[*row].push(json!([
            micros(bar.begin),
            micros(bar.end),
            bar.depth,
            bar.cause.map_or(-1, |cause| cause.index() as i64),
            names.of(&bar.label, NAME),
            names.of(&bar.detail, DETAIL),
            bar.spans
        ]));
    }
    let rows: Vec<Value> = rows
        .into_iter()
        .zip(&view.rows)
        .filter(|(bars, _)| !bars.is_empty())
        .map(|(bars, row)| {
            json!({"name": plain(&row.name, NAME), "process": plain(&row.process, NAME), "bars": bars})
        })
        .collect();
    let iterations: Vec<Value> = view
        .iterations
        .iter()
        .take(ITERATIONS)
        .map(|(begin, end)| json!([micros(*begin), micros(*end)]))
        .collect();
    let imports = flame(&view.imports, &mut names);
    let functions = flame(&view.functions, &mut names);
    json!({
        "until": micros(view.until),
        "first": view.iterations.first().map_or(0, |(_, end)| micros(*end)),
        "causes": Cause::ALL.map(Cause::as_str),
        "path": path,
        "iterations": iterations,
        "rows": rows,
        "imports": imports,
        "functions": functions,
        "names": names.all,
    })
}

/// A flame graph as a list in which each node comes after its parent and refers to it by
/// index: `[parent or −1, name, detail, begin, seconds, own]`. The longest nodes are kept,
/// each with its ancestors: no node is longer than its parent.
fn flame(roots: &[FlameNode], names: &mut Names) -> Vec<Value> {
    let mut all: Vec<(f64, &FlameNode)> = Vec::new();
    let mut open: Vec<(f64, &FlameNode)> = roots.iter().map(|node| (f64::INFINITY, node)).collect();
    while let Some((above, node)) = open.pop() {
        let length = node.seconds.min(above);
        all.push((length, node));
        open.extend(node.children.iter().map(|child| (length, child)));
    }
    let mut lengths: Vec<f64> = all.iter().map(|(length, _)| *length).collect();
    lengths.sort_by(|a, b| b.total_cmp(a));
    let least = lengths.get(NODES).copied().unwrap_or(f64::NEG_INFINITY);
    let mut list: Vec<Value> = Vec::new();
    let mut open: Vec<(i64, f64, &FlameNode)> = roots
        .iter()
        .rev()
        .map(|node| (-1, f64::INFINITY, node))
        .collect();
    while let Some((parent, above, node)) = open.pop() {
        let length = node.seconds.min(above);
        if length.is_nan() || length < least || list.len() >= NODES {
            continue;
        }
        let place = list.len() as i64;
        list.push(json!([
            parent,
            names.of(&node.name, NAME),
            names.of(&node.detail, DETAIL),
            micros(node.begin),
            micros(node.seconds),
            micros(node.own)
        ]));
        open.extend(
            node.children
                .iter()
                .rev()
                .map(|child| (place, length, child)),
        );
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_kept_with_its_ancestors() {
        let leaf = |name: &str, seconds| FlameNode {
            name: name.to_owned(),
            seconds,
            ..FlameNode::default()
        };
        let root = FlameNode {
            children: (0..3000)
                .map(|at| leaf("leaf", 1.0 - f64::from(at) / 1e4))
                .collect(),
            ..leaf("root", 2000.0)
        };
        let mut names = Names::default();
        let list = flame(&[root], &mut names);
        assert!(list.len() > 1500 && list.len() <= NODES, "{}", list.len());
        assert_eq!(list[0][0], -1);
        assert!(list[1..].iter().all(|module| module[0] == 0));
        assert_eq!(names.all, ["root", "", "leaf"]);
    }
}
