//! What remedies and kinds of starts are called.

use preheat_analyze::run::Temperature;
use preheat_analyze::tried::{Kept, TriedReport, TriedVariant};

/// A remedy's name for people: its id in words.
pub(super) fn remedy(id: &str) -> String {
    match id {
        "keep-compile-caches" => "kept caches".to_owned(),
        other => other.replace('-', " "),
    }
}

/// What starts had.
pub(super) fn variant(variant: &TriedVariant, report: &TriedReport) -> String {
    let cold = match variant.against {
        Temperature::Process => "",
        Temperature::Disk => ", cold disk",
        Temperature::Caches => ", empty caches",
    };
    let all = report.remedies.len();
    match &variant.remedies[..] {
        [] => format!("plain{cold}"),
        [one] => remedy(one),
        several if several.len() + 1 == all && all > 2 => {
            let missing = report.remedies.iter().map(|tried| &tried.id);
            let mut missing = missing.filter(|id| !several.contains(id));
            match missing.next() {
                Some(missing) => format!("all but {}", remedy(missing)),
                None => "together".to_owned(),
            }
        }
        _ => "together".to_owned(),
    }
}

/// Whether a remedy is kept, in a word or two.
pub(super) fn kept(kept: Kept) -> &'static str {
    match kept {
        Kept::Alone => "kept",
        Kept::WithOthers => "kept, beside the others",
        Kept::Unclear => "no: unclear whether it pays",
        Kept::Costs => "no: it costs more",
        Kept::NotMeasured => "no: not measured",
    }
}
