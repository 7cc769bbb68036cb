//! Sends spans to an OpenTelemetry collector: OTLP over HTTP, with protobuf.
//!
//! One request to a collector, usually on this machine, needs no HTTP library and no TLS. The
//! standard OpenTelemetry variables set the attributes of the resource and the headers of the
//! request.

use std::env;
use std::fmt::{self, Write as _};
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// The longest that connecting, sending or an answer may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The port of OTLP over HTTP.
const PORT: u16 = 4318;
/// The most that is read of an answer.
const MAX_ANSWER_BYTES: u64 = 1 << 16;

/// The address of a collector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collector {
    host: String,
    port: u16,
    path: String,
}

/// Parses the URL of a collector: `http://HOST[:PORT][/PATH]`. Without a path it is
/// `/v1/traces`.
pub fn collector(url: &str) -> Result<Collector, String> {
    let Some(rest) = url.strip_prefix("http://") else {
        return Err(match url.starts_with("https://") {
            true => "https is not supported; use http:// to a local collector, which can forward over https".to_owned(),
            false => "expected a URL such as http://localhost:4318".to_owned(),
        });
    };
    let (authority, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    if authority.contains('@') || url.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err("expected a URL without user, spaces and control characters".to_owned());
    }
    // The port follows the last colon, which in an IPv6 address is outside the brackets.
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => {
            let port = port.parse();
            (
                host,
                port.map_err(|_| "the port is not a number up to 65535")?,
            )
        }
        _ => (authority, PORT),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if host.is_empty() {
        return Err("the URL has no host".to_owned());
    }
    Ok(Collector {
        host: host.to_owned(),
        port,
        path: match path {
            "" | "/" => "/v1/traces".to_owned(),
            path => path.to_owned(),
        },
    })
}

impl fmt::Display for Collector {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl Collector {
    /// Sends a request with this body.
    pub fn send(&self, headers: &[(String, String)], body: &[u8]) -> Result<()> {
        let what = format!("no spans were sent to {self}");
        let answer = self.exchange(headers, body).with_context(|| what.clone())?;
        let status = answer.split_whitespace().nth(1).unwrap_or_default();
        if !status.starts_with('2') {
            let line = answer.lines().next().unwrap_or("nothing");
            bail!("{what}: the collector answered {line}");
        }
        Ok(())
    }

    fn exchange(&self, headers: &[(String, String)], body: &[u8]) -> Result<String> {
        let addresses = (self.host.as_str(), self.port).to_socket_addrs()?;
        let mut failed = None;
        let mut connected = None;
        for address in addresses {
            match TcpStream::connect_timeout(&address, TIMEOUT) {
                Ok(stream) => {
                    connected = Some(stream);
                    break;
                }
                Err(why) => failed = Some(why),
            }
        }
        let mut stream = match (connected, failed) {
            (Some(stream), _) => stream,
            (None, Some(why)) => return Err(why.into()),
            (None, None) => bail!("the name has no address"),
        };
        stream.set_write_timeout(Some(TIMEOUT))?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        let mut head = format!(
            "POST {} HTTP/1.1\r\nHost: {self}\r\nContent-Type: application/x-protobuf\r\n\
             Content-Length: {}\r\nUser-Agent: preheat/{}\r\nConnection: close\r\n",
            self.path,
            body.len(),
            env!("CARGO_PKG_VERSION")
        );
        for (name, value) in headers {
            write!(head, "{name}: {value}\r\n")?;
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        let mut answer = Vec::new();
        let read = stream.take(MAX_ANSWER_BYTES).read_to_end(&mut answer);
        // The status is enough if the collector leaves the connection open, or resets it.
        if answer.is_empty() {
            read?;
        }
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }
}

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
    let Ok(headers) = parse_pairs(text) else {
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
    let mut found = parse_pairs(given).with_context(|| format!("{ATTRIBUTES}={given}"))?;
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
fn parse_pairs(text: &str) -> Result<Vec<(String, String)>> {
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

    #[test]
    fn urls_have_a_default_port_and_path() {
        let parts = |url| collector(url).map(|c| (c.host, c.port, c.path));
        let expected = |host: &str, port, path: &str| Ok((host.to_owned(), port, path.to_owned()));
        assert_eq!(
            parts("http://localhost"),
            expected("localhost", 4318, "/v1/traces")
        );
        assert_eq!(parts("http://a.b:80/"), expected("a.b", 80, "/v1/traces"));
        assert_eq!(parts("http://[::1]:9/x/y"), expected("::1", 9, "/x/y"));
        assert_eq!(parts("http://[::1]"), expected("::1", 4318, "/v1/traces"));
    }

    #[test]
    fn wrong_urls_are_rejected() {
        for url in [
            "https://a",
            "localhost:4318",
            "http://",
            "http://:1",
            "http://a:b",
            "http://a:70000",
            "http://u@a",
            "http://a/b c",
            "http://a/\r\nX: 1",
        ] {
            assert!(collector(url).is_err(), "{url}");
        }
    }

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
