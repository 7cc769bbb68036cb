//! The appearance of each cause, the same on the whole page: a color for its family and, for
//! other members of the family, stripes. Causes stay distinguishable without color and with
//! color vision deficiencies (the hues are those of Okabe and Ito).

use maud::{Markup, html};
use preheat_model::run::Cause;

use super::figure;

/// The fill and text colors of a cause in light and dark mode, and its stripes.
struct CauseStyle {
    light: (&'static str, &'static str),
    dark: (&'static str, &'static str),
    pattern: Pattern,
}

#[derive(Clone, Copy, PartialEq)]
enum Pattern {
    Plain,
    /// Falling or rising stripes, or none.
    Falling,
    Rising,
    Dots,
}

const INK: &str = "#14171b";
const PAPER: &str = "#ffffff";

fn style_of(cause: Cause) -> CauseStyle {
    use Pattern::{Dots, Falling, Plain, Rising};
    let (light, dark, pattern) = match cause {
        Cause::ProcessStart => (("#3b3b78", PAPER), ("#5a5fc0", PAPER), Plain),
        Cause::LibraryLoading => (("#56b4e9", INK), ("#7cc8f2", INK), Falling),
        Cause::PythonImports => (("#0068a8", PAPER), ("#3d9fdc", INK), Plain),
        Cause::BytecodeCompilation => (("#9c3f6e", PAPER), ("#e08ab4", INK), Rising),
        Cause::DriverInit => (("#e69f00", INK), ("#f0b53a", INK), Plain),
        Cause::ContextCreation => (("#c24f00", PAPER), ("#f0803c", INK), Rising),
        Cause::KernelLoading => (("#00795a", PAPER), ("#2fbf95", INK), Plain),
        Cause::KernelCompilation => (("#7fcfb4", INK), ("#a5ecd4", INK), Rising),
        Cause::LibrarySetUp => (("#cc79a7", INK), ("#dc96bd", INK), Plain),
        Cause::DeviceAllocation => (("#7563d6", PAPER), ("#a99bf0", INK), Plain),
        Cause::PinnedAllocation => (("#bdb2f5", INK), ("#d3cbff", INK), Falling),
        Cause::HostToDevice => (("#6f5030", PAPER), ("#c09a66", INK), Plain),
        Cause::DeviceToHost => (("#c9a87c", INK), ("#e6cfa8", INK), Falling),
        Cause::CollectiveSetUp => (("#f0e442", INK), ("#f5ec7a", INK), Plain),
        Cause::GraphCapture => (("#b0a500", INK), ("#c9c04a", INK), Rising),
        Cause::GpuRestore => (("#8a1c1c", PAPER), ("#e0605a", INK), Dots),
        Cause::WaitingForDevice => (("#a5b4c2", INK), ("#7f93a6", INK), Rising),
        Cause::SteadyWork => (("#4c545d", PAPER), ("#c5c9ce", INK), Plain),
        Cause::OwnCpu => (("#a9bd6e", INK), ("#bccf85", INK), Plain),
        Cause::Idle => (("#dcdad3", INK), ("#5b626a", PAPER), Dots),
        Cause::Unexplained => (("#f3d6d2", INK), ("#7a4a46", PAPER), Falling),
    };
    CauseStyle {
        light,
        dark,
        pattern,
    }
}

/// The CSS class that fills with the color of a cause. Text on it has the class [`ink`].
pub(crate) fn class(cause: Cause) -> String {
    format!("k{}", cause.index())
}

/// The CSS class of text on the color of a cause.
pub(crate) fn ink(cause: Cause) -> String {
    format!("n{}k", cause.index())
}

/// A square in the color of a cause, for legends and tables.
pub(crate) fn square(cause: Cause) -> Markup {
    html! { span class={ "square " (class(cause)) } aria-hidden="true" {} }
}

/// The legend of the given causes.
pub(crate) fn key(causes: &[Cause]) -> Markup {
    let shown = Cause::ALL
        .into_iter()
        .filter(|cause| causes.contains(cause));
    figure::key(shown.map(named))
}

/// A cause after its square.
pub(crate) fn named(cause: Cause) -> Markup {
    html! { (square(cause)) (cause.as_str()) }
}

