//! Notes on a whole file, limited in number.

/// The maximum number of notes.
const MOST: usize = 100;

/// Notes, in order.
#[derive(Default)]
pub(crate) struct Notes {
    shown: Vec<String>,
    more: usize,
}

impl Notes {
    /// Adds a note; `note` is called only if it is kept.
    pub fn add(&mut self, note: impl FnOnce() -> String) {
        if self.shown.len() == MOST {
            self.more += 1;
        } else {
            self.shown.push(note());
        }
    }

    /// Returns the notes, with a count of the others.
    pub fn finish(mut self) -> Vec<String> {
        match self.more {
            0 => {}
            1 => self.shown.push("and 1 more like this".to_owned()),
            more => self.shown.push(format!("and {more} more like this")),
        }
        self.shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_notes_are_counted() {
        let mut notes = Notes::default();
        (0..MOST + 3).for_each(|at| notes.add(|| format!("note {at}")));
        let all = notes.finish();
        assert_eq!((all.len(), &*all[MOST - 1]), (MOST + 1, "note 99"));
        assert_eq!(all[MOST], "and 3 more like this");
    }
}
