//! Splits a command in one argument into words, as a shell would.
//!
//! No shell is involved, so shell syntax other than quoting is an error. Passing it to the
//! command literally would silently measure something else. shlex and shell-words do that.

/// Splits a command into words, or returns the reason why it cannot.
pub fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    // None between words; quotes can begin an empty word.
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
                return Err(shell_syntax(c));
            }
            '~' | '#' if word.is_none() => return Err(shell_syntax(c)),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match words.first() {
        None => Err("it is empty".to_owned()),
        Some(first) if is_assignment(first) => Err(format!(
            "a leading `{first}` is shell syntax; write `env {first} ...`"
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
            Some(c @ ('$' | '`')) => return Err(shell_syntax(c)),
            Some(c) => word.push(c),
            None => return Err(unclosed("\"")),
        }
    }
}

fn unclosed(quote: &str) -> String {
    format!("the quote {quote} is not closed")
}

fn shell_syntax(c: char) -> String {
    format!("`{c}` is shell syntax, and no shell is used; quote it, or write sh -c '...'")
}

/// Matches `NAME=value`.
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
    fn splits_like_a_shell() {
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
    fn rejects_shell_syntax() {
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
    fn never_panics_and_preserves_quoted_words() {
        let mut rng = preheat_model::stats::Rng::new(1);
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
