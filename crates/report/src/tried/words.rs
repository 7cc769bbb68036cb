//! What remedies and kinds of starts are called.

use preheat_analyze::run::Temperature;
use preheat_analyze::tried::{Kept, TriedReport, TriedVariant};

/// A remedy's name for people: its id in words.
pub(super) fn remedy(id: &str) -> String {
    id.replace('-', " ")
}

/// What starts had.
pub(super) fn variant(variant: &TriedVariant, report: &TriedReport) -> String {
    let cold = match variant.against {
        Temperature::Process => "",
        Temperature::Disk => ", cold disk",
        Temperature::Caches => ", empty caches",
    };
    let alike = report
        .variants
        .iter()
        .filter(|other| other.against == variant.against);
    let all = alike.clone().max_by_key(|other| other.remedies.len());
    let all = all.map_or(&[][..], |all| &all.remedies);
    match &variant.remedies[..] {
        [] => format!("plain{cold}"),
        [one] => remedy(one),
        several if several.len() == all.len() => "all together".to_owned(),
        several => {
            let missing = all.iter().find(|id| !several.contains(id));
            missing.map_or_else(
                || several.join(" + "),
                |id| format!("all but {}", remedy(id)),
            )
        }
    }
}

/// Whether a remedy is kept, in a word or two.
pub(super) fn kept(kept: Kept) -> &'static str {
    match kept {
        Kept::Alone => "kept",
        Kept::WithOthers => "kept: it adds to the others",
        Kept::Unclear => "no: not clear that it pays",
        Kept::Costs => "no: it costs more",
        Kept::NotMeasured => "no: not measured",
    }
}
