//! Reasons why modules were compiled from source, by package.

use std::collections::{BTreeMap, HashMap};

use super::super::facts::Facts;
use super::super::trace::{BytecodeWrite, NoBytecode, SpanKind};
use super::super::{Cause, Item};

/// The number of compiled modules of a package, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::run) struct Reasons {
    pub missing: u64,
    pub stale: u64,
    pub unreadable: u64,
    pub turned_off: u64,
    pub not_writable: u64,
}

impl Reasons {
    fn add(&mut self, why: NoBytecode, write: BytecodeWrite) {
        match why {
            NoBytecode::Missing => self.missing += 1,
            NoBytecode::Stale => self.stale += 1,
            NoBytecode::Unreadable => self.unreadable += 1,
        }
        match write {
            BytecodeWrite::Writes => {}
            BytecodeWrite::TurnedOff => self.turned_off += 1,
            BytecodeWrite::NotWritable => self.not_writable += 1,
        }
    }

    pub(in crate::run) fn merge(&mut self, other: &Reasons) {
        self.missing += other.missing;
        self.stale += other.stale;
        self.unreadable += other.unreadable;
        self.turned_off += other.turned_off;
        self.not_writable += other.not_writable;
    }

    /// A description of the reasons: `no .pyc, writing turned off`.
    pub(in crate::run) fn sentence(&self) -> String {
        let whole = [self.missing, self.stale, self.unreadable]
            .iter()
            .filter(|count| **count > 0)
            .count()
            == 1;
        let counted = |count: u64, alone: &str, several: &str| match (count, whole) {
            (0, _) => None,
            (_, true) => Some(alone.to_owned()),
            (count, false) => Some(format!("{count} {several}")),
        };
        let why = [
            counted(self.missing, "no .pyc", "without .pyc"),
            counted(self.stale, "stale .pyc", "with stale .pyc"),
            counted(self.unreadable, "unreadable .pyc", "with unreadable .pyc"),
        ];
        let why: Vec<String> = why.into_iter().flatten().collect();
        let why = why.join(", ");
        if self.turned_off > 0 {
            format!("{why}, writing turned off")
        } else if self.not_writable > 0 {
            format!("{why}, directory not writable")
        } else {
            format!("{why}, now written")
        }
    }
}

/// The reasons by package, for modules compiled before `until`.
pub(in crate::run) fn reasons<'a>(
    facts: &'a [Facts<'a>],
    until: u64,
) -> BTreeMap<&'a str, Reasons> {
    let mut found: BTreeMap<&str, Reasons> = BTreeMap::new();
    for facts in facts {
        for (index, thread) in facts.process.threads.iter().enumerate() {
            if facts.count(index, SpanKind::Bytecode) == 0 {
                continue;
            }
            let spans = thread.spans.iter().take_while(|span| span.begin < until);
            for span in spans.filter(|span| span.what == SpanKind::Bytecode) {
                if let Some(made) = facts.process.bytecode.get(span.detail as usize) {
                    let package = facts.compiled_package(span.detail);
                    found.entry(package).or_default().add(made.why, made.write);
                }
            }
        }
    }
    found
}

/// Adds the reasons to the items.
pub(super) fn describe(items: &mut HashMap<(Cause, String), Item>, facts: &[Facts], until: u64) {
    for (package, reasons) in reasons(facts, until) {
        let key = (Cause::BytecodeCompilation, package.to_owned());
        if let Some(item) = items.get_mut(&key) {
            item.detail = reasons.sentence();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_a_short_sentence() {
        let mut reasons = Reasons::default();
        reasons.add(NoBytecode::Missing, BytecodeWrite::TurnedOff);
        assert_eq!(reasons.sentence(), "no .pyc, writing turned off");
        reasons.add(NoBytecode::Stale, BytecodeWrite::TurnedOff);
        assert_eq!(
            reasons.sentence(),
            "1 without .pyc, 1 with stale .pyc, writing turned off"
        );
        let mut reasons = Reasons::default();
        reasons.add(NoBytecode::Unreadable, BytecodeWrite::NotWritable);
        assert_eq!(
            reasons.sentence(),
            "unreadable .pyc, directory not writable"
        );
        let mut reasons = Reasons::default();
        reasons.add(NoBytecode::Missing, BytecodeWrite::Writes);
        assert_eq!(reasons.sentence(), "no .pyc, now written");
    }
}
