//! What is kept of a benchmark to draw it: few points, and all that matter. The times
//! themselves are gone when a page is made.

use crate::html::downsample::downsample;

/// So many starts are drawn.
const STARTS: usize = 12;
/// Points of one start.
const POINTS: usize = 160;

/// The points of a few starts of one benchmark.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassifySketch {
    /// Start by start, as (iteration counted from 0, seconds).
    pub(super) starts: Vec<Vec<(usize, f64)>>,
}

impl ClassifySketch {
    /// Of the iterations of every start.
    pub fn of(starts: &[Vec<f64>]) -> ClassifySketch {
        let starts = starts.iter().take(STARTS);
        ClassifySketch {
            starts: starts.map(|start| downsample(start, POINTS)).collect(),
        }
    }

    /// How many points it has.
    pub(super) fn points(&self) -> usize {
        self.starts.iter().map(Vec::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_small_and_has_the_first_iterations() {
        let starts = vec![(1..=100_000).map(f64::from).collect(); 40];
        let sketch = ClassifySketch::of(&starts);
        assert!(sketch.points() <= STARTS * POINTS);
        assert_eq!(sketch.starts[0][..3], [(0, 1.0), (1, 2.0), (2, 3.0)]);
    }
}
