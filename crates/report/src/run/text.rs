//! Texts shared by the terminal and the page: functions, starts, intervals, short names of
//! causes, and the class of the iterations.

use preheat_model::run::trace::Clock;
use preheat_model::run::{
    AfterReading, AroundReport, CauseSeconds, EndOfTime, FunctionReport, HostMemory, IterationUnit,
    IterationsBy, NO_REPETITION, RegionReport, RepeatReport, RunReport, Temperature,
    TemperatureReport, Unfinished,
};
use preheat_model::stats::{Class, Consistency, Estimate, MUCH_SLOWER};

use crate::units::{
    self, counted, duration, duration_span, number, ratio, too_wide, with_interval,
};

/// Waiting below this share of an item's time is not shown.
const SHOWN_WAITING: f64 = 0.05;
/// Less page-locked memory is not shown: it belongs to libraries.
const PINNED: u64 = 1 << 20;
/// A ratio to a steady iteration below this counts as faster.
const FASTER: f64 = 0.9;

/// A function and its location: `hot (train.py:12)`, `train (train.py:3), in libblas.so.3
/// dgemm_`, `burn (burn.c:4), in a.out`, `libfoo.so`.
pub(crate) fn function(function: &FunctionReport) -> String {
    let last = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let mut words = function.function.clone();
    match (&function.file, function.line) {
        (Some(file), Some(line)) => words.push_str(&format!(" ({}:{line})", last(file))),
        (Some(file), None) => words.push_str(&format!(" ({})", last(file))),
        (None, _) => {}
    }
    if let Some(library) = &function.library {
        let symbol = function.symbol.as_deref().unwrap_or("");
        let comma = if words.is_empty() { "" } else { ", in " };
        words.push_str(&format!("{comma}{} {symbol}", last(library)));
    }
    words.trim_end().to_owned()
}

/// `5 starts`, with the number of counted ones if the first is reported separately.
pub(crate) fn starts(report: &RunReport) -> String {
    let all = counted(report.starts.len(), "start");
    match report.counted_starts {
        0 => all,
        some if some == report.starts.len() || report.ladder.len() > 1 => all,
        some => format!("{all}, {some} counted"),
    }
}

/// The bounds of a duration's interval in readable units: `8.71–9.20 s`.
pub(crate) fn time_span(interval: &Estimate) -> Option<String> {
    duration_span(interval.value, interval.low, interval.high)
}

/// The bounds of a ratio's interval: `172–260×`.
pub(crate) fn ratio_span(interval: &Estimate) -> Option<String> {
    units::ratio_span(interval.low, interval.high)
}

/// A duration with its interval: `189 ms (180–199 ms)`.
pub(crate) fn time(interval: &Estimate) -> String {
    let wide = too_wide(interval.low, interval.high);
    let bounds = time_span(interval);
    with_interval(&duration(interval.value), bounds.as_deref(), wide)
}

/// The waiting time of an item, if it is large enough to show.
pub(crate) fn waited(waiting: Option<f64>, seconds: f64) -> Option<f64> {
    waiting.filter(|waiting| *waiting >= SHOWN_WAITING * seconds.max(f64::MIN_POSITIVE))
}

/// The name of peak host memory beside a list of uses. That is of all processes together, and
/// the peak is that of the largest process, so it may be smaller.
pub(crate) fn peak_name(host: &HostMemory) -> &'static str {
    match host.first.processes.len() {
        0 | 1 => "peak",
        _ => "peak of one process",
    }
}

/// Page-locked memory, if it is large enough to show.
pub(crate) fn pinned(bytes: u64) -> Option<u64> {
    (bytes >= PINNED).then_some(bytes)
}

/// The number of iterations that usually suffices for a steady state.
const FOR_STEADY: usize = 10;

/// The name of the time to first, or to the end of a program in which nothing repeats.
pub(crate) fn time_name(report: &RunReport) -> &'static str {
    match report.iterations_by.end_of_time() {
        EndOfTime::FirstIteration => "time to first",
        EndOfTime::Program => "time to end",
    }
}

/// A note that there is no steady iteration to compare with, if there are too few.
pub(crate) fn too_few(report: &RunReport) -> Option<String> {
    let most = report.starts.iter().map(|start| start.iterations.len());
    let most = most.max().unwrap_or(0);
    let unsettled = matches!(report.class, None | Some(Class::NoSteadyState));
    match (report.iterations_by, most) {
        (IterationsBy::None, _) => None,
        _ if !unsettled || report.steady.is_some() => None,
        (_, 1) => Some(match report.other_threads.len() {
            0 => "one iteration: nothing to compare it with".to_owned(),
            others => format!(
                "one iteration in each of {} threads: they are not compared",
                others + 1
            ),
        }),
        (_, 2..FOR_STEADY) => {
            let mut text = format!("{most} iterations; a steady state needs more");
            if let Some(best) = report.best.filter(|_| most > 2) {
                text.push_str(&format!("; fastest {}", duration(best.value)));
            }
            Some(text)
        }
        (_, _) if report.class.is_none() => Some("too few to classify".to_owned()),
        _ => None,
    }
}

