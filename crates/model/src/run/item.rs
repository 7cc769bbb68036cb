//! The items behind a cause, and their origins.
//!
//! Older documents have no [`Origin`]: it is read from their texts here, and nowhere else.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Cause;

/// An item behind a cause: a module, library, kernel or call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored")]
pub struct Item {
    /// The name: `torch._dynamo`, `libcudnn_ops.so.9`, `cuLibraryLoadData`.
    pub name: String,
    /// The requester or other details; may be empty.
    pub detail: String,
    /// Its origin, if that is more than its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Seconds on the path, without nested items.
    pub seconds: f64,
    /// Seconds with nested items; equal to `seconds` if there are none.
    pub inclusive: f64,
    /// Occurrences on the path.
    pub count: u64,
    /// Bytes, if it loads, copies or allocates.
    pub bytes: Option<u64>,
    /// The waiting time within `seconds`, mostly for a disk; none if unknown.
    pub waiting: Option<f64>,
}

/// The origin of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Origin {
    /// A module with a known importer.
    Import(Importer),
    /// The modules of a package that are not listed individually.
    Package {
        /// The package.
        package: String,
    },
    /// A process or a thread whose name contains a process id.
    Process {
        /// The name without the id: `ptxas` for `ptxas (4711)`.
        name: String,
    },
    /// A compilation.
    Compilation {
        /// The compiler.
        compiler: Compiler,
    },
    /// The main thread of the program.
    MainThread,
    /// Waiting for an unknown reason.
    Waiting,
}

/// A compiler that works within the program or for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compiler {
    /// `torch.compile`, with its processes.
    TorchCompile,
    /// XLA.
    Xla,
    /// Numba.
    Numba,
}

/// The statement that imported a module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Importer {
    /// The module and line: `torch:53`, `torch._compile inner:53`; none for the program
    /// itself.
    pub module: Option<String>,
    /// The line of the program that led to it: `train.py:12`.
    pub line: Option<String>,
}

impl fmt::Display for Importer {
    /// `torch._compile inner:53, from train.py:12`.
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match (&self.module, &self.line) {
            (Some(module), Some(line)) => write!(out, "{module}, from {line}"),
            (Some(module), None) => out.write_str(module),
            (None, Some(line)) => write!(out, "from {line}"),
            (None, None) => Ok(()),
        }
    }
}

impl Importer {
    /// `imported by torch._compile inner:53, from train.py:12`, `imported at train.py:1`;
    /// empty if nothing is known.
    pub fn sentence(&self) -> String {
        match (&self.module, &self.line) {
            (Some(_), _) => format!("imported by {self}"),
            (None, Some(line)) => format!("imported at {line}"),
            (None, None) => String::new(),
        }
    }

    /// Reads the sentence back from an older document.
    fn of_older(detail: &str) -> Option<Importer> {
        let rest =
            (detail.strip_prefix("imported ")).or_else(|| detail.strip_prefix("asked for "))?;
        if let Some(line) = rest.strip_prefix("at ") {
            return Some(Importer {
                module: None,
                line: Some(line.to_owned()),
            });
        }
        let by = rest.strip_prefix("by ")?;
        Some(match by.rsplit_once(", from ") {
            Some((module, line)) => Importer {
                module: Some(module.to_owned()),
                line: Some(line.to_owned()),
            },
            None => Importer {
                module: Some(by.to_owned()),
                line: None,
            },
        })
    }
}

impl Item {
    /// An item with a name and no time.
    pub fn named(name: &str) -> Item {
        Item {
            name: name.to_owned(),
            ..Item::default()
        }
    }

    /// The importer of a module, if known.
    pub fn importer(&self) -> Option<&Importer> {
        match &self.origin {
            Some(Origin::Import(importer)) => Some(importer),
            _ => None,
        }
    }

    /// The compiler of a compilation, if known.
    pub fn compiler(&self) -> Option<Compiler> {
        match self.origin {
            Some(Origin::Compilation { compiler }) => Some(compiler),
            _ => None,
        }
    }

    /// The name by which two starts are compared: process ids differ between them.
    pub fn stable_name(&self) -> &str {
        match &self.origin {
            Some(Origin::Package { package: name } | Origin::Process { name }) => name,
            _ => &self.name,
        }
    }

    /// Returns true for a call of the CUDA driver: `cuInit`.
    pub fn is_driver_call(&self) -> bool {
        let rest = self.name.strip_prefix("cu");
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
    }

    /// Returns true for a call that compiles source: `nvrtcCompileProgram`, `clBuildProgram`.
    pub fn is_source_compilation(&self) -> bool {
        self.name.starts_with("nvrtc") || self.name.starts_with("clBuild")
    }
}

