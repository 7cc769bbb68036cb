//! Reading arbitrarily broken budgets ends with a budget or an error with its position, and
//! never with a panic.

use preheat_analyze::check::Budget;
use preheat_model::check::Position;
use preheat_model::stats::Rng;

const SEED: &str = r#"# Limits for train.py.
starts = 5
exit_code = 0
time_to_first = "2 s"
first = '350 ms'
first_ratio = 50
warmup = 3
excess = """1.5 s"""
device_memory = "1 GiB"
host_memory = "512 MB"
cause."python imports" = "1.5 s"
cause.idle = "80 µs"

[temperature.disk]
time_to_first = "6 s"

[temperature.disk.cause]
"library loading" = "1e-1 s"
"#;

/// Pieces to insert, in addition to parts of the text.
const PIECES: [&str; 28] = [
    "\"",
    "'",
    "=",
    "[",
    "]",
    "[[",
    "]]",
    ".",
    ",",
    "{",
    "}",
    "#",
    "\n",
    "\r\n",
    "\0",
    "µ",
    "-1",
    "0",
    "nan",
    "inf",
    "1e999",
    "99999999999999999999",
    "0x",
    "true",
    "\"\"\"",
    "\u{feff}",
    "\\u0000",
    "=1\n",
];

fn mutated(text: &str, rng: &mut Rng) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for _ in 0..1 + rng.below(6) {
        let at = rng.below(characters.len() + 1);
        let until = (at + rng.below(12)).min(characters.len());
        match rng.below(4) {
            0 => {
                characters.drain(at..until);
            }
            1 => {
                let piece = PIECES[rng.below(PIECES.len())];
                characters.splice(at..at, piece.chars());
            }
            2 => {
                let part: Vec<char> = characters[at..until].to_vec();
                let to = rng.below(characters.len() + 1);
                characters.splice(to..to, part);
            }
            _ => characters.truncate(at.max(1)),
        }
        if characters.is_empty() {
            characters.push('x');
        }
    }
    characters.into_iter().collect()
}

/// Asserts that a position is in the text, or right after it.
fn within(text: &str, place: Position) {
    let lines: Vec<&str> = text.split('\n').collect();
    let line = lines.get(place.line.wrapping_sub(1));
    let line = line.unwrap_or_else(|| panic!("line {} of {text:?}", place.line));
    assert!(
        (1..=line.chars().count() + 1).contains(&place.column),
        "column {} of {line:?}",
        place.column
    );
}

#[test]
fn every_mutation_is_a_budget_or_an_error_with_its_position() {
    assert!(Budget::read(SEED).is_ok());
    let mut rng = Rng::new(4);
    let (mut read, mut rejected) = (0, 0);
    for _ in 0..20_000 {
        let text = mutated(SEED, &mut rng);
        match Budget::read(&text) {
            Ok(budget) => {
                read += 1;
                for limit in &budget.limits {
                    assert!(limit.most.is_finite() && limit.most >= 0.0, "{text}");
                    within(&text, limit.place.expect("it is from a text"));
                }
            }
            Err(why) => {
                rejected += 1;
                within(&text, why.place);
                assert!(why.what.len() > 10 && why.what.len() < 1000, "{why}");
                assert!(!why.what.contains(['\n', '\r', '\0', '\u{1b}']), "{why:?}");
            }
        }
    }
    println!("{read} read, {rejected} rejected");
    assert!(read > 1000 && rejected > 1000);
}

#[test]
fn noise_does_not_panic() {
    let mut rng = Rng::new(5);
    for _ in 0..2000 {
        let noise: String = (0..rng.below(200))
            .map(|_| char::from_u32(rng.below(0x2500) as u32).unwrap_or(' '))
            .collect();
        if let Err(why) = Budget::read(&noise) {
            within(&noise, why.place);
        }
    }
}

#[test]
fn depth_and_length_are_bounded() {
    for text in [
        "[".repeat(100_000),
        "a.".repeat(100_000),
        format!("first = {}", "[".repeat(100_000)),
        format!("first = {}1", "{a=".repeat(100_000)),
        format!("first = \"{}\"", "9".repeat(500_000)),
        format!("first_ratio = {}", "9".repeat(500_000)),
        format!("{} = 1", "x".repeat(500_000)),
        format!("cause.\"{}\" = \"1 s\"", "x".repeat(500_000)),
        "first = \"1 s\"\n".repeat(50_000),
    ] {
        let why = Budget::read(&text).expect_err("it is not a budget");
        assert!(why.what.len() < 1000, "{}", why.what.len());
        within(&text, why.place);
    }
}
