//! Parses a budget from TOML. Every error is a message with a position.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::value::{self, quoted};
use preheat_model::Quantity;

use super::{Budget, Limit, Limited, Misplaced, Position, did_you_mean, nearest};
use crate::lab::MAX_STARTS;
use crate::run::{Cause, Temperature};

/// Parses a whole budget.
pub(super) fn budget(text: &str) -> Result<Budget, Misplaced> {
    let document = DeTable::parse(text).map_err(|why| Misplaced {
        place: Position::of(text, why.span().map_or(0, |span| span.start)),
        what: format!("invalid TOML: {}", one_line(why.message())),
    })?;
    let mut reader = Reader {
        text,
        budget: Budget::default(),
    };
    reader.table(document.get_ref(), None)?;
    // The parser sorts by name; restore the order of the file.
    let limits = &mut reader.budget.limits;
    limits.sort_by_key(|limit| limit.place.map(|place| (place.line, place.column)));
    Ok(reader.budget)
}

/// The keys besides those of quantities.
const OTHER_KEYS: [&str; 4] = ["starts", "exit_code", "cause", "temperature"];

struct Reader<'a> {
    text: &'a str,
    budget: Budget,
}

type Value<'a> = Spanned<DeValue<'a>>;

impl Reader<'_> {
    /// Reads the document, or the table of a temperature.
    fn table(&mut self, table: &DeTable, at: Option<Temperature>) -> Result<(), Misplaced> {
        for (key, value) in table.iter() {
            let place = key.span().start;
            let name: &str = key.get_ref();
            let quantity = Quantity::ALL.into_iter().find(|of| of.key() == name);
            match (name, quantity, at) {
                (_, Some(of), _) => self.limit(of.into(), at, place, value)?,
                ("cause", ..) => self.causes(value, at)?,
                ("starts", _, None) => {
                    let most = self.whole(value, "starts", 1, MAX_STARTS as u64)?;
                    self.budget.starts = Some(most as usize);
                }
                ("exit_code", _, None) => {
                    let code = self.whole(value, "exit_code", 0, 255)?;
                    self.budget.exit_code = Some(code as i32);
                }
                ("temperature", _, None) => self.temperatures(value)?,
                _ => return self.wrong(place, unknown(name, at)),
            }
        }
        Ok(())
    }

    fn limit(
        &mut self,
        of: Limited,
        temperature: Option<Temperature>,
        place: usize,
        value: &Value,
    ) -> Result<(), Misplaced> {
        let unit = of.unit();
        let most = match value.get_ref() {
            DeValue::String(text) => value::parse(unit, text).map_err(|why| why.to_string()),
            DeValue::Integer(_) | DeValue::Float(_) => match number(value.get_ref()) {
                Some(number) => value::bare(unit, number).map_err(|why| why.to_string()),
                None => Err("this number is too large".to_owned()),
            },
            other => Err(format!("this is {}, not a limit", kind(other))),
        };
        let most =
            most.or_else(|what| self.wrong(value.span().start, format!("{}: {what}", of.key())))?;
        self.budget.limits.push(Limit {
            of,
            temperature,
            most,
            place: Some(Position::of(self.text, place)),
        });
        Ok(())
    }

    fn causes(&mut self, value: &Value, at: Option<Temperature>) -> Result<(), Misplaced> {
        let DeValue::Table(causes) = value.get_ref() else {
            let how = "a cause has a name: write cause.\"python imports\" = \"1.5 s\"";
            return self.wrong(value.span().start, how.to_owned());
        };
        for (key, value) in causes.iter() {
            let place = key.span().start;
            let of = Limited::cause_named(key.get_ref())
                .or_else(|what| self.wrong(place, what.to_string()))?;
            let same = |limit: &Limit| limit.of == of && limit.temperature == at;
            if self.budget.limits.iter().any(same) {
                // Names ignore case, so TOML cannot detect duplicates.
                let what = format!("the limit on {} is set twice", of.title());
                return self.wrong(place, what);
            }
            self.limit(of, at, place, value)?;
        }
        Ok(())
    }

    fn temperatures(&mut self, value: &Value) -> Result<(), Misplaced> {
        let all = Temperature::ALL;
        let names = all.map(Temperature::as_str);
        let how = "limits for colder starts belong in [temperature.disk]";
        let DeValue::Table(sections) = value.get_ref() else {
            return self.wrong(value.span().start, how.to_owned());
        };
        for (key, value) in sections.iter() {
            let name: &str = key.get_ref();
            let Some(temperature) = all.into_iter().find(|known| known.as_str() == name) else {
                let what = format!(
                    "unknown temperature {}{}; expected one of {}",
                    quoted(name),
                    did_you_mean(name, names),
                    names.join(", ")
                );
                return self.wrong(key.span().start, what);
            };
            match value.get_ref() {
                DeValue::Table(table) => self.table(table, Some(temperature))?,
                _ => return self.wrong(value.span().start, how.to_owned()),
            }
        }
        Ok(())
    }

    fn whole(&self, value: &Value, name: &str, least: u64, most: u64) -> Result<u64, Misplaced> {
        let found = match value.get_ref() {
            DeValue::Integer(_) => number(value.get_ref()),
            _ => None,
        };
        match found {
            Some(number) if (least as f64..=most as f64).contains(&number) => Ok(number as u64),
            _ => {
                let what = format!("{name} is a whole number from {least} to {most}");
                self.wrong(value.span().start, what)
            }
        }
    }

    fn wrong<T>(&self, at: usize, what: String) -> Result<T, Misplaced> {
        Err(Misplaced {
            place: Position::of(self.text, at),
            what,
        })
    }
}

