//! Descriptions of the damage in one file. Their number is limited, since a file may be
//! damaged everywhere.

/// The maximum number of sentences per file.
const MOST: usize = 6;

/// The damage found in a file.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    sentences: Vec<String>,
    more: u64,
}

impl Problems {
    /// Adds a sentence, which is built only if it is shown.
    pub(crate) fn add(&mut self, sentence: impl FnOnce() -> String) {
        if self.sentences.len() < MOST {
            self.sentences.push(sentence());
        } else {
            self.more += 1;
        }
    }

    /// All sentences, and the number of those left out.
    pub(crate) fn into_sentences(mut self) -> Vec<String> {
        if self.more > 0 {
            let more = self.more;
            let noun = if more == 1 { "part" } else { "parts" };
            self.sentences
                .push(format!("{more} more {noun} cannot be read"));
        }
        self.sentences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omitted_sentences_are_counted() {
        let mut problems = Problems::default();
        for number in 0..MOST + 3 {
            problems.add(|| number.to_string());
        }
        let sentences = problems.into_sentences();
        assert_eq!(sentences.len(), MOST + 1);
        assert_eq!(sentences[MOST], "3 more parts cannot be read");
    }
}
