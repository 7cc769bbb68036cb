//! The pages that answer a question quote the kept results.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A kept result.
fn result(name: &str) -> Value {
    let path = root().join("docs/results/h200").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|_| panic!("{}", path.display()));
    serde_json::from_str(&text).expect("a document")
}

/// A number of a document, in thousandths of its unit.
fn milli(document: &Value, pointer: &str) -> f64 {
    let value = document.pointer(pointer).and_then(Value::as_f64);
    1e3 * value.unwrap_or_else(|| panic!("no number at {pointer}"))
}

/// The first and the steady time of a series of the lab, in milliseconds.
fn series(lab: &Value, experiment: [&str; 2], series: [&str; 2], at: &str) -> f64 {
    let [id, framework] = experiment;
    let [variant, name] = series;
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let experiments = list(lab, "experiments").into_iter().filter(|one| {
        one["id"] == id && one["framework"].as_str().unwrap_or_default() == framework
    });
    let found = experiments
        .filter(|one| one["device"] == "cuda")
        .flat_map(|one| list(&one, "series"))
        .filter(|one| one["variant"] == variant && one["name"] == name)
        .find(|one| one["size"].is_null() || one["size"] == 4 << 20);
    let found = found.unwrap_or_else(|| panic!("{id} has no {variant}, {name}"));
    milli(&found, at)
}

/// The seconds that a program of examples/first printed, line by line, and their digits after
/// the point.
fn printed(name: &str) -> Vec<(f64, usize)> {
    let path = root().join("docs/results/h200/first").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|_| panic!("{}", path.display()));
    let seconds = text.lines().map(|line| {
        let number = line
            .strip_suffix(" s")
            .and_then(|line| line.rsplit_once(": "));
        let number = number.unwrap_or_else(|| panic!("{line}")).1;
        let decimals = number.split_once('.').map_or(0, |(_, digits)| digits.len());
        (number.parse().expect("a number"), decimals)
    });
    seconds.collect()
}

/// The executions of the timed regions of a start, in the order in which the program prints
/// them.
fn executions(report: &Value, start: usize) -> Vec<f64> {
    let number = |value: &Value| value.as_f64().expect("a number");
    let regions = report["regions"].as_array().expect("regions");
    let mut found = Vec::new();
    for region in regions {
        found.push(number(&region["firsts"][start]));
        if region["count"] == 1 {
            continue;
        }
        // The iterations are the executions of this region.
        assert_eq!(regions.len(), 1);
        let iterations = report["starts"][start]["iterations"].as_array();
        let iterations = iterations.expect("iterations");
        assert_eq!(region["count"], iterations.len());
        found.extend(iterations[1..].iter().map(number));
    }
    found
}

#[test]
fn regions_of_every_start_have_the_times_that_the_program_printed() {
    let mut pairs = 0;
    let directory = root().join("docs/results/h200/first");
    for entry in fs::read_dir(directory).expect("the kept results") {
        let name = entry.expect("a file").file_name();
        let name = name.to_str().expect("a name");
        let Some(program) = name.strip_suffix(".txt").filter(|one| *one != "agreement") else {
            continue;
        };
        let printed = printed(name);
        let report = result(&format!("first/{program}.json"));
        let starts = report["starts"].as_array().expect("starts").len();
        let each = printed.len() / starts;
        assert!(each > 0 && printed.len() == each * starts, "{program}");
        for (start, printed) in printed.chunks(each).enumerate() {
            let found = executions(&report, start);
            assert_eq!(found.len(), each, "{program}, start {start}");
            for (found, (printed, decimals)) in found.iter().zip(printed) {
                let rounding = 0.5001 * 10f64.powi(-(*decimals as i32));
                assert!(
                    (found - printed).abs() <= 0.05 * found + rounding,
                    "{program}, start {start}: {found} s, and it printed {printed} s"
                );
                pairs += 1;
            }
        }
    }
    // Nine programs with five starts; all but one print two numbers.
    assert_eq!(pairs, 9 * 5 * 2 - 5);
}

