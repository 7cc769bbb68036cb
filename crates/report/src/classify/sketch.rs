//! A downsampled copy of a benchmark for plotting. The full series is dropped before the
//! page is rendered.

use crate::html::plot::downsample;

/// The maximum number of starts.
const STARTS: usize = 12;
/// The maximum number of points per start.
const POINTS: usize = 160;

/// The points of a few starts of one benchmark.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassifySketch {
    /// The points of each start as (iteration from 0, seconds).
    pub(super) starts: Vec<Vec<(usize, f64)>>,
}

impl ClassifySketch {
    /// Downsamples the iterations of every start.
    pub fn of(starts: &[Vec<f64>]) -> ClassifySketch {
        let starts = starts.iter().take(STARTS);
        ClassifySketch {
            starts: starts.map(|start| downsample(start, POINTS)).collect(),
        }
    }

    /// The total number of points.
    pub(super) fn points(&self) -> usize {
        self.starts.iter().map(Vec::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_bounded_and_keeps_the_first_iterations() {
        let starts = vec![(1..=100_000).map(f64::from).collect(); 40];
        let sketch = ClassifySketch::of(&starts);
        assert!(sketch.points() <= STARTS * POINTS);
        assert_eq!(sketch.starts[0][..3], [(0, 1.0), (1, 2.0), (2, 3.0)]);
    }
}
