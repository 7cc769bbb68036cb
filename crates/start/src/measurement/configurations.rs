//! The configurations of a measurement.
//!
//! These are plain starts, each remedy alone, all remedies together and, if there are more
//! than two, all but each one. A remedy that only helps colder starts is measured alone,
//! against plain starts of the same temperature. A standby is measured alone: it is a
//! child of the warm parent, and has the driver initialized already.

use crate::{Remedies, Remedy};
use preheat_model::run::Temperature;

/// A configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Its remedies; none for plain starts.
    pub remedies: Remedies,
    /// The temperature of its starts.
    pub temperature: Temperature,
    /// The temperature of the plain starts that it is compared with.
    pub against: Temperature,
}

/// The temperature at which a remedy helps.
fn helps(remedy: Remedy) -> Temperature {
    match remedy {
        Remedy::Prefetch => Temperature::Disk,
        Remedy::KeptCaches => Temperature::Caches,
        _ => Temperature::Process,
    }
}

/// All configurations for these remedies, plain starts first.
pub fn configurations(applicable: &Remedies) -> Vec<Configuration> {
    let of = |against: Temperature| -> Remedies {
        let remedies = applicable.iter().copied();
        remedies
            .filter(|remedy| helps(*remedy) == against)
            .collect()
    };
    let configuration = |remedies: Remedies, against: Temperature| Configuration {
        // Decision caches are not emptied: that is the point of the remedy.
        temperature: match (remedies.is_empty(), against) {
            (false, Temperature::Caches) => Temperature::Process,
            _ => against,
        },
        remedies,
        against,
    };
    let mut configurations = vec![configuration(Remedies::new(), Temperature::Process)];
    let (standbys, usual): (Remedies, Remedies) = of(Temperature::Process)
        .into_iter()
        .partition(|remedy| remedy.form().is_some());
    for remedy in &usual {
        configurations.push(configuration(
            Remedies::from([*remedy]),
            Temperature::Process,
        ));
    }
    if usual.len() > 1 {
        configurations.push(configuration(usual.clone(), Temperature::Process));
    }
    if usual.len() > 2 {
        for remedy in &usual {
            let mut others = usual.clone();
            others.remove(remedy);
            configurations.push(configuration(others, Temperature::Process));
        }
    }
    for remedy in standbys {
        configurations.push(configuration(
            Remedies::from([remedy]),
            Temperature::Process,
        ));
    }
    for against in [Temperature::Disk, Temperature::Caches] {
        for remedy in of(against) {
            configurations.push(configuration(Remedies::new(), against));
            configurations.push(configuration(Remedies::from([remedy]), against));
        }
    }
    configurations
}

impl Configuration {
    /// The name of its directory.
    pub fn directory(&self) -> String {
        let cold = match self.against {
            Temperature::Process => "",
            Temperature::Disk => "-disk",
            Temperature::Caches => "-caches",
            Temperature::Bytecode => "-bytecode",
        };
        if self.remedies.is_empty() {
            return format!("plain{cold}");
        }
        let ids: Vec<&str> = self.remedies.iter().map(|remedy| remedy.id()).collect();
        ids.join("+")
    }

    /// The human-readable name.
    pub fn title(&self) -> String {
        if self.remedies.is_empty() {
            return "plain".to_owned();
        }
        let titles: Vec<String> = self.remedies.iter().map(|remedy| remedy.title()).collect();
        titles.join(" + ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directories(remedies: &[Remedy]) -> Vec<String> {
        let all = configurations(&remedies.iter().copied().collect());
        all.iter().map(Configuration::directory).collect()
    }

    #[test]
    fn remedies_are_measured_alone_and_together() {
        use Remedy::{LoaderThreads, OverlappedInit, WarmParent};
        assert_eq!(directories(&[WarmParent]), ["plain", "warm-parent"]);
        assert_eq!(
            directories(&[WarmParent, OverlappedInit]),
            [
                "plain",
                "warm-parent",
                "overlapped-init",
                "warm-parent+overlapped-init"
            ]
        );
        let three = directories(&[WarmParent, OverlappedInit, LoaderThreads]);
        assert_eq!(three.len(), 1 + 3 + 1 + 3);
        assert!(three.contains(&"warm-parent+loader-threads".to_owned()));
    }

    #[test]
    fn standbys_are_measured_by_themselves() {
        use Remedy::{LoaderThreads, StandbyHot, StandbyParked, WarmParent};
        assert_eq!(
            directories(&[WarmParent, StandbyParked, StandbyHot, LoaderThreads]),
            [
                "plain",
                "warm-parent",
                "loader-threads",
                "warm-parent+loader-threads",
                "standby-parked",
                "standby-hot"
            ]
        );
    }

    #[test]
    fn remedies_for_colder_starts_are_compared_with_colder_plain_starts() {
        let all = configurations(&Remedies::from([Remedy::Prefetch, Remedy::KeptCaches]));
        let names: Vec<String> = all.iter().map(Configuration::directory).collect();
        assert_eq!(
            names,
            [
                "plain",
                "plain-disk",
                "prefetch",
                "plain-caches",
                "kept-caches"
            ]
        );
        assert_eq!(all[2].temperature, Temperature::Disk);
        assert_eq!(all[4].temperature, Temperature::Process);
        assert_eq!(all[4].against, Temperature::Caches);
    }
}