/// The value of a number; `None` if it is out of range.
fn number(value: &DeValue) -> Option<f64> {
    match value {
        DeValue::Integer(whole) => i64::from_str_radix(whole.as_str(), whole.radix())
            .ok()
            .map(|whole| whole as f64),
        DeValue::Float(float) => float.as_str().parse().ok(),
        _ => None,
    }
}

fn kind(value: &DeValue) -> &'static str {
    match value {
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date or a time of day",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
        DeValue::String(_) => "a string",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
    }
}

fn unknown(name: &str, at: Option<Temperature>) -> String {
    let others = match at {
        None => &OTHER_KEYS[..],
        Some(_) => &OTHER_KEYS[2..3],
    };
    let keys: Vec<&str> = Quantity::ALL
        .map(Quantity::key)
        .into_iter()
        .chain(others.iter().copied())
        .collect();
    let causes = Cause::ALL.map(Cause::as_str);
    let suggestion = match (nearest(name, keys.iter().copied()), nearest(name, causes)) {
        (Some(key), _) => format!(" (did you mean {key}?)"),
        (None, Some(cause)) => format!(" (did you mean cause.\"{cause}\"?)"),
        (None, None) => String::new(),
    };
    format!(
        "unknown limit {}{suggestion}; expected one of {}",
        quoted(name),
        keys.join(", ")
    )
}

/// Joins the parser's message, which may have several lines.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
# A budget.
starts = 5
exit_code = 0
time_to_first = "2 s"
first = "350 ms"
first_ratio = 50
warmup = 3
steady = '80 us'
device_memory = "1 GiB"
host_memory = "512 MB"
cause."python imports" = "1.5 s"
cause.idle = "1 s"

[temperature.disk]
time_to_first = "6 s"
excess = "1e3 ms"

[temperature.disk.cause]
"Library loading" = "2 s"
"#;

    #[test]
    fn a_valid_budget_keeps_its_order_and_positions() {
        let budget = Budget::read(GOOD).unwrap();
        assert_eq!((budget.starts, budget.exit_code), (Some(5), Some(0)));
        let found: Vec<(&str, Option<Temperature>, f64, usize)> = (budget.limits.iter())
            .map(|limit| {
                let line = limit.place.map_or(0, |place| place.line);
                (limit.of.title(), limit.temperature, limit.most, line)
            })
            .collect();
        let disk = Some(Temperature::Disk);
        assert_eq!(
            found,
            [
                ("time to first", None, 2.0, 5),
                ("first iteration", None, 0.35, 6),
                ("first ÷ steady", None, 50.0, 7),
                ("warm-up", None, 3.0, 8),
                ("steady iteration", None, 80e-6, 9),
                ("peak device memory", None, 1073741824.0, 10),
                ("peak host memory", None, 512e6, 11),
                ("Python imports", None, 1.5, 12),
                ("idle", None, 1.0, 13),
                ("time to first", disk, 6.0, 16),
                ("excess", disk, 1.0, 17),
                ("library loading", disk, 2.0, 20),
            ]
        );
    }

    #[test]
    fn errors_are_reported_with_their_position() {
        for (text, place, words) in [
            ("time_to_first = ", "1:17", "invalid TOML"),
            ("time_to_first = \"2 s", "1:", "invalid TOML"),
            ("a = 1\na = 2", "2:1", "invalid TOML"),
            (
                "time_to_frist = \"2 s\"",
                "1:1",
                "did you mean time_to_first?",
            ),
            (
                "python_imports = \"2 s\"",
                "1:1",
                "did you mean cause.\"Python imports\"?",
            ),
            ("color = 1", "1:1", "expected one of time_to_first, first,"),
            (
                "\ntime_to_first = 2",
                "2:17",
                "time_to_first: \"2\" has no unit",
            ),
            ("time_to_first = \"1 GiB\"", "1:17", "unit of size"),
            ("device_memory = \"2 s\"", "1:17", "unit of time"),
            ("first_ratio = 0", "1:15", "not above zero"),
            ("first_ratio = -3.5", "1:15", "not above zero"),
            ("first_ratio = nan", "1:15", "not a number"),
            ("first_ratio = inf", "1:15", "too large"),
            ("first_ratio = 99999999999999999999", "1:15", "too large"),
            ("first = true", "1:9", "a boolean"),
            ("first = []", "1:9", "a list"),
            ("first.x = 1", "1:", "a table"),
            ("first = 07:30:00", "1:9", "a time of day"),
            ("starts = 0", "1:10", "whole number from 1"),
            ("starts = 2.5", "1:10", "whole number from 1"),
            ("exit_code = 256", "1:13", "from 0 to 255"),
            ("cause = \"1 s\"", "1:9", "a cause has a name"),
            (
                "cause.\"pyhton imports\" = \"1 s\"",
                "1:7",
                "did you mean Python imports?",
            ),
            ("cause.idle = \"1 kB\"", "1:14", "cause.\"idle\": \"kB\""),
            (
                "cause.idle = \"1 s\"\ncause.Idle = \"2 s\"",
                "",
                "set twice",
            ),
            ("temperature = \"disk\"", "1:15", "[temperature.disk]"),
            (
                "temperature.disc.first = \"1 s\"",
                "1:13",
                "did you mean disk?",
            ),
            ("temperature.disk = 1", "1:20", "[temperature.disk]"),
            (
                "[temperature.disk]\nstarts = 3",
                "2:1",
                "unknown limit \"starts\"",
            ),
        ] {
            let error = Budget::read(text).expect_err(text).to_string();
            assert!(
                error.starts_with(place) && error.contains(words),
                "{text}: {error}"
            );
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
