//! What is worth telling of a file as a whole: so many notes, and how many more there are.

/// So many are told.
const MOST: usize = 100;

/// Notes, in their order.
#[derive(Default)]
pub(crate) struct Notes {
    told: Vec<String>,
    more: usize,
}

impl Notes {
    /// One more; it is written only if it is told.
    pub fn add(&mut self, note: impl FnOnce() -> String) {
        if self.told.len() == MOST {
            self.more += 1;
        } else {
            self.told.push(note());
        }
    }

    /// All of them.
    pub fn finish(mut self) -> Vec<String> {
        match self.more {
            0 => {}
            1 => self.told.push("and 1 more of the kind".to_owned()),
            more => self.told.push(format!("and {more} more of the kind")),
        }
        self.told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_told_is_counted() {
        let mut notes = Notes::default();
        (0..MOST + 3).for_each(|at| notes.add(|| format!("note {at}")));
        let all = notes.finish();
        assert_eq!((all.len(), &*all[MOST - 1]), (MOST + 1, "note 99"));
        assert_eq!(all[MOST], "and 3 more of the kind");
    }
}
