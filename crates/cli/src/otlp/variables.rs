//! Variables that every OpenTelemetry SDK reads: attributes of the resource that spans belong to,
//! and headers of requests.

use std::env;

use anyhow::{Context, Result, bail};

const NAME: &str = "OTEL_SERVICE_NAME";
const ATTRIBUTES: &str = "OTEL_RESOURCE_ATTRIBUTES";
const SERVICE: &str = "service.name";
/// Headers for all signals, and for traces, which take precedence.
const HEADERS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "OTEL_EXPORTER_OTLP_HEADERS",
];

/// Attributes from the environment, with a service name: that of `OTEL_SERVICE_NAME`, of
/// `OTEL_RESOURCE_ATTRIBUTES`, or else `program`.
pub fn attributes(program: &str) -> Result<Vec<(String, String)>> {
    let variable = |name| env::var(name).unwrap_or_default();
    merge(&variable(NAME), &variable(ATTRIBUTES), program)
}

/// Headers from the environment, such as a token for the collector.
pub fn headers() -> Result<Vec<(String, String)>> {
    let given = HEADERS.into_iter().find_map(|name| {
        let text = env::var(name).ok().filter(|text| !text.is_empty())?;
        Some((name, text))
    });
    match given {
        // The message leaves out the value, which may be a secret.
        Some((name, text)) => parsed_headers(&text).with_context(|| name.to_owned()),
        None => Ok(Vec::new()),
    }
}

fn parsed_headers(text: &str) -> Result<Vec<(String, String)>> {
    let Ok(headers) = parse(text) else {
        bail!("expected key=value,key=value, with values in percent-encoding");
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    for (name, value) in &headers {
        if !name.chars().all(is_name) || value.chars().any(char::is_control) {
            bail!("`{name}` is not a valid header");
        }
    }
    Ok(headers)
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
    fn headers_have_no_room_for_others() {
        let headers = parsed_headers("api-key=a%20b,x-scope=1").expect("valid headers");
        let pairs = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        assert!(pairs.eq([("api-key", "a b"), ("x-scope", "1")]));
        for given in ["secret", "a b=1", "a:=1", "a=%0d%0aX: 1", "a=%"] {
            let why = parsed_headers(given).expect_err(given).to_string();
            assert!(!why.contains("secret"), "{why}");
        }
    }

    #[test]
    fn wrong_attributes_are_rejected() {
        for given in ["a", "=1", "a=%", "a=%+1", "a=%é", "a=%ff"] {
            assert!(merge("", given, "train").is_err(), "{given}");
        }
    }
}