/// The seconds of a cause, in milliseconds.
fn cause(region: &Value, causes: &str, name: &str) -> f64 {
    let all = region[causes].as_array().expect("causes");
    let of = all.iter().find(|one| one["cause"] == name);
    milli(of.unwrap_or_else(|| panic!("no {name}")), "/seconds")
}

/// The sentence of the evidence for a claim.
fn sentence(lab: &Value, id: u64, framework: Option<&str>) -> String {
    let claims = lab["claims"].as_array().expect("claims");
    let claim = claims.iter().find(|claim| claim["id"] == id);
    let evidence = claim.expect("the claim")["evidence"].as_array();
    let of = (evidence.expect("evidence").iter())
        .find(|one| one["device"] == "cuda" && one["framework"].as_str() == framework);
    let text = of.and_then(|one| one["sentence"].as_str());
    text.expect("a sentence").to_owned()
}

/// Checks that `page` contains `quoted`, and that its numbers are `values`, in this order and
/// rounded.
fn quotes(page: &str, quoted: &str, values: &[f64]) {
    contains(page, quoted);
    let plain = quoted.replace(',', "");
    let numbers: Vec<&str> = plain
        .split(|c: char| !c.is_ascii_digit() && c != '.')
        .map(|number| number.trim_matches('.'))
        .filter(|number| !number.is_empty())
        .collect();
    assert_eq!(numbers.len(), values.len(), "{quoted}: {values:?}");
    for (number, value) in numbers.iter().zip(values) {
        let decimals = number
            .split_once('.')
            .map_or(0, |(_, decimals)| decimals.len());
        let written: f64 = number.parse().expect("a number");
        // Two or three digits are written.
        let unit = match decimals {
            0 if number.ends_with('0') => 10.0,
            _ => 10f64.powi(-(decimals as i32)),
        };
        let distance = (written - value).abs();
        assert!(distance <= 0.5001 * unit, "{page}: `{quoted}`, but {value}");
    }
}

/// Checks that `page` contains `quoted`, wherever its lines are broken.
fn contains(page: &str, quoted: &str) {
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = fs::read_to_string(root().join("docs").join(page)).expect("a page");
    assert!(
        joined(&text).contains(&joined(quoted)),
        "{page} has no `{quoted}`"
    );
}

fn micro(milli: f64) -> f64 {
    1e3 * milli
}