/// An item as stored by all versions of the document.
#[derive(Deserialize)]
struct Stored {
    name: String,
    detail: String,
    #[serde(default)]
    origin: Option<Origin>,
    seconds: f64,
    inclusive: f64,
    count: u64,
    bytes: Option<u64>,
    waiting: Option<f64>,
}

impl From<Stored> for Item {
    fn from(stored: Stored) -> Item {
        let origin = (stored.origin).or_else(|| origin_of_older(&stored.name, &stored.detail));
        let mut item = Item {
            name: stored.name,
            detail: stored.detail,
            origin,
            seconds: stored.seconds,
            inclusive: stored.inclusive,
            count: stored.count,
            bytes: stored.bytes,
            waiting: stored.waiting,
        };
        if let Some(importer) = item.importer() {
            item.detail = importer.sentence();
        }
        item
    }
}

/// Reads the origin of an item from the texts of an older document.
fn origin_of_older(name: &str, detail: &str) -> Option<Origin> {
    if let Some(package) = name.strip_prefix("other modules of ") {
        let package = package.to_owned();
        return Some(Origin::Package { package });
    }
    match name {
        "main thread" => return Some(Origin::MainThread),
        "waiting" => return Some(Origin::Waiting),
        _ => {}
    }
    let numbered = (name.strip_suffix(')')).and_then(|rest| rest.rsplit_once(" ("));
    match numbered {
        Some((name, id)) if id.bytes().all(|byte| byte.is_ascii_digit()) => Some(Origin::Process {
            name: name.to_owned(),
        }),
        _ => Importer::of_older(detail).map(Origin::Import),
    }
}

// All items behind the causes of the shown start, for comparisons. The report lists only
// the largest ones.

/// All items behind the causes of the shown start.
#[derive(Clone, Debug, PartialEq)]
pub struct AllItems {
    /// Items by [`Cause::index`], largest first. Python modules are grouped as in the
    /// report; `modules` lists them one by one.
    pub items: [Vec<Item>; Cause::ALL.len()],
    /// All Python modules that took time on the path. A module comes after the one that
    /// imported it.
    pub modules: Vec<ImportedModule>,
}

/// An imported Python module.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedModule {
    /// The module name.
    pub name: String,
    /// The importer, such as `imported by torch._compile inner:53, from train.py:12`; may
    /// be empty.
    pub detail: String,
    /// The module that imported it, as an index into [`AllItems::modules`].
    pub parent: Option<usize>,
    /// Seconds on the path, without nested imports.
    pub own: f64,
}

impl Default for AllItems {
    fn default() -> AllItems {
        AllItems {
            items: std::array::from_fn(|_| Vec::new()),
            modules: Vec::new(),
        }
    }
}

impl AllItems {
    /// The items behind a cause.
    pub fn of(&self, cause: Cause) -> &[Item] {
        &self.items[cause.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, detail: &str) -> Item {
        let text = serde_json::json!({
            "name": name, "detail": detail, "seconds": 1.0, "inclusive": 1.0, "count": 1,
            "bytes": null, "waiting": null,
        });
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn importers_of_older_documents_are_read() {
        let importer = |module: Option<&str>, line: Option<&str>| Importer {
            module: module.map(str::to_owned),
            line: line.map(str::to_owned),
        };
        for (detail, expected, now) in [
            (
                "asked for by torch._compile inner:53, from train.py:12",
                importer(Some("torch._compile inner:53"), Some("train.py:12")),
                "imported by torch._compile inner:53, from train.py:12",
            ),
            (
                "imported by torch:53",
                importer(Some("torch:53"), None),
                "imported by torch:53",
            ),
            (
                "asked for at train.py:1",
                importer(None, Some("train.py:1")),
                "imported at train.py:1",
            ),
        ] {
            let item = read("torch._dynamo", detail);
            assert_eq!(item.importer(), Some(&expected));
            assert_eq!(item.detail, now);
        }
        assert_eq!(read("void f(int)", "first launch").origin, None);
    }

    #[test]
    fn names_of_older_documents_are_compared_without_ids() {
        for (name, stable) in [
            ("ptxas (4711)", "ptxas"),
            ("ptxas", "ptxas"),
            ("void f(int)", "void f(int)"),
            ("gcc (a)", "gcc (a)"),
            ("other modules of torch", "torch"),
        ] {
            assert_eq!(read(name, "").stable_name(), stable);
        }
    }

    #[test]
    fn origins_round_trip() {
        for origin in [
            Origin::Import(Importer {
                module: None,
                line: Some("train.py:1".to_owned()),
            }),
            Origin::Compilation {
                compiler: Compiler::TorchCompile,
            },
            Origin::MainThread,
        ] {
            let item = Item {
                origin: Some(origin.clone()),
                ..Item::named("a")
            };
            let text = serde_json::to_string(&item).unwrap();
            let again: Item = serde_json::from_str(&text).unwrap();
            assert_eq!(again.origin, Some(origin));
        }
    }
}
