//! Parsers of flags whose values come from a list or a range. clap shows a list in help, in
//! errors with the nearest name, and in completions.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap_complete::Shell;
use preheat_device::Kind;
use preheat_lab::{DeviceChoice, Framework, FrameworkChoice};
use preheat_model::Quantity;
use preheat_model::compare::Compared;
use preheat_model::lab::{ExperimentId, MAX_STARTS};
use preheat_model::run::Temperature;
use preheat_start::{Form, MAX_STANDBYS, Remedy};
use preheat_times::TimeUnit;

/// Parses the name of one of these values.
fn one_of<T>(values: Vec<(&'static str, T)>) -> impl TypedValueParser<Value = T>
where
    T: Clone + Send + Sync + 'static,
{
    let names: Vec<&'static str> = values.iter().map(|(name, _)| *name).collect();
    PossibleValuesParser::new(names).try_map(move |written| {
        let found = values.iter().find(|(name, _)| *name == written);
        found.map(|(_, value)| value.clone()).ok_or("unknown value")
    })
}

pub fn experiment() -> impl TypedValueParser<Value = ExperimentId> {
    one_of(ExperimentId::ALL.map(|known| (known.id(), known)).to_vec())
}

pub fn device() -> impl TypedValueParser<Value = DeviceChoice> {
    let kinds = Kind::ALL.map(|kind| (kind.id(), DeviceChoice::Kind(kind)));
    one_of(
        [("auto", DeviceChoice::Auto)]
            .into_iter()
            .chain(kinds)
            .collect(),
    )
}

pub fn framework() -> impl TypedValueParser<Value = FrameworkChoice> {
    let known = Framework::ALL.map(|known| (known.id(), FrameworkChoice::One(known)));
    let choices = [
        ("auto", FrameworkChoice::Auto),
        ("none", FrameworkChoice::None),
    ];
    one_of(choices.into_iter().chain(known).collect())
}

pub fn temperature() -> impl TypedValueParser<Value = Temperature> {
    one_of(
        Temperature::ALL
            .map(|known| (known.as_str(), known))
            .to_vec(),
    )
}

/// A quantity of `compare`.
pub fn quantity() -> impl TypedValueParser<Value = Compared> {
    let known = Quantity::ALL.map(Compared::Quantity);
    let all = known.into_iter().chain([Compared::Region]);
    one_of(all.map(|of| (of.id(), of)).collect())
}

/// A remedy; `none` is `None`.
pub fn remedy() -> impl TypedValueParser<Value = Option<Remedy>> {
    let known = Remedy::ALL.map(|remedy| (remedy.id(), Some(remedy)));
    one_of(known.into_iter().chain([("none", None)]).collect())
}

/// The form of a standby.
pub fn form() -> impl TypedValueParser<Value = Form> {
    one_of(Form::ALL.map(|form| (form.as_str(), form)).to_vec())
}

/// A shell with completions; `Shell` has others, which do not run on Linux or are rare there.
pub fn shell() -> impl TypedValueParser<Value = Shell> {
    one_of(vec![
        ("bash", Shell::Bash),
        ("zsh", Shell::Zsh),
        ("fish", Shell::Fish),
    ])
}

/// A unit of time.
pub fn unit() -> impl TypedValueParser<Value = TimeUnit> {
    let names = TimeUnit::ALL.map(|unit| match unit {
        TimeUnit::Microseconds => PossibleValue::new(unit.as_str()).aliases(["µs", "μs"]),
        _ => PossibleValue::new(unit.as_str()),
    });
    PossibleValuesParser::new(names).try_map(|text| text.parse::<TimeUnit>())
}

/// A number of starts.
pub fn starts(text: &str) -> anyhow::Result<usize> {
    whole(text, MAX_STARTS)
}

/// A number of standbys.
pub fn standbys(text: &str) -> anyhow::Result<usize> {
    whole(text, MAX_STANDBYS)
}

fn whole(text: &str, most: usize) -> anyhow::Result<usize> {
    match text.parse() {
        Ok(count) if (1..=most).contains(&count) => Ok(count),
        _ => anyhow::bail!("expected a whole number from 1 to {most}"),
    }
}