/// A note that the first iteration is not compared with later ones, if its begin is unknown.
pub(crate) fn unknown_begin(report: &RunReport) -> Option<&'static str> {
    let steps = report.unit == Some(IterationUnit::OptimizerStep);
    (steps && !report.compares_first())
        .then_some("not compared with the first, whose beginning is unknown")
}

/// A single call or step of the program, if nothing repeats: `Linear was called once; nothing repeats`.
pub(crate) fn done_once(report: &RunReport) -> Option<&str> {
    let text = Some(&*report.iteration).filter(|text| !text.is_empty() && *text != NO_REPETITION);
    text.filter(|_| report.iterations_by == IterationsBy::None)
}

/// The regions after the first of a program without repetitions, in order; or the calls of
/// models after the first.
pub(crate) fn in_order(report: &RunReport) -> Option<String> {
    /// The maximum number of regions to name.
    const MAX_NAMES: usize = 3;
    let models = report.unit == Some(IterationUnit::Models);
    let once = |region: &&RegionReport| (models || region.clock.is_some()) && region.count == 1;
    let regions: Vec<&RegionReport> = report.regions.iter().filter(once).collect();
    let (first, others) = regions.split_first()?;
    // A region from the same line to a later one contains the first.
    let contains = |region: &RegionReport| {
        let begin = (&region.file, region.from) == (&first.file, first.from);
        region.from.is_some() && begin && region.to > first.to
    };
    let others = others.iter().filter(|region| !contains(region));
    let others: Vec<&RegionReport> = others.copied().collect();
    let alone = (models || report.iterations_by == IterationsBy::Timers)
        && report.second.is_none()
        && report.steady.is_none();
    if !alone || others.is_empty() || regions.len() < report.regions.len() {
        return None;
    }
    let mut words: Vec<String> = (others.iter().take(MAX_NAMES))
        .map(|region| format!("{} ({})", duration(region.first.value), region.name))
        .collect();
    if others.len() > MAX_NAMES {
        words.push(format!("{} more", others.len() - MAX_NAMES));
    }
    Some(format!("{}, then {}", first.name, words.join(", ")))
}

/// The behavior of the iterations, and a remark if the program times them with another clock;
/// empty if unknown.
pub(crate) fn shape(report: &RunReport) -> String {
    match behavior(report) {
        text if text.is_empty() => text,
        text => text + other_clock(report),
    }
}

/// A remark on times of another clock than the program reads; empty if it is the same.
pub(crate) fn other_clock(report: &RunReport) -> &'static str {
    match reads_cpu_time(report) {
        true => "; wall-clock time, but the program reads CPU time",
        false => "",
    }
}

/// Returns true if the program times its iterations with a clock of CPU time.
fn reads_cpu_time(report: &RunReport) -> bool {
    let mut timed = report.regions.iter().filter(|region| region.iterates);
    timed.any(|region| region.clock.is_some_and(|clock| clock.is_cpu_time()))
}

fn behavior(report: &RunReport) -> String {
    if let Some(why) = too_few(report) {
        return why;
    }
    let Some(class) = report.class else {
        return String::new();
    };
    let faster = match (report.ratio, report.first, report.steady) {
        (Some(ratio), ..) => ratio.value < FASTER,
        (None, Some(first), Some(steady)) => first < FASTER * steady,
        _ => false,
    };
    let slower = report.ratio.is_some_and(|ratio| ratio.value >= MUCH_SLOWER);
    let meaning = match class {
        Class::Flat if slower => "some later iterations are as slow as the first".to_owned(),
        Class::Flat if faster => "the first is faster than the others".to_owned(),
        Class::Flat => "the first is like the others".to_owned(),
        Class::ColdFirst => "only the first is slow".to_owned(),
        Class::Warmup => match (report.warmup, report.excess) {
            (Some(1.0), Some(excess)) => {
                // The excess is a mean over the starts, first and steady have other means: the
                // numbers beside each other have to add up.
                let beyond = report.first.zip(report.steady).map(|(a, b)| a - b);
                let beyond = beyond.filter(|beyond| *beyond > 0.0).unwrap_or(excess);
                format!(
                    "1 iteration costs {} more than a steady one",
                    duration(beyond)
                )
            }
            (Some(count), Some(excess)) => format!(
                "{} iterations cost {} more than steady ones",
                number(count),
                duration(excess)
            ),
            _ => "several are slow at first".to_owned(),
        },
        Class::Slowdown => "iterations get slower".to_owned(),
        Class::NoSteadyState => "iterations do not settle".to_owned(),
    };
    let differ = match report.consistency {
        None | Some(Consistency::Consistent) => "",
        Some(_) => "; not in every start",
    };
    format!("{}: {meaning}{differ}", class.as_str())
}

