//! The names of regions: by file and lines.

use std::collections::HashMap;
use std::fmt;

use preheat_model::run::line_range;

use super::frames::Frame;
use super::regions::{Region, Regions};

/// The name of a region: `train.py:14–20`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::run) struct RegionName {
    /// The part that regions beside it may share; empty if it has none: `train.py`,
    /// `timeit at bench.py`.
    file: String,
    /// The rest: `14–20`, `14–20 #2`; the whole name if there is no file.
    lines: String,
}

impl fmt::Display for RegionName {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self.file.as_str() {
            "" => out.write_str(&self.lines),
            file => write!(out, "{file}:{}", self.lines),
        }
    }
}

/// The names of regions: file and lines, with those of the helper if several regions have
/// the same lines, or else with a number.
pub(super) fn names(regions: &Regions) -> Vec<RegionName> {
    let mut counts: HashMap<RegionName, usize> = HashMap::new();
    for region in &regions.all {
        *counts.entry(name(region)).or_default() += 1;
    }
    let mut used: HashMap<RegionName, usize> = HashMap::new();
    (regions.all.iter())
        .map(|region| {
            let mut name = name(region);
            if let Some((from, to)) = region.helper()
                && counts.get(&name).is_some_and(|n| *n > 1)
            {
                name.lines = format!("{} by {}", name.lines, lines(from, to));
            }
            // Several regions of one line.
            let number = used.entry(name.clone()).or_default();
            *number += 1;
            if *number > 1 {
                name.lines = format!("{} #{number}", name.lines);
            }
            name
        })
        .collect()
}

/// The name of a region.
pub(in crate::run) fn name(region: &Region) -> RegionName {
    let timeit = match region.loops() {
        Some(0 | 1) => "timeit".to_owned(),
        Some(loops) => format!("timeit ×{loops}"),
        None => return lines(region.begins(), region.ends()),
    };
    match region.from.get(1) {
        Some(caller) => RegionName {
            file: format!("{timeit} at {}", short(&caller.file)),
            lines: caller.line.to_string(),
        },
        None => RegionName {
            file: String::new(),
            lines: timeit,
        },
    }
}

fn short(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// The lines with readings that are not part of any region.
pub(in crate::run) fn unpaired(regions: &Regions) -> Vec<RegionName> {
    let named = regions
        .unpaired
        .iter()
        .map(|(frame, _)| lines(frame, frame));
    named.collect()
}

/// `train.py:14–20`.
pub(super) fn lines(from: &Frame, to: &Frame) -> RegionName {
    let lines = match (from.line, to.line) {
        (0, _) | (_, 0) if from.function == to.function => from.function.clone(),
        (0, _) | (_, 0) => format!("{}–{}", from.function, to.function),
        (a, b) if from.file == to.file => line_range(a, b),
        (a, b) => format!("{a} – {}:{b}", short(&to.file)),
    };
    RegionName {
        file: short(&from.file).to_owned(),
        lines,
    }
}

/// A list of region names, with each file named once: `a.py:3–5 and 9–11`.
pub(in crate::run) fn listed(names: &[RegionName]) -> String {
    /// The number of regions to name.
    const MAX_NAMES: usize = 3;
    let mut words: Vec<String> = Vec::new();
    for (at, name) in names.iter().enumerate().take(MAX_NAMES) {
        let before = at.checked_sub(1).map(|at| names[at].file.as_str());
        words.push(match before {
            Some(file) if file == name.file => name.lines.clone(),
            _ => name.to_string(),
        });
    }
    if names.len() > MAX_NAMES {
        words.push(format!("{} more", names.len() - MAX_NAMES));
    }
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(file: &str, line: u32) -> Frame {
        Frame {
            file: file.into(),
            line,
            function: "f".into(),
        }
    }

    #[test]
    fn a_region_is_named_by_its_lines() {
        let of = |from: (&str, u32), to: (&str, u32)| {
            lines(&frame(from.0, from.1), &frame(to.0, to.1)).to_string()
        };
        let (a, b) = ("/x/a.py", "/x/b.py");
        assert_eq!(of((a, 3), (a, 7)), "a.py:3–7");
        assert_eq!(of((a, 7), (a, 3)), "a.py:7→3");
        assert_eq!(of((a, 3), (a, 3)), "a.py:3");
        assert_eq!(of((a, 3), (b, 5)), "a.py:3 – b.py:5");
        assert_eq!(of(("/x/infer", 0), ("/x/infer", 0)), "infer:f");
    }

    #[test]
    fn a_list_of_regions_names_each_file_once() {
        let of = |regions: &[(&str, u32, u32)]| {
            let named = regions
                .iter()
                .map(|(file, from, to)| lines(&frame(file, *from), &frame(file, *to)));
            listed(&named.collect::<Vec<_>>())
        };
        assert_eq!(of(&[("a.py", 3, 5)]), "a.py:3–5");
        assert_eq!(of(&[("a.py", 3, 5), ("a.py", 7, 7)]), "a.py:3–5 and 7");
        assert_eq!(
            of(&[("a.py", 3, 3), ("b.py", 7, 7), ("b.py", 9, 9)]),
            "a.py:3, b.py:7 and 9"
        );
        let five: Vec<_> = (1..=5).map(|line| ("a.py", line, line)).collect();
        assert_eq!(of(&five), "a.py:1, 2, 3 and 2 more");
    }
}
