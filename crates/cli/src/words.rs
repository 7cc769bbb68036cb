//! A command in one argument, split into words as a shell would.
//!
//! No shell is used, so what only a shell can do is refused in a sentence rather than
//! handed to the command as it stands: that would be measured without complaint.

/// The words of a command, or why it cannot be split.
pub fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    // None between words; quotes make even an empty one.
    let mut word: Option<String> = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            _ if c.is_whitespace() => words.extend(word.take()),
            '\'' => loop {
                let word = word.get_or_insert_default();
                match rest.next() {
                    Some('\'') => break,
                    Some(c) => word.push(c),
                    None => return Err(unclosed("'")),
                }
            },
            '"' => double_quoted(&mut rest, word.get_or_insert_default())?,
            '\\' => match rest.next() {
                Some('\n') => {}
                Some(c) => word.get_or_insert_default().push(c),
                None => return Err("it ends with a backslash".to_owned()),
            },
            '|' | '&' | ';' | '<' | '>' | '(' | ')' | '$' | '`' | '*' | '?' | '[' => {
                return Err(for_a_shell(c));
            }
            '~' | '#' if word.is_none() => return Err(for_a_shell(c)),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match words.first() {
        None => Err("it is empty".to_owned()),
        Some(first) if is_assignment(first) => Err(format!(
            "`{first}` at its beginning is for a shell; write `env {first} ...`"
        )),
        Some(_) => Ok(words),
    }
}

fn double_quoted(rest: &mut std::str::Chars, word: &mut String) -> Result<(), String> {
    loop {
        match rest.next() {
            Some('"') => return Ok(()),
            Some('\\') => match rest.next() {
                Some('\n') => {}
                Some(c @ ('"' | '\\' | '$' | '`')) => word.push(c),
                Some(c) => word.extend(['\\', c]),
                None => return Err(unclosed("\"")),
            },
            Some(c @ ('$' | '`')) => return Err(for_a_shell(c)),
            Some(c) => word.push(c),
            None => return Err(unclosed("\"")),
        }
    }
}

fn unclosed(quote: &str) -> String {
    format!("its quote {quote} is not closed")
}

fn for_a_shell(c: char) -> String {
    format!("`{c}` is for a shell, and none is used here; quote it, or write sh -c '...'")
}

/// `NAME=value`.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        for (text, words) in [
            ("python train.py", &["python", "train.py"][..]),
            ("  a \t b\n", &["a", "b"]),
            (
                r#"./new --flag "two words" 'and $more'"#,
                &["./new", "--flag", "two words", "and $more"],
            ),
            (r#"a\ b "c\"d\n" e''f """#, &["a b", "c\"d\\n", "ef", ""]),
            ("a --x=1 b#c d~", &["a", "--x=1", "b#c", "d~"]),
            ("sh -c 'a | b'", &["sh", "-c", "a | b"]),
        ] {
            assert_eq!(split(text).unwrap(), words, "{text}");
        }
    }

    #[test]
    fn what_only_a_shell_can_do_is_refused() {
        for (text, part) in [
            ("a | b", "`|`"),
            ("a && b", "`&`"),
            ("echo $HOME", "`$`"),
            ("echo \"$HOME\"", "`$`"),
            ("ls *.py", "`*`"),
            ("~/bin/x", "`~`"),
            ("A=1 python x.py", "env A=1"),
            ("'a", "not closed"),
            ("\"a", "not closed"),
            ("a\\", "backslash"),
            ("", "empty"),
            ("  ", "empty"),
        ] {
            let why = split(text).expect_err(text);
            assert!(why.contains(part), "{text}: {why}");
        }
    }

    #[test]
    fn any_text_is_split_or_refused_and_quoted_words_come_back() {
        let mut rng = preheat_analyze::stats::Rng::new(1);
        let alphabet: Vec<char> = " \t\n'\"\\$`|&;<>()*?[~#=aé\0".chars().collect();
        for _ in 0..20_000 {
            let length = rng.below(12);
            let text: String = (0..length)
                .map(|_| alphabet[rng.below(alphabet.len())])
                .collect();
            let _ = split(&text);
            let word = text.replace('\'', "");
            assert_eq!(split(&format!("run '{word}'")).unwrap(), ["run", &word]);
        }
    }
}
