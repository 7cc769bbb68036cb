//! A small file of every format, as its tool writes it.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::io::{Read, Write};

use preheat_model::classify::{Format, Times};
use preheat_times::{Error, Settings, read};

/// The sample of a format. Krun's is compressed here, so that its text stays readable.
pub fn sample(name: &str) -> Vec<u8> {
    let bytes: &[u8] = match name {
        "warmup_stats.csv" => include_bytes!("../samples/warmup_stats.csv"),
        "krun.json" => include_bytes!("../samples/krun.json"),
        "krun.json.bz2" => return packed(&sample("krun.json")),
        "hyperfine.json" => include_bytes!("../samples/hyperfine.json"),
        "pyperf.json" => include_bytes!("../samples/pyperf.json"),
        "jmh.json" => include_bytes!("../samples/jmh.json"),
        "run.json" => include_bytes!("../samples/run.json"),
        "halves.json" => {
            br#"{"results": [{"command": "\ud800\u0000 \ud83d\ude00 \udc00", "times": [1, 1, 1, 1]}]}"#
        }
        "list.json" => b"[0.5, 0.25, 0.125]\n",
        "lists.json" => b"[[0.5, 0.25],\n [0.5, 0.125]]\n",
        "lines.txt" => b"# warm\n0.5\n0.25\n\n0.5\n0.125\n",
        _ => panic!("unknown sample {name}"),
    };
    bytes.to_vec()
}

/// All samples.
pub const SAMPLES: [&str; 11] = [
    "warmup_stats.csv",
    "krun.json",
    "krun.json.bz2",
    "hyperfine.json",
    "pyperf.json",
    "jmh.json",
    "run.json",
    "halves.json",
    "list.json",
    "lists.json",
    "lines.txt",
];

pub fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    encoder.write_all(bytes).expect("it is memory");
    encoder.finish().expect("it is memory")
}

/// The benchmarks of a file, and the result of reading it.
type ReadResult = (Vec<(Format, Times)>, Result<Vec<String>, Error>);

/// Reads a file with these settings.
pub fn read_with(bytes: &[u8], settings: &Settings) -> ReadResult {
    let mut found = Vec::new();
    let result = read(bytes, settings, &mut |format, times| {
        found.push((format, times))
    });
    (found, result)
}

/// Settings for a file named `file`.
pub fn plain() -> Settings {
    Settings {
        name: "file".to_owned(),
        ..Settings::default()
    }
}

/// All benchmarks of a valid file.
pub fn all(bytes: &[u8]) -> (Format, Vec<Times>) {
    let (found, result) = read_with(bytes, &plain());
    result.expect("it can be read");
    let format = found[0].0;
    assert!(found.iter().all(|(other, _)| *other == format));
    (format, found.into_iter().map(|(_, times)| times).collect())
}

/// The error of an invalid file.
pub fn refused(bytes: &[u8]) -> String {
    let (_, result) = read_with(bytes, &plain());
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
    match result {
        Err(why) => why.to_string(),
        Ok(_) => panic!("it can be read: {text}"),
    }
}

/// `head`, then `body` over and over.
pub fn endless<'a>(head: &'a str, body: &'a str) -> impl Read + 'a {
    struct Cycle<'a>(&'a [u8], usize);
    impl Read for Cycle<'_> {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            let count = to.len().min(self.0.len() - self.1);
            to[..count].copy_from_slice(&self.0[self.1..self.1 + count]);
            self.1 = (self.1 + count) % self.0.len();
            Ok(count)
        }
    }
    head.as_bytes().chain(Cycle(body.as_bytes(), 0))
}
