//! Krun results: `{"wallclock_times": {"bench:vm:variant": [[…], …]}}`, in seconds.
//!
//! Each inner list is a process execution, that is, a start; a crashed one is empty. A
//! benchmark is delivered once it is read, since these files are large. Versions before
//! 2016 call the times `data`.

use preheat_model::classify::{Format, Measures};

use super::pull::Json;
use super::{Reading, own_unit, times};
use crate::Result;
use crate::starts::{Quota, Starts};

/// Reads the object with the times.
pub(super) fn read(json: &mut Json, reading: &mut Reading) -> Result<()> {
    own_unit(json, Format::Krun, reading.settings)?;
    let mut without = 0;
    json.object(|json, name| {
        let mut starts = Starts::default();
        let mut quota = Quota::default();
        json.array(|json, _| {
            starts.begin(&mut quota).map_err(|why| json.fail(why))?;
            times(json, &mut starts, 1.0, &mut quota)?;
            if starts.last_is_empty() {
                starts.end_crashed();
                return Ok(());
            }
            starts.mixed(reading.settings).map_err(|why| json.fail(why))
        })?;
        match starts.finish(name.to_owned(), Measures::Iterations, Vec::new()) {
            Some(times) => reading.deliver(json, Format::Krun, times),
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