#[test]
fn the_figures_of_allocations_are_those_of_the_results() {
    let page = "allocation-warm-up.md";
    let lab = result("lab-torch.json");
    let native = |id, variant, name, at| series(&lab, [id, ""], [variant, name], at);
    let torch = |id, variant, name, at| series(&lab, [id, "torch"], [variant, name], at);
    let (first, steady) = ("/first", "/steady");

    let allocate = result("first/allocate.json");
    let of = |at: &str| milli(&allocate, &format!("/regions/{at}"));
    let estimate = "first/estimate";
    quotes(
        page,
        "takes 141 ms (130–152), the second 0.11 ms",
        &[
            of(&format!("0/{estimate}")),
            of("0/first/low"),
            of("0/first/high"),
            of(&format!("1/{estimate}")),
        ],
    );
    let region = &allocate["regions"][0];
    quotes(
        page,
        "Of the 141 ms, 122 ms create the context, 12 ms are CPU time of PyTorch, 1.9 ms load",
        &[
            of("0/first/estimate"),
            cause(region, "causes", "context creation"),
            cause(region, "causes", "program's own CPU time"),
            cause(region, "causes", "kernel loading"),
        ],
    );
    quotes(
        page,
        "the allocation itself takes 0.1 ms",
        &[cause(region, "causes", "device allocation")],
    );
    let (ready, nothing) = (
        "allocate 4 MiB, context ready",
        "allocate 4 MiB, from nothing",
    );
    quotes(
        page,
        "| native: 4 MiB in a fresh process | 214 ms | 46 µs |",
        &[
            4.0,
            native("alloc", "", nothing, first),
            micro(native("alloc", "", nothing, steady)),
        ],
    );
    let (a, b) = (
        native("alloc", "", ready, first),
        native("alloc", "", ready, steady),
    );
    quotes(
        page,
        "| native: 4 MiB, context already there | 112 µs | 46 µs | 2.5×",
        &[4.0, micro(a), micro(b), a / b],
    );
    quotes(
        page,
        "| PyTorch `empty`, context already there | 445 µs | 13 µs |",
        &[ready].map(|name| ["/first", "/steady"].map(|at| micro(torch("alloc", "", name, at))))[0],
    );
    let randn = "randn 4 MiB, context ready";
    quotes(
        page,
        "| PyTorch `randn`, context already there | 2.6 ms | 25 µs |",
        &[
            torch("alloc", "randn", randn, first),
            micro(torch("alloc", "randn", randn, steady)),
        ],
    );
    let block = "allocate 1 GiB";
    let small = "allocate 4 MiB";
    quotes(
        page,
        "take 52 µs after 1 GiB was allocated and held, and 8.6 ms without it",
        &[
            micro(native("prealloc", "1 GiB held", small, first)),
            1.0,
            native("prealloc", "after nothing", small, first),
        ],
    );
    quotes(
        page,
        "the block takes 12 ms",
        &[native("prealloc", "1 GiB held", block, first)],
    );
    quotes(
        page,
        "118 µs against 462 µs, and the block takes 0.5 ms",
        &[
            micro(torch("prealloc", "1 GiB held", small, first)),
            micro(torch("prealloc", "after nothing", small, first)),
            torch("prealloc", "1 GiB held", block, first),
        ],
    );
    let (pageable, pinned) = ("host to device, pageable", "host to device, pinned");
    let pin = "pin host memory";
    quotes(
        page,
        "take 359 µs from pageable and 90 µs from pinned memory, and pinning them takes 1.2 ms",
        &[
            micro(native("transfer", "", pageable, steady)),
            micro(native("transfer", "", pinned, steady)),
            native("transfer", "", pin, steady),
        ],
    );
    quotes(
        page,
        "it is 436 µs, 107 µs and 2.3 ms",
        &[
            micro(torch("transfer", "", pageable, steady)),
            micro(torch("transfer", "", pinned, steady)),
            torch("transfer", "", pin, steady),
        ],
    );
}

