//! Formats a command so that it can be pasted into a shell.

/// Joins the words, quoted for a shell.
pub(crate) fn command_line(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_words_for_a_shell() {
        let words = ["--device=cuda", "a b", "it's", ""].map(str::to_owned);
        assert_eq!(command_line(&words), "--device=cuda 'a b' 'it'\\''s' ''");
    }
}