/// The largest causes of a region as a list; the rest are counted.
pub(crate) fn causes_listed(causes: &[CauseSeconds]) -> String {
    const MAX_NAMES: usize = 4;
    let mut parts = causes.to_vec();
    parts.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let part = |part: &CauseSeconds| format!("{} {}", part.cause.as_str(), duration(part.seconds));
    let mut words: Vec<String> = parts.iter().take(MAX_NAMES).map(part).collect();
    match &parts[MAX_NAMES.min(parts.len())..] {
        [] => {}
        [one] => words.push(part(one)),
        rest => {
            let seconds: f64 = rest.iter().map(|part| part.seconds).sum();
            words.push(format!("{} others {}", rest.len(), duration(seconds)));
        }
    }
    words.join(", ")
}

/// The first execution of a region in the first start, in seconds, if that start does not
/// count and differs noticeably from the others. Its output is the one people see.
pub(crate) fn first_start(region: &RegionReport) -> Option<f64> {
    /// The smallest relative difference worth a mention.
    const NOTICEABLE: f64 = 0.05;
    let seconds = (*region.firsts.first()?)?;
    let noticeable = (seconds / region.first.value - 1.0).abs() > NOTICEABLE;
    (region.firsts.len() > 1 && noticeable).then_some(seconds)
}

/// The regions that the program times itself, and the levels above the iterations.
pub(crate) fn timed_and_levels(report: &RunReport) -> (Vec<&RegionReport>, Vec<&RegionReport>) {
    let all = report.regions.iter();
    all.partition(|region| region.clock.is_some())
}

/// The relation of a region to an earlier one with the same code:
/// `second time: infer.py:17–19 took 311× as long`.
pub(crate) fn repeated(repeats: &RepeatReport) -> String {
    let which = match repeats.position {
        2 => "second time".to_owned(),
        3 => "third time".to_owned(),
        other => format!("time {other}"),
    };
    match repeats.ratio {
        Some(times) => format!(
            "{which}: {} took {} as long",
            repeats.first,
            ratio(times.value)
        ),
        None => format!("{which}, first at {}", repeats.first),
    }
}

/// The text with a capital letter.
pub(crate) fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase());
    first.into_iter().flatten().chain(letters).collect()
}

/// Device work that a region did not wait for, as a sentence.
pub(crate) fn unfinished_sentence(unfinished: &Unfinished, clock: Option<Clock>) -> String {
    let kernels = counted(
        usize::try_from(unfinished.launches).unwrap_or(usize::MAX),
        "kernel",
    );
    let more = match (unfinished.seconds, unfinished.then) {
        (Some(bound), Some(AfterReading::Later)) => {
            format!("; the device needed at most {} more", duration(bound))
        }
        (Some(seconds), _) => format!("; the device needed {} more", duration(seconds)),
        (None, Some(AfterReading::Never)) if clock.is_some_and(Clock::is_native) => {
            "; the program never waits for the device: a synchronization before the reading would \
             show how long they ran"
                .to_owned()
        }
        (None, Some(AfterReading::Never)) => {
            "; the program never waits for the device, so only --synchronize shows how long they ran"
                .to_owned()
        }
        (None, _) => String::new(),
    };
    format!("Not synchronized: the clock was read without waiting for {kernels}{more}.")
}

/// The time of a region that lies outside the first iteration, as a sentence.
pub(crate) fn around_sentence(around: &AroundReport, first: Option<f64>) -> String {
    let first = first.map_or(String::new(), |first| format!(" ({})", duration(first)));
    let causes = match around.causes.is_empty() {
        true => String::new(),
        false => format!(": {}", causes_listed(&around.causes)),
    };
    format!(
        "{} of it is outside the first iteration{first}{causes}.",
        duration(around.seconds)
    )
}

/// The definition of a region, and why the numbers of the very first start differ, if a
/// region shows them.
pub(crate) fn about_regions(regions: &[&RegionReport]) -> String {
    let mut about = "between two clock readings in its own code".to_owned();
    if regions.iter().any(|region| first_start(region).is_some()) {
        about.push_str(
            "; the very first start may find cold files and caches: a single run prints its numbers",
        );
    }
    about
}

/// A description of a temperature. None includes another.
pub(crate) fn temperature(temperature: Temperature) -> &'static str {
    match temperature {
        Temperature::Process => "a fresh process",
        Temperature::Disk => "its files evicted from the page cache",
        Temperature::Caches => "compile caches empty",
        Temperature::Bytecode => "no Python bytecode",
    }
}