#[test]
fn the_figures_of_iterations_are_those_of_the_results() {
    let page = "first-iteration.md";
    let lab = result("lab-torch.json");
    let torch = |id, variant, name| series(&lab, [id, "torch"], [variant, name], "/first");
    let train = result("first/train.json");
    let of = |at: &str| milli(&train, &format!("/regions/0/{at}"));
    quotes(
        page,
        "take 179 ms (155–207) and 2.5 ms: 72× (49–107×)",
        &[
            of("first/estimate"),
            of("first/low"),
            of("first/high"),
            of("second/estimate"),
            of("ratio/estimate") / 1e3,
            of("ratio/low") / 1e3,
            of("ratio/high") / 1e3,
        ],
    );
    let region = &train["regions"][0];
    quotes(
        page,
        "Of the 179 ms, 122 ms load kernels, 47 ms set up cuBLAS, 7 ms are CPU time of PyTorch, and \
         0.7 ms allocate",
        &[
            of("first/estimate"),
            cause(region, "causes", "kernel loading"),
            cause(region, "causes", "library set-up"),
            cause(region, "causes", "program's own CPU time"),
            cause(region, "causes", "device allocation"),
        ],
    );
    let steady = |id, variant, name| series(&lab, [id, "torch"], [variant, name], "/steady");
    let whole = steady("train", "model on the device", "iteration");
    quotes(page, "one takes about 0.5 ms", &[whole]);
    let forward = |name| steady("train-no-optimizer", "forward only", name);
    let autograd = forward("forward and backward") - forward("forward, not recording");
    quotes(
        page,
        "is 59 % of a steady iteration of this model with its optimizer (308 of 527 µs)",
        &[100.0 * autograd / whole, micro(autograd), micro(whole)],
    );
    let compiled = result("start-compiled.json");
    let of_variant = |at: usize, name: &str| {
        milli(&compiled, &format!("/variants/{at}/time_to_first/{name}")) / 1e3
    };
    let both = [1, 2].map(|at| ["value", "low", "high"].map(|name| of_variant(at, name)));
    quotes(
        page,
        "goes from 12.2 s (10.6–14.0) with empty caches to 5.8 s (4.8–7.0) with kept ones",
        &both.concat(),
    );
    assert_eq!(compiled["variants"][1]["against"], "caches");
    assert_eq!(compiled["variants"][2]["remedies"][0], "kept-caches");
    let initialized = milli(
        &result("first/train_initialized.json"),
        "/regions/0/first/estimate",
    );
    quotes(
        page,
        "`train_initialized.py` 189 ms, `train.py` 179 ms",
        &[initialized, of("first/estimate")],
    );
    quotes(
        page,
        "needs 3.7 s",
        &[milli(&train, "/time_to_first/estimate") / 1e3],
    );
    let device = "model on the device";
    for (row, experiment, variant) in [
        ("is moved inside the loop | 527 ms", "train", "from nothing"),
        ("is already on the device | 178 ms", "train", device),
        (
            "initialized the device first | 167 ms",
            "train-initialized",
            device,
        ),
    ] {
        quotes(page, row, &[torch(experiment, variant, "iteration")]);
    }
    let without = ["train-no-optimizer", "no optimizer, model on the device"];
    let without = torch(without[0], without[1], "iteration");
    quotes(page, "| no optimizer | 144 ms |", &[without]);
    let backward = result("first/backward.json");
    quotes(
        page,
        "it takes 187 ms, and the second 16.9 ms",
        &[
            milli(&backward, "/regions/0/first/estimate"),
            milli(&backward, "/regions/0/second/estimate"),
        ],
    );
    quotes(
        page,
        "of which 14.5 ms load kernels",
        &[cause(
            &backward["regions"][0],
            "second_causes",
            "kernel loading",
        )],
    );
    let predicted = (train["remedies"].as_array().into_iter().flatten())
        .find(|remedy| remedy["id"] == "warm-up")
        .map(|remedy| milli(remedy, "/later/seconds"));
    quotes(
        page,
        "predicts that one takes 177 ms off the first real iteration",
        &[predicted.expect("a prediction")],
    );
    let compared = result("compare-warm-up.json");
    let difference = (compared["quantities"].as_array().into_iter().flatten())
        .find(|quantity| quantity["id"] == "first")
        .map(|first| -milli(first, "/difference/value"));
    quotes(
        page,
        "of `train.py` and `train_warm.py` measures 141 ms",
        &[difference.expect("a first iteration")],
    );
}