/// The style rules of the causes.
pub(crate) fn rules() -> String {
    let variables = |dark: bool| -> String {
        let variable = |cause: Cause| {
            let (at, style) = (cause.index(), style_of(cause));
            let (fill, ink) = if dark { style.dark } else { style.light };
            format!("--k{at}:{fill};--n{at}k:{ink};")
        };
        Cause::ALL.into_iter().map(variable).collect()
    };
    let rule = |cause: Cause| {
        let at = cause.index();
        let fill = match style_of(cause).pattern {
            Pattern::Plain => format!("var(--k{at})"),
            _ => format!("url(#p{at})"),
        };
        let stripes = match style_of(cause).pattern {
            Pattern::Plain => String::new(),
            Pattern::Falling => ";background-image:repeating-linear-gradient(45deg,transparent 0 4px,var(--stripe) 4px 5.5px)".to_owned(),
            Pattern::Rising => ";background-image:repeating-linear-gradient(-45deg,transparent 0 4px,var(--stripe) 4px 5.5px)".to_owned(),
            Pattern::Dots => ";background-image:radial-gradient(var(--stripe) 1px,transparent 1.2px);background-size:5px 5px".to_owned(),
        };
        format!(
            ".k{at}{{fill:{fill};background-color:var(--k{at}){stripes}}}svg .n{at}k{{fill:var(--n{at}k)}}\n"
        )
    };
    format!(
        ":root{{{}}}\n@media screen and (prefers-color-scheme: dark){{:root{{{}}}}}\n{}",
        variables(false),
        variables(true),
        Cause::ALL.into_iter().map(rule).collect::<String>()
    )
}

/// The patterns that the rules refer to, in an invisible drawing.
pub(crate) fn patterns() -> Markup {
    html! {
        svg class="patterns" width="0" height="0" aria-hidden="true" {
            defs { @for cause in Cause::ALL { (pattern(cause)) } }
        } "\n"
    }
}

fn pattern(cause: Cause) -> Markup {
    let path = |d: &str| html! { path class="stripes" d=(d) {} };
    let (size, marks) = match style_of(cause).pattern {
        Pattern::Plain => return Markup::default(),
        Pattern::Falling => (8, path("M-2 6L2 10M-2 -2L10 10M6 -2L10 2")),
        Pattern::Rising => (8, path("M-2 2L2 -2M-2 10L10 -2M6 10L10 6")),
        Pattern::Dots => (5, html! { circle class="dots" cx="2.5" cy="2.5" r=".9" {} }),
    };
    let at = cause.index();
    html! {
        pattern id={ "p" (at) } width=(size) height=(size) patternUnits="userSpaceOnUse" {
            rect width=(size) height=(size) style={ "fill:var(--k" (at) ")" } {}
            (marks)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_causes_are_distinguishable() {
        for dark in [false, true] {
            let fills: Vec<&str> = Cause::ALL
                .into_iter()
                .map(|cause| {
                    let style = style_of(cause);
                    if dark { style.dark.0 } else { style.light.0 }
                })
                .collect();
            for (at, fill) in fills.iter().enumerate() {
                assert!(!fills[..at].contains(fill), "{fill}");
            }
        }
    }

    /// The contrast ratio of two colors according to WCAG 2.
    fn contrast(a: &str, b: &str) -> f64 {
        let luminance = |color: &str| -> f64 {
            let part = |at: usize| {
                let value = f64::from(u8::from_str_radix(&color[at..at + 2], 16).unwrap()) / 255.0;
                if value <= 0.04045 {
                    value / 12.92
                } else {
                    ((value + 0.055) / 1.055).powf(2.4)
                }
            };
            0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
        };
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_on_a_cause_has_enough_contrast() {
        for cause in Cause::ALL {
            let style = style_of(cause);
            for (fill, ink) in [style.light, style.dark] {
                assert!(
                    contrast(fill, ink) >= 4.5,
                    "{}: {ink} on {fill} is {:.1}",
                    cause.as_str(),
                    contrast(fill, ink)
                );
            }
        }
    }

    #[test]
    fn every_referenced_pattern_exists() {
        let (rules, patterns) = (rules(), patterns().into_string());
        for cause in Cause::ALL {
            let name = format!("p{}", cause.index());
            assert_eq!(
                rules.contains(&format!("url(#{name})")),
                patterns.contains(&format!("id=\"{name}\""))
            );
        }
    }
}