/// The temperatures, slowest first.
pub(crate) fn slowest_first(report: &RunReport) -> Vec<&TemperatureReport> {
    let mut levels: Vec<_> = report.ladder.iter().collect();
    levels.sort_by(|a, b| (b.time_to_first.value).total_cmp(&a.time_to_first.value));
    levels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;
    use preheat_model::run::ThreadReport;

    fn interval(median: f64, low: f64, high: f64) -> Estimate {
        Estimate {
            value: median,
            low: Some(low),
            high: Some(high),
        }
    }

    #[test]
    fn ends_have_the_unit_of_the_median() {
        assert_eq!(
            time_span(&interval(8.94, 8.71, 9.2)).unwrap(),
            "8.71–9.20 s"
        );
        assert_eq!(time_span(&interval(0.9, 0.8, 1.1)).unwrap(), "800–1100 ms");
        assert_eq!(
            time_span(&interval(240.0, 180.0, 300.0)).unwrap(),
            "3.00–5.00 min"
        );
        assert_eq!(time_span(&interval(f64::NAN, 1.0, 2.0)), None);
        let open = Estimate {
            low: None,
            ..interval(1.0, 1.0, 2.0)
        };
        assert_eq!(time_span(&open), None);
    }

    #[test]
    fn small_amounts_are_not_shown() {
        assert_eq!(waited(Some(0.004), 1.0), None);
        assert_eq!(waited(Some(0.06), 1.0), Some(0.06));
        assert_eq!(waited(Some(0.0), 0.0), None);
        assert_eq!(waited(Some(f64::NAN), 1.0), None);
        assert_eq!(pinned(4), None);
        assert_eq!(pinned(2 << 20), Some(2 << 20));
    }

    #[test]
    fn a_warm_up_shows_its_cost() {
        let mut report = run::report();
        report.class = Some(Class::Warmup);
        report.warmup = Some(5.0);
        report.consistency = Some(Consistency::GoodInconsistent);
        assert_eq!(
            shape(&report),
            "warmup: 5 iterations cost 541 ms more than steady ones; not in every start"
        );
        // A single one costs the difference of the numbers beside it.
        report.warmup = Some(1.0);
        (report.first, report.steady) = (Some(2.71e-3), Some(1.84e-3));
        report.excess = Some(4.17e-3);
        let text = shape(&report);
        assert!(
            text.starts_with("warmup: 1 iteration costs 870 µs more"),
            "{text}"
        );
    }

    #[test]
    fn iterations_that_are_timed_in_cpu_time_are_marked() {
        let mut report = run::twice();
        let remark = "; wall-clock time, but the program reads CPU time";
        report.regions[0].iterates = true;
        assert!(!shape(&report).ends_with(remark));
        report.regions[0].clock = Some(Clock::ProcessTime);
        assert!(shape(&report).ends_with(remark), "{}", shape(&report));
    }

    #[test]
    fn a_first_that_is_faster_is_not_like_the_others() {
        let mut report = run::report();
        report.class = Some(Class::Flat);
        report.ratio = Some(interval(1.01, 0.9, 1.1));
        assert_eq!(shape(&report), "flat: the first is like the others");
        report.ratio = Some(interval(0.84, 0.8, 0.9));
        assert_eq!(shape(&report), "flat: the first is faster than the others");
        report.ratio = Some(interval(31.9, 0.9, 900.0));
        assert_eq!(
            shape(&report),
            "flat: some later iterations are as slow as the first"
        );
    }

    #[test]
    fn too_few_iterations_are_reported() {
        let mut report = run::report();
        report.steady = None;
        report.ratio = None;
        for (class, count, words) in [
            (None, 1, "one iteration: nothing to compare it with"),
            (
                Some(Class::NoSteadyState),
                1,
                "one iteration: nothing to compare it with",
            ),
            (
                Some(Class::NoSteadyState),
                2,
                "2 iterations; a steady state needs more",
            ),
            (
                Some(Class::NoSteadyState),
                5,
                "5 iterations; a steady state needs more; fastest 730 µs",
            ),
            (None, 12, "too few to classify"),
            (
                Some(Class::NoSteadyState),
                12,
                "no steady state: iterations do not settle",
            ),
        ] {
            report.class = class;
            for start in &mut report.starts {
                start.iterations = vec![0.5; count];
            }
            assert!(shape(&report).ends_with(words), "{}", shape(&report));
        }
        assert_eq!(shape(&run::bare()), "");
        let mut threads = run::report();
        (threads.steady, threads.class) = (None, None);
        for start in &mut threads.starts {
            start.iterations = vec![0.5];
        }
        threads.other_threads = vec![ThreadReport {
            process: 1,
            name: "worker".to_owned(),
            iterations: 1,
            time_to_first: 1.0,
        }];
        let words = "one iteration in each of 2 threads: they are not compared";
        assert_eq!(shape(&threads), words);
    }
}
