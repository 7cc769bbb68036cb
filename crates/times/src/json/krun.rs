//! Results of Krun: `{"wallclock_times": {"bench:vm:variant": [[…], …]}}`, in seconds.
//!
//! Each inner list is a process execution, a start; one that crashed is empty. A benchmark
//! is handed over as soon as it is read: such files are large. Versions before 2016 call the
//! times `data`.

use preheat_analyze::classify::{Format, Measures};

use super::pull::Json;
use super::{Reading, own_unit, times};
use crate::Result;
use crate::held::Held;
use crate::starts::Starts;

/// The object of times.
pub(super) fn read(json: &mut Json, reading: &mut Reading) -> Result<()> {
    own_unit(json, Format::Krun, reading.settings)?;
    let mut without = 0;
    json.object(|json, name| {
        let mut starts = Starts::default();
        let mut held = Held::default();
        json.array(|json, _| {
            starts.begin(&mut held).map_err(|why| json.fail(why))?;
            times(json, &mut starts, 1.0, &mut held)?;
            if starts.last_is_empty() {
                starts.end_crashed();
                return Ok(());
            }
            starts.mixed(reading.settings).map_err(|why| json.fail(why))
        })?;
        match starts.finish(name.to_owned(), Measures::Iterations, Vec::new()) {
            Some(times) => reading.give(json, Format::Krun, times),
            None => {
                without += 1;
                Ok(())
            }
        }
    })?;
    match without {
        0 => {}
        1 => reading
            .notes
            .add(|| "1 benchmark has no start that completed".to_owned()),
        n => reading
            .notes
            .add(|| format!("{n} benchmarks have no start that completed")),
    }
    Ok(())
}
