//! The resource that spans belong to: its attributes come from the variables that every
//! OpenTelemetry SDK reads.

use std::env;

use anyhow::{Context, Result, bail};

const NAME: &str = "OTEL_SERVICE_NAME";
const ATTRIBUTES: &str = "OTEL_RESOURCE_ATTRIBUTES";
const SERVICE: &str = "service.name";

/// Attributes from the environment, with a service name: that of `OTEL_SERVICE_NAME`, of
/// `OTEL_RESOURCE_ATTRIBUTES`, or else `program`.
pub fn attributes(program: &str) -> Result<Vec<(String, String)>> {
    let variable = |name| env::var(name).unwrap_or_default();
    merge(&variable(NAME), &variable(ATTRIBUTES), program)
}

fn merge(name: &str, given: &str, program: &str) -> Result<Vec<(String, String)>> {
    let mut found = parse(given).with_context(|| format!("{ATTRIBUTES}={given}"))?;
    let named = found.iter().any(|(key, _)| key == SERVICE);
    if !name.is_empty() {
        found.retain(|(key, _)| key != SERVICE);
    }
    if !name.is_empty() || !named {
        let name = if name.is_empty() { program } else { name };
        found.insert(0, (SERVICE.to_owned(), name.to_owned()));
    }
    Ok(found)
}

/// Parses `key=value,key=value`, in which values are percent-encoded. Of equal keys the last counts.
fn parse(text: &str) -> Result<Vec<(String, String)>> {
    let mut found: Vec<(String, String)> = Vec::new();
    for pair in text
        .split(',')
        .map(str::trim)
        .filter(|pair| !pair.is_empty())
    {
        let (key, value) = pair.split_once('=').unwrap_or_default();
        let key = key.trim();
        if key.is_empty() {
            bail!("expected key=value, found `{pair}`");
        }
        found.retain(|(other, _)| other != key);
        found.push((key.to_owned(), decode(value.trim())?));
    }
    Ok(found)
}

/// Decodes `%20` and the like.
fn decode(text: &str) -> Result<String> {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let code = piece.get(..2).and_then(|digits| {
            let all_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            u8::from_str_radix(digits, 16).ok().filter(|_| all_hex)
        });
        let Some(code) = code else {
            bail!("expected two hexadecimal digits after % in `{text}`");
        };
        bytes.push(code);
        bytes.extend_from_slice(&piece.as_bytes()[2..]);
    }
    String::from_utf8(bytes).with_context(|| format!("`{text}` is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(name: &str, given: &str) -> String {
        let found = merge(name, given, "train").expect("valid attributes");
        let pairs: Vec<String> = (found.iter())
            .map(|(key, value)| format!("{key}: {value}"))
            .collect();
        pairs.join("; ")
    }

    #[test]
    fn the_service_is_named_by_the_environment_or_the_program() {
        assert_eq!(merged("", ""), "service.name: train");
        assert_eq!(merged("api", ""), "service.name: api");
        assert_eq!(merged("", "service.name=shop"), "service.name: shop");
        assert_eq!(merged("api", "service.name=shop"), "service.name: api");
    }

    #[test]
    fn attributes_are_decoded_and_the_last_of_equal_ones_counts() {
        assert_eq!(
            merged("", "a=1, b=x%2Cy%3D%c3%a9 ,a=2,c="),
            "service.name: train; b: x,y=é; a: 2; c: "
        );
    }

    #[test]
    fn wrong_attributes_are_rejected() {
        for given in ["a", "=1", "a=%", "a=%+1", "a=%é", "a=%ff"] {
            assert!(merge("", given, "train").is_err(), "{given}");
        }
    }
}
