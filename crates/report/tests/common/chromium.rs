//! Opens a page in headless Chromium and reports how it renders.

#![allow(dead_code, reason = "each test uses its own part")]

#[path = "../../../../tests/missing.rs"]
pub mod missing;

use std::ops::RangeBounds;
use std::path::{Path, PathBuf};
use std::process::Command;

const WIDTHS: [u32; 3] = [320, 768, 1280];

/// The script added to a copy of the page: it posts the rendering results to the page around
/// it.
const PROBE: &str = "<script>
addEventListener('load', () => {
  const root = document.documentElement;
  const seen = [...document.querySelectorAll('svg.chart')].filter(svg => svg.checkVisibility());
  const sizes = seen.map(svg => svg.getBoundingClientRect());
  const body = getComputedStyle(document.body);
  const over = () => Math.max(root.scrollWidth, document.body.scrollWidth) - root.clientWidth;
  const folded = over();
  document.querySelectorAll('details').forEach(details => details.open = true);
  parent.postMessage({
    width: innerWidth,
    over: folded,
    unfolded: over(),
    charts: seen.length,
    flat: sizes.filter(size => size.width < 100 || size.height < 20).length,
    loaded: performance.getEntriesByType('resource').map(entry => entry.name).join(' ') || 'nothing',
    background: body.backgroundColor,
    ink: body.color,
    dark: matchMedia('(prefers-color-scheme: dark)').matches,
  }, '*');
});
</script>";

/// A copy of a page with a test script, and without the policy that forbids it.
pub fn with_probe(html: &str, probe: &str) -> String {
    let from = html
        .find("<meta http-equiv=\"Content-Security-Policy\"")
        .unwrap();
    let to = from + html[from..].find('>').unwrap() + 1;
    format!("{}{}", &html[..from], &html[to..]).replace("</head>", &format!("{probe}</head>"))
}

/// The page around the copies: a frame for each width, and their results.
fn around(frames: &str) -> String {
    format!(
        "<!doctype html><html><head><meta charset=\"utf-8\"><title>probe</title>\
         <link rel=\"icon\" href=\"data:,\"></head><body><script>\
         addEventListener('message', event => {{\
           const line = document.createElement('pre');\
           line.textContent = 'PROBE ' + Object.entries(event.data)\
             .map(([name, value]) => name + '=' + value).join(';');\
           document.body.append(line);\
         }});</script>{frames}</body></html>"
    )
}

/// A temporary folder that is removed on drop.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("preheat-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The browser; prints a message if there is none.
pub fn chromium() -> Option<PathBuf> {
    let found = [
        "/usr/bin/chromium",
        "/usr/bin/chromium-browser",
        "/usr/bin/google-chrome",
    ]
    .map(PathBuf::from)
    .into_iter()
    .find(|path| path.exists());
    if found.is_none() {
        missing::missing("chromium", "chromium is not installed");
    }
    found
}

/// The browser's DOM and its messages after it has shown `page`.
pub fn open(browser: &Path, folder: &Path, page: &Path, dark: bool) -> (String, String) {
    let mut command = Command::new(browser);
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--enable-logging=stderr",
        "--v=0",
        "--hide-scrollbars",
        "--window-size=1400,900",
        // Waits for the messages of the frames, in virtual time.
        "--virtual-time-budget=10000",
        "--dump-dom",
    ]);
    if dark {
        command.arg("--blink-settings=preferredColorScheme=0");
    }
    let profile = folder.join(if dark {
        "profile-dark"
    } else {
        "profile-light"
    });
    command.arg(format!("--user-data-dir={}", profile.display()));
    command.arg(format!("file://{}", page.display()));
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

/// A value reported by a frame.
pub fn reported<'a>(line: &'a str, name: &str) -> &'a str {
    line.split(';')
        .find_map(|part| {
            part.strip_prefix("PROBE ")
                .unwrap_or(part)
                .strip_prefix(&format!("{name}="))
        })
        .unwrap_or_else(|| panic!("{name} is not in {line}"))
}

/// Opens `html` at every width in light and dark mode: it must fit, load nothing, print
/// nothing to the console, and show this many static charts.
pub fn check(name: &str, html: &str, charts: impl RangeBounds<u32>) {
    let Some(browser) = chromium() else { return };
    let folder = Folder::new(name);
    std::fs::write(folder.0.join("page.html"), html).unwrap();
    let copy = with_probe(html, PROBE);
    std::fs::write(folder.0.join("copy.html"), copy).unwrap();
    let frames: String = WIDTHS
        .iter()
        .map(|width| format!("<iframe src=\"copy.html\" width=\"{width}\" height=\"800\" style=\"border:0\"></iframe>"))
        .collect();
    std::fs::write(folder.0.join("around.html"), around(&frames)).unwrap();

    // The unmodified page with its policy: no error, no warning.
    let (dom, messages) = open(&browser, &folder.0, &folder.0.join("page.html"), false);
    assert!(dom.contains("</main>"), "{dom}");
    assert_eq!(console(&messages), Vec::<&str>::new());

    for dark in [false, true] {
        let (dom, messages) = open(&browser, &folder.0, &folder.0.join("around.html"), dark);
        assert_eq!(console(&messages), Vec::<&str>::new());
        let probes: Vec<&str> = dom
            .split("<pre>")
            .skip(1)
            .filter_map(|rest| rest.split("</pre>").next())
            .filter(|line| line.starts_with("PROBE "))
            .collect();
        assert_eq!(probes.len(), WIDTHS.len(), "{dom:.2000}");
        for probe in probes {
            let number = |name: &str| reported(probe, name).parse::<u32>().unwrap();
            assert!(WIDTHS.contains(&number("width")), "{probe}");
            assert_eq!(reported(probe, "over"), "0", "scrolls sideways: {probe}");
            assert_eq!(
                reported(probe, "unfolded"),
                "0",
                "scrolls sideways unfolded: {probe}"
            );
            assert!(charts.contains(&number("charts")), "{probe}");
            assert_eq!(number("flat"), 0, "{probe}");
            assert_eq!(reported(probe, "loaded"), "nothing", "{probe}");
            assert_eq!(reported(probe, "dark"), dark.to_string(), "{probe}");
            let light = |name: &str| -> u32 {
                let digits = reported(probe, name).split(|c: char| !c.is_ascii_digit());
                digits
                    .filter_map(|part| part.parse::<u32>().ok())
                    .take(3)
                    .sum()
            };
            assert_eq!(light("background") < light("ink"), dark, "{probe}");
        }
    }
}

/// The console messages of the page.
pub fn console(messages: &str) -> Vec<&str> {
    messages
        .lines()
        .filter(|line| line.contains("CONSOLE"))
        .collect()
}
