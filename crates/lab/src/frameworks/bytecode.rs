//! Checks whether the packages of a Python have bytecode.

use std::path::Path;
use std::time::Duration;

use preheat_model::doctor::BytecodeFound;

use super::ask;

/// Lists files without reading them; 20,000 modules are enough.
const FIND_BYTECODE: &str = r#"
import importlib.util, json, os, sys, sysconfig
packages = sysconfig.get_paths()["purelib"]
found = importlib.util.find_spec("torch") or importlib.util.find_spec("numpy")
if found and found.submodule_search_locations:
    packages = os.path.dirname(list(found.submodule_search_locations)[0])
modules = missing = 0
for directory, inner, files in os.walk(packages):
    inner[:] = [name for name in inner if name not in ("__pycache__", "test", "tests")]
    if "site-packages" not in directory and "dist-packages" not in directory:
        continue
    kept = {}
    for name in files:
        if name.endswith(".py"):
            cached = importlib.util.cache_from_source(os.path.join(directory, name))
            place, entry = os.path.split(cached)
            if place not in kept:
                kept[place] = set(os.listdir(place)) if os.path.isdir(place) else set()
            modules += 1
            missing += entry not in kept[place]
    if modules >= 20000:
        break
print(json.dumps({
    "modules": modules,
    "missing": missing,
    "writes": not sys.dont_write_bytecode,
    "writable": os.access(packages, os.W_OK),
    "packages": packages,
}))
"#;

/// Listing many small directories on a cold disk is slow.
const LIMIT: Duration = Duration::from_secs(60);

/// Inspects the packages of a Python; the error is a message.
pub fn find_bytecode(python: &Path) -> Result<BytecodeFound, String> {
    let text = ask(python, FIND_BYTECODE, LIMIT)?;
    let answer = text.lines().last();
    answer
        .and_then(|line| serde_json::from_str(line).ok())
        .ok_or_else(|| {
            format!(
                "{} does not say whether its packages have bytecode",
                python.display()
            )
        })
}
