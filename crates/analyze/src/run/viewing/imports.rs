//! The imports as a tree, without modules too small to be visible.

use super::super::FlameNode;
use super::super::examine::seconds;
use super::super::items::{Tree, importer};
use super::super::trace::Process;

/// Modules below this share of all imports are omitted.
const VISIBLE: f64 = 0.003;

/// The top-level imports, each with its nested imports.
pub(super) fn tree(process: &Process, tree: &Tree) -> Vec<FlameNode> {
    let count = process.imports.len();
    let wall = |at: usize| tree.spans[at].1.saturating_sub(tree.spans[at].0);
    let mut within = vec![0u64; count];
    let mut all = 0;
    for at in &tree.order {
        match tree.parents[*at as usize] {
            Some(parent) => within[parent as usize] += wall(*at as usize),
            None => all += wall(*at as usize),
        }
    }
    let least = VISIBLE * all as f64;
    let mut children: Vec<Vec<FlameNode>> = vec![Vec::new(); count];
    let mut roots = Vec::new();
    // Children come after their parents, so that in reverse order each node is complete.
    for at in tree.order.iter().rev() {
        let index = *at as usize;
        if (wall(index) as f64) < least {
            continue;
        }
        let import = &process.imports[index];
        let mut inner = std::mem::take(&mut children[index]);
        inner.reverse();
        let node = FlameNode {
            name: import.name.clone(),
            detail: importer(import).to_string(),
            begin: seconds(tree.spans[index].0),
            seconds: seconds(wall(index)),
            own: seconds(wall(index).saturating_sub(within[index])),
            children: inner,
        };
        match tree.parents[index] {
            Some(parent) => children[parent as usize].push(node),
            None => roots.push(node),
        }
    }
    roots.sort_by(|a: &FlameNode, b: &FlameNode| a.begin.total_cmp(&b.begin));
    roots
}
