//! The twenty claims of the made-up report, with every verdict among them.

use preheat_model::lab::{Basis, Claim, Evidence, ExperimentId, Verdict, names};
use preheat_model::stats::Estimate;

const TEXTS: [&str; 20] = [
    "The slow first allocation is one-time driver and context set-up, not allocation itself: with the context there, first and later allocations are of one order.",
    "Even with the context there, the very first allocation is slower than later ones (page tables).",
    "Timing without synchronizing misjudges GPU work.",
    "The first 4 MiB tensor in a fresh process takes far longer than the second.",
    "Emptying the cache makes the next allocation cold again.",
    "Copies from pinned memory are faster than from pageable memory.",
    "Pinning itself costs more than it saves for a single copy.",
    "A big preallocation makes later allocations cheaper — held.",
    "A big preallocation makes later allocations cheaper — released to the pool.",
    "The first training iteration is slower than the second, on the CPU too.",
    "Initializing the device before the loop removes part of the first iteration's excess, and not all of it.",
    "Without the optimizer the first iteration is still slower.",
    "Recording the graph costs only in the first iteration, later ones replay it.",
    "Kernel compilation happens once; later launches of the same kernel skip it.",
    "A filled compile cache removes compilation from the next process too.",
    "The first inference is slower than later ones, in each framework and in a direct kernel launch.",
    "The excess of the first inference is compilation, loading, allocation and transfer, not more arithmetic.",
    "The first inference consumes more memory than later ones.",
    "Keeping input on the device makes later inferences faster than sending it each time.",
    "The excess grows with the size of the model and the input.",
];

pub fn all() -> Vec<Claim> {
    TEXTS
        .into_iter()
        .enumerate()
        .map(|(index, text)| {
            let id = index as u8 + 1;
            let verdict = match id {
                8 | 13 => Verdict::DoesNotHold,
                7 | 19 => Verdict::Depends,
                2 => Verdict::Inconclusive,
                20 => Verdict::NotMeasurable,
                _ => Verdict::Holds,
            };
            Claim {
                id,
                text: text.to_owned(),
                verdict,
                sentence: sentence(verdict).to_owned(),
                evidence: evidence(verdict),
            }
        })
        .collect()
}

fn sentence(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => {
            "The first takes 252× a later one on cuda (95 % interval 234–267×), and 98× on the cpu."
        }
        Verdict::DoesNotHold => {
            "It makes no difference here: 1.02× with it, 95 % interval 0.98–1.06×."
        }
        Verdict::Depends => {
            "It holds natively on cuda and does not hold in torch, whose allocator keeps what it has."
        }
        Verdict::Inconclusive => {
            "The interval 0.94–1.31× spans the threshold of 1.1×: run more starts to decide."
        }
        Verdict::NotMeasurable => {
            "No experiment in this run measures it: it needs the variants mlp and mlp, large."
        }
    }
}

fn evidence(verdict: Verdict) -> Vec<Evidence> {
    let of = |device: &str, framework: Option<&str>, verdict, median: f64| Evidence {
        device: device.to_owned(),
        framework: framework.map(str::to_owned),
        verdict,
        quantity: "first ÷ steady".to_owned(),
        value: Estimate {
            value: median,
            low: Some(median * 0.93),
            high: Some(median * 1.06),
        },
        threshold: 1.1,
        sentence: "The first takes 230 ms, a steady one 51.2 µs.".to_owned(),
        basis: vec![Basis {
            experiment: ExperimentId::Train,
            variant: names::MODEL_ON_DEVICE.to_owned(),
            series: names::ITERATION.to_owned(),
            size: None,
            starts: 5,
        }],
        enough_starts: None,
    };
    match verdict {
        Verdict::NotMeasurable => vec![],
        Verdict::Depends => vec![
            of("cuda", None, Verdict::Holds, 252.0),
            of("cuda", Some("torch"), Verdict::DoesNotHold, 1.02),
        ],
        Verdict::Inconclusive => vec![Evidence {
            value: Estimate {
                value: 1.2,
                low: None,
                high: None,
            },
            enough_starts: Some(4),
            ..of("cuda", None, verdict, 1.2)
        }],
        _ => vec![
            of("cuda", None, verdict, 252.0),
            of("cpu", Some("torch"), verdict, 98.0),
        ],
    }
}
