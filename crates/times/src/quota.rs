//! What a reader may hold: so many benchmarks, times and texts, whatever the file says.
//!
//! Errors are sentences without a place: who reads knows it.

/// The most benchmarks of a file.
const MOST_BENCHMARKS: usize = 100_000;
/// The most times that are held at once, 128 MiB of them.
const MOST_TIMES: usize = 1 << 24;
/// What a start takes beside its times, in times: many have only one.
const A_START: usize = 8;
/// The most bytes of names and notes that are held at once.
const MOST_TEXT: usize = 32 << 20;
/// What a text takes beside its bytes: many have none.
const A_TEXT: usize = 48;
/// The most bytes of a name that is put together.
const LONGEST_NAME: usize = 1 << 20;

/// How much is held, over all benchmarks that are not complete yet, or were handed over.
pub(crate) struct Held {
    benchmarks: usize,
    times: usize,
    /// How many bytes of text may still come.
    room: usize,
}

impl Default for Held {
    fn default() -> Held {
        Held {
            benchmarks: 0,
            times: 0,
            room: MOST_TEXT,
        }
    }
}

impl Held {
    /// What a single name is put together of.
    pub fn of_a_name() -> Held {
        Held {
            room: LONGEST_NAME,
            ..Held::default()
        }
    }

    /// One more benchmark.
    pub fn benchmark(&mut self) -> Result<(), String> {
        if self.benchmarks == MOST_BENCHMARKS {
            return Err(format!(
                "a file has at most {MOST_BENCHMARKS} benchmarks here; split it"
            ));
        }
        self.benchmarks += 1;
        Ok(())
    }

    /// One more text.
    pub fn text(&mut self, text: &str) -> Result<(), String> {
        let room = self.room.checked_sub(text.len() + A_TEXT);
        self.room = room.ok_or(
            "there is more text in names and parameters than is held at once; split the file, \
             or leave some of them out",
        )?;
        Ok(())
    }

    /// One more start.
    pub fn start(&mut self) -> Result<(), String> {
        self.add(A_START)
    }

    /// One more time.
    pub fn time(&mut self) -> Result<(), String> {
        self.add(1)
    }

    fn add(&mut self, times: usize) -> Result<(), String> {
        if self.times + times > MOST_TIMES {
            return Err(format!(
                "at most {MOST_TIMES} times are held at once; split the file"
            ));
        }
        self.times += times;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_bounds() {
        let mut held = Held::default();
        (0..MOST_BENCHMARKS).for_each(|_| held.benchmark().unwrap());
        assert!(held.benchmark().unwrap_err().contains("100000 benchmarks"));
        (0..MOST_TIMES / A_START).for_each(|_| held.start().unwrap());
        assert!(held.time().unwrap_err().contains("split the file"));
        let mut held = Held::of_a_name();
        let long = "x".repeat(LONGEST_NAME - A_TEXT);
        held.text(&long).unwrap();
        assert!(held.text("").unwrap_err().contains("more text"));
    }
}
