//! Sentences about what is damaged in one file, and only so many of them: a file that is
//! damaged everywhere says so once.

/// The most sentences for one file.
const MOST: usize = 6;

/// What is damaged in a file.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    sentences: Vec<String>,
    more: u64,
}

impl Problems {
    /// Adds a sentence; it is only made if there is room for it.
    pub(crate) fn add(&mut self, sentence: impl FnOnce() -> String) {
        if self.sentences.len() < MOST {
            self.sentences.push(sentence());
        } else {
            self.more += 1;
        }
    }

    /// All of them, and how many were left out.
    pub(crate) fn into_sentences(mut self) -> Vec<String> {
        if self.more > 0 {
            let more = self.more;
            let noun = if more == 1 { "place" } else { "places" };
            self.sentences
                .push(format!("{more} more {noun} in it cannot be read"));
        }
        self.sentences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_counted() {
        let mut problems = Problems::default();
        for number in 0..MOST + 3 {
            problems.add(|| number.to_string());
        }
        let sentences = problems.into_sentences();
        assert_eq!(sentences.len(), MOST + 1);
        assert_eq!(sentences[MOST], "3 more places in it cannot be read");
    }
}
