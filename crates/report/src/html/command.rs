//! A command as a person can paste it.

/// The words as a shell takes them.
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
    fn a_command_can_be_pasted() {
        let words = ["--device=cuda", "a b", "it's", ""].map(str::to_owned);
        assert_eq!(command_line(&words), "--device=cuda 'a b' 'it'\\''s' ''");
    }
}
