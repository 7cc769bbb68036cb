//! Properties of everything that is printed to a terminal.

use unicode_width::UnicodeWidthStr;

/// Renders for all widths, with and without color and Unicode, and checks every line. The
/// arguments of `render` are the width, color and Unicode.
pub fn assert_fits(render: impl Fn(usize, bool, bool) -> String) {
    assert_fits_from(1, render);
}

/// Checks only terminals that are at least this wide.
pub fn assert_fits_from(least: usize, render: impl Fn(usize, bool, bool) -> String) {
    let widths = [1, 10, 24, 40, 60, 79, 80, 100, 120, 200];
    for width in widths.into_iter().filter(|width| *width >= least) {
        for (color, unicode) in [(false, false), (false, true), (true, true)] {
            let text = without_color(&render(width, color, unicode));
            for line in text.lines() {
                assert!(line.width() <= width, "{width}: {line:?}");
                assert_eq!(line, line.trim_end());
                assert!(!line.chars().any(char::is_control), "{line:?}");
                assert!(unicode || line.is_ascii(), "{line}");
            }
            assert!(
                text.ends_with('\n') && !text.ends_with("\n\n"),
                "{width}: {text:?}"
            );
        }
    }
}

/// Removes color escapes.
pub fn without_color(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.split_once('m').map_or("", |(_, after)| after);
    }
    plain + rest
}