#[test]
fn the_figures_of_inferences_are_those_of_the_results() {
    let page = "first-inference.md";
    let lab = result("lab-torch.json");
    let (first, steady) = ("/first", "/steady");
    let infer = result("first/infer.json");
    let of = |at: &str| milli(&infer, &format!("/regions/{at}"));
    quotes(
        page,
        "takes 222 ms (189–261) and the second 0.78 ms: 284× (246–327×)",
        &[
            of("0/first/estimate"),
            of("0/first/low"),
            of("0/first/high"),
            of("1/first/estimate"),
            of("1/repeats/ratio/estimate") / 1e3,
            of("1/repeats/ratio/low") / 1e3,
            of("1/repeats/ratio/high") / 1e3,
        ],
    );
    let memory = |at: &str| milli(&infer, at) / 1e3 / f64::from(1 << 20);
    quotes(
        page,
        "PyTorch needs 747 MiB for the network above: the context 527, kernels 102, libraries 64, \
         its own allocations 35 and what its allocator reserves beyond them 19",
        &[
            "total",
            "context",
            "kernels",
            "workspaces",
            "used",
            "reserved",
        ]
        .map(|part| memory(&format!("/memory/device/{part}"))),
    );
    let host =
        |at: &str| milli(&infer, &format!("/memory/host/first/{at}")) / 1e3 / f64::from(1 << 20);
    let part = |name: &str| {
        let parts = infer
            .pointer("/memory/host/first/parts")
            .and_then(Value::as_array);
        let at = parts.and_then(|parts| parts.iter().position(|part| part["use"] == name));
        host(&format!(
            "parts/{}/bytes",
            at.unwrap_or_else(|| panic!("no {name}"))
        ))
    };
    quotes(
        page,
        "795 MiB of host memory, of which 466 are libraries, 193 the driver and 99 Python modules",
        &[
            host("total"),
            part("libraries"),
            part("drivers"),
            part("modules"),
        ],
    );
    let jax = result("lab-jax.json");
    let device = |lab: &Value, framework, variant| {
        let bytes = series(lab, ["infer", framework], [variant, "device memory"], first) / 1e3;
        bytes / f64::from(1 << 20)
    };
    quotes(
        page,
        "its first inference takes 559 MiB of device memory",
        &[device(&lab, "", "mlp")],
    );
    quotes(
        page,
        "takes 719 MiB with PyTorch, 190 MiB of them even with the model on the device",
        &[
            device(&lab, "torch", "mlp"),
            device(&lab, "torch", "mlp, model on the device"),
        ],
    );
    assert_eq!(device(&lab, "", "mlp, model on the device"), 0.0);
    let preallocated = device(&jax, "jax", "mlp");
    let all = milli(&jax, "/device/memory") / 1e3 / f64::from(1 << 20);
    quotes(
        page,
        "JAX takes 106 GiB, because it preallocates 76 % of the",
        &[preallocated / 1024.0, 100.0 * preallocated / all],
    );
    // The verdicts have these numbers as text.
    let verdict = sentence(&lab, 17, None);
    for (quoted, found) in [
        (
            "61 % of the native excess is driver and context set-up",
            "driver and context 61 %",
        ),
        ("37 % kernels", "kernels 37 %"),
        ("2 % allocation", "allocation 2.3 %"),
        ("copies are below 0.1 %", "copies under 0.1 %"),
    ] {
        assert!(verdict.contains(found), "{verdict}");
        contains(page, quoted);
    }
    let verdict = sentence(&lab, 20, None);
    assert!(
        verdict.contains("145 ms for the larger MLP against 146 ms"),
        "{verdict}"
    );
    contains(
        page,
        "the excess is 145 ms for the larger native MLP and 146 ms for the small one",
    );
    let unet = |at: &str| {
        let variant = "unet, model on the device";
        series(
            &lab,
            ["infer", "torch"],
            [variant, "inference, resident input"],
            at,
        )
    };
    let ratio = |bound: &str| unet(&format!("/ratio/{bound}")) / 1e3;
    quotes(
        page,
        "PyTorch U-Net, model on the device | 247 ms | 1.09 ms | 226× (158–324×)",
        &[
            unet(first),
            unet(steady),
            ratio("estimate"),
            ratio("low"),
            ratio("high"),
        ],
    );
    let launch = result("first/launch.json");
    let launch = |at: &str| milli(&launch, &format!("/regions/0/{at}"));
    quotes(
        page,
        "353 µs | 10.9 µs (the second) | 32× (24–43×)",
        &[
            micro(launch("first/estimate")),
            micro(launch("second/estimate")),
            launch("ratio/estimate") / 1e3,
            launch("ratio/low") / 1e3,
            launch("ratio/high") / 1e3,
        ],
    );
    let (fresh, resident) = ("inference, fresh input", "inference, resident input");
    for (row, framework, variant, name) in [
        (
            "native MLP, from nothing | 353 ms | 54.1 µs | 6,530×",
            "",
            "mlp",
            fresh,
        ),
        (
            "native MLP, model on the device | 146 ms | 48.3 µs | 3,020×",
            "",
            "mlp, model on the device",
            resident,
        ),
        (
            "PyTorch MLP, from nothing | 369 ms | 140 µs | 2,630×",
            "torch",
            "mlp",
            fresh,
        ),
        (
            "PyTorch MLP, model on the device | 91.9 ms | 143 µs | 644×",
            "torch",
            "mlp, model on the device",
            resident,
        ),
    ] {
        let of = |at| series(&lab, ["infer", framework], [variant, name], at);
        quotes(
            page,
            row,
            &[of(first), micro(of(steady)), of("/ratio/estimate") / 1e3],
        );
    }
}
