//! Sends spans to an OpenTelemetry collector: OTLP over HTTP, with protobuf.
//!
//! One request to a collector, usually on this machine, needs no HTTP library and no TLS.

use std::fmt::{self, Write as _};
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use anyhow::{Context, Result, bail};

pub mod variables;

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
}
