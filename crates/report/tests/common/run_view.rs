//! A made-up view of a run: the start of a small PyTorch training on a GPU, whose optimizer
//! imports for seconds.

#![allow(dead_code, reason = "each test uses its own part")]

use preheat_model::run::{Bar, Cause, FlameNode, MemoryPoint, Row, RunView, Segment};

const MIB: u64 = 1 << 20;

/// The activity of the main thread: from, to, depth, cause (or `frame`), name, details.
const MAIN: &str = "\
0.0 | 0.031 | 0 | process start | exec |
0.031 | 0.06 | 0 | process start | Python's own start | 3.11.2
0.062 | 3.46 | 0 | Python imports | torch | train.py:1
0.09 | 0.31 | 1 | Python imports | numpy | torch.__init__:24
0.12 | 0.2 | 2 | Python imports | numpy._core._multiarray_umath | numpy._core:22
0.13 | 0.18 | 3 | library loading | libscipy_openblas64.so | 35 MiB
0.33 | 0.95 | 1 | Python imports | torch._C | torch.__init__:405
0.34 | 0.94 | 2 | library loading | libtorch_python.so | 24 MiB, 21 needed libraries
0.36 | 0.74 | 3 | library loading | libtorch_cuda.so | 920 MiB, 120 ms waiting
0.75 | 0.84 | 3 | library loading | libcublasLt.so.13 | 460 MiB
0.98 | 1.62 | 1 | Python imports | torch.nn | torch.__init__:1810
1.1 | 1.4 | 2 | Python imports | torch.nn.modules | torch.nn.__init__:8
1.65 | 2.31 | 1 | Python imports | torch.distributed | torch.__init__:1932
1.7 | 2.02 | 2 | Python imports | torch.distributed.rpc | torch.distributed:7
2.33 | 3.02 | 1 | Python imports | torch.quantization | torch.__init__:2003
2.4 | 2.88 | 2 | Python imports | torch.ao.quantization | torch.quantization:3
3.05 | 3.41 | 1 | Python imports | torch._library | torch.__init__:2101
3.5 | 3.72 | 0 | program's own CPU time | train.py | lines 3 to 11
3.52 | 3.621 | 1 | driver init | cuInit | torch.cuda.is_available, train.py:5
3.73 | 3.858 | 0 | context creation | cuDevicePrimaryCtxRetain | Linear.to, train.py:9
3.86 | 3.864 | 0 | device allocation | cuMemAlloc | 2 MiB
3.865 | 3.867 | 0 | host-to-device copy | cuMemcpyHtoDAsync | 440 B
3.9 | 8.1 | 0 | Python imports | torch._dynamo | torch._compile inner:53, from train.py:12
3.95 | 5.1 | 1 | Python imports | torch._dynamo.convert_frame | torch._dynamo:3
4.0 | 4.78 | 2 | Python imports | sympy | torch.utils._sympy.functions:12
4.1 | 4.4 | 3 | Python imports | sympy.core | sympy:30
5.12 | 6.64 | 1 | Python imports | torch._dynamo.variables | torch._dynamo.symbolic_convert:81
5.3 | 5.7 | 2 | Python imports | torch.fx.experimental.symbolic_shapes | torch._dynamo.variables.builder:41
6.7 | 7.9 | 1 | Python imports | torch._inductor | torch._dynamo.backends.inductor:7
6.8 | 7.5 | 2 | Python imports | triton | torch._inductor.runtime.hints:9
8.4 | 8.942 | 0 | frame | iteration 1 | step of SGD
8.4 | 8.61 | 1 | frame | Linear.forward |
8.41 | 8.552 | 2 | library set-up | cublasCreate | libcublas.so.13
8.43 | 8.5 | 3 | kernel loading | cuLibraryLoadData | 31 MiB, 45 of them
8.56 | 8.6 | 2 | kernel loading | first launch of gemmSN_TN_kernel |
8.62 | 8.86 | 1 | frame | backward | waits for pt_autograd_0
8.87 | 8.93 | 1 | frame | SGD.step |
8.88 | 8.92 | 2 | kernel loading | first launch of multi_tensor_apply_kernel |";

/// The activity of the thread that runs the backward pass.
const AUTOGRAD: &str = "\
8.625 | 8.855 | 0 | frame | backward |
8.63 | 8.74 | 1 | kernel loading | first launch of gemmSN_NN_kernel | 4 MiB
8.75 | 8.756 | 1 | device allocation | cuMemAlloc | 20 MiB
8.76 | 8.85 | 1 | kernel loading | first launch of mse_backward |";

/// Parses one of these lines.
#[derive(Clone, Copy)]
struct Span {
    begin: f64,
    end: f64,
    depth: u32,
    cause: Option<Cause>,
    label: &'static str,
    detail: &'static str,
}

fn spans(lines: &'static str) -> Vec<Span> {
    let span = |line: &'static str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        Span {
            begin: cells[0].parse().unwrap(),
            end: cells[1].parse().unwrap(),
            depth: cells[2].parse().unwrap(),
            cause: Cause::ALL
                .into_iter()
                .find(|cause| cause.as_str() == cells[3]),
            label: cells[4],
            detail: cells[5],
        }
    };
    lines.lines().map(span).collect()
}

/// The end of the first iteration.
const FIRST: f64 = 8.942;
const STEADY: f64 = 0.000758;

/// The view for the report of a training.
pub fn view() -> RunView {
    let iterations = vec![
        (8.4, FIRST),
        (FIRST, FIRST + STEADY),
        (FIRST + STEADY, FIRST + 2.0 * STEADY),
    ];
    RunView {
        start: 2,
        until: FIRST + 2.0 * STEADY,
        path: path(),
        iterations,
        rows: vec![row("main thread", MAIN), row("pt_autograd_0", AUTOGRAD)],
        imports: imports(),
        functions: vec![FlameNode {
            name: "main".to_owned(),
            detail: "train.py:40".to_owned(),
            begin: 0.0,
            seconds: 0.27,
            own: 0.06,
            children: vec![FlameNode {
                name: "load_weights".to_owned(),
                detail: "model.py:88".to_owned(),
                begin: 0.0,
                seconds: 0.21,
                own: 0.21,
                children: vec![],
            }],
        }],
        memory: memory(),
    }
}

/// The same view without the time from 5.12 s to 7.02 s.
pub fn shorter() -> RunView {
    const CUT: (f64, f64) = (5.12, 7.02);
    let moved = |time: f64| match time {
        time if time <= CUT.0 => time,
        time => (time - (CUT.1 - CUT.0)).max(CUT.0),
    };
    let mut view = view();
    view.until = moved(view.until);
    for part in &mut view.path {
        (part.begin, part.end) = (moved(part.begin), moved(part.end));
    }
    view.path.retain(|part| part.end > part.begin);
    for (begin, end) in &mut view.iterations {
        (*begin, *end) = (moved(*begin), moved(*end));
    }
    view.rows.clear();
    view
}

fn row(name: &str, lines: &'static str) -> Row {
    let bar = |span: Span| Bar {
        begin: span.begin,
        end: span.end,
        depth: span.depth,
        cause: span.cause,
        label: span.label.to_owned(),
        detail: span.detail.to_owned(),
        spans: if span.end - span.begin < 0.005 { 6 } else { 1 },
    };
    Row {
        name: name.to_owned(),
        process: "python train.py (4711)".to_owned(),
        bars: spans(lines).into_iter().map(bar).collect(),
    }
}

/// The innermost span of the main thread at each instant, with own CPU time in between.
fn path() -> Vec<Segment> {
    let (main, autograd) = (spans(MAIN), spans(AUTOGRAD));
    let mut edges: Vec<f64> = main
        .iter()
        .chain(&autograd)
        .flat_map(|span| [span.begin, span.end])
        .chain([0.0, FIRST + 2.0 * STEADY])
        .collect();
    edges.sort_by(f64::total_cmp);
    edges.dedup();
    let mut path: Vec<Segment> = Vec::new();
    for pair in edges.windows(2) {
        let innermost = |spans: &[Span]| {
            let inside = |span: &&Span| span.begin <= pair[0] && span.end >= pair[1];
            let causes = spans.iter().filter(|span| span.cause.is_some());
            causes.filter(inside).max_by_key(|span| span.depth).copied()
        };
        let (cause, label) = match innermost(&main).or_else(|| innermost(&autograd)) {
            Some(span) => (span.cause.unwrap_or(Cause::Unexplained), span.label),
            None if pair[0] >= FIRST => (Cause::SteadyWork, "iteration"),
            None if pair[0] < 0.1 => (Cause::Unexplained, ""),
            None => (Cause::OwnCpu, "train.py"),
        };
        match path.last_mut() {
            Some(last) if last.cause == cause && last.label == label => last.end = pair[1],
            _ => path.push(Segment {
                begin: pair[0],
                end: pair[1],
                cause,
                label: label.to_owned(),
            }),
        }
    }
    path
}

/// A tree of the import spans, with additional leaves.
fn imports() -> Vec<FlameNode> {
    let mut spans = spans(MAIN);
    spans.retain(|span| span.cause == Some(Cause::PythonImports));
    let children = below(&spans, 0.0, 10.0, 0);
    vec![FlameNode {
        name: "python train.py".to_owned(),
        seconds: children.iter().map(|child| child.seconds).sum(),
        children,
        ..FlameNode::default()
    }]
}

fn below(spans: &[Span], begin: f64, end: f64, depth: u32) -> Vec<FlameNode> {
    let inside = |span: &&Span| span.depth == depth && span.begin >= begin && span.end <= end;
    let node = |span: &Span| {
        let mut children = below(spans, span.begin, span.end, depth + 1);
        let inner: f64 = children.iter().map(|child| child.seconds).sum();
        let mut own = span.end - span.begin - inner;
        for (at, part) in ["_tensor", "overrides", "functional", "utils", "types"]
            .iter()
            .enumerate()
        {
            let seconds = own * (0.3 - at as f64 * 0.05);
            own -= seconds;
            children.push(FlameNode {
                name: format!("{}.{part}", span.label),
                detail: format!("{}:{}", span.label, 40 + at),
                begin: span.end - own,
                seconds,
                own: seconds,
                children: vec![],
            });
        }
        FlameNode {
            name: span.label.to_owned(),
            detail: span.detail.to_owned(),
            begin: span.begin,
            seconds: span.end - span.begin,
            own,
            children,
        }
    };
    spans.iter().filter(inside).map(node).collect()
}

fn memory() -> Vec<MemoryPoint> {
    let device = |time: f64| match time {
        t if t < 3.858 => None,
        t if t < 8.43 => Some(512 * MIB),
        t if t < 8.6 => Some((512.0 + (t - 8.43) * 1400.0) as u64 * MIB),
        _ => Some(835 * MIB),
    };
    (0..180)
        .map(|at| f64::from(at) * 0.05)
        .chain([FIRST, FIRST + STEADY, FIRST + 2.0 * STEADY])
        .map(|time| MemoryPoint {
            time,
            device: device(time),
            allocated: device(time).map(|_| if time < 8.7 { 2 * MIB } else { 86 * MIB }),
            used: device(time).map(|_| if time < 8.7 { MIB / 2 } else { 4 * MIB }),
            resident: Some(((time / FIRST).powf(0.7) * 3150.0) as u64 * MIB),
        })
        .collect()
}

/// The same view with names that try to inject markup.
pub fn hostile() -> RunView {
    let bad = "</script><script>alert(\"x\" & 'y')</script><!-- \u{1b}[31m\u{2028}\n";
    let mut view = view();
    for row in &mut view.rows {
        row.name = bad.to_owned();
        row.process = bad.to_owned();
        for bar in &mut row.bars {
            bar.label = bad.to_owned();
            bar.detail = bad.repeat(9);
        }
    }
    for part in &mut view.path {
        part.label = bad.to_owned();
    }
    for node in &mut view.imports {
        node.name = bad.to_owned();
        node.detail = bad.to_owned();
    }
    view
}

/// The same view with invalid times, ends before begins, and an empty row.
pub fn broken() -> RunView {
    let mut view = view();
    for (index, bar) in view
        .rows
        .iter_mut()
        .flat_map(|row| &mut row.bars)
        .enumerate()
    {
        match index % 4 {
            0 => bar.begin = f64::NAN,
            1 => std::mem::swap(&mut bar.begin, &mut bar.end),
            2 => bar.end = f64::INFINITY,
            _ => bar.depth = u32::MAX,
        }
    }
    view.path[1].end = f64::NAN;
    view.iterations[1].1 = f64::NAN;
    view.imports[0].children[0].seconds = f64::NAN;
    view.imports[0].children[1].seconds = 1e12;
    view.memory[3].time = f64::NAN;
    view.memory[4].device = Some(u64::MAX);
    view.rows.push(Row {
        name: "empty".to_owned(),
        process: String::new(),
        bars: vec![],
    });
    view
}

/// A view of the maximum size and beyond.
pub fn huge() -> RunView {
    let mut view = view();
    let until = view.until;
    for row in 0..12 {
        view.rows.push(Row {
            name: format!("worker {row}"),
            process: format!("python -m worker --number {row} (48{row:02})"),
            bars: (0..400)
                .map(|at| {
                    let begin = f64::from(at) / 400.0 * until;
                    Bar {
                        begin,
                        end: begin + until / 500.0,
                        depth: at as u32 % 9,
                        cause: Some(Cause::ALL[(at as usize + row) % Cause::ALL.len()]),
                        label: format!("at::native::vectorized_elementwise_kernel_{row}_{at}"),
                        detail: format!(
                            "imported by module_{row}.file_{at}:{at}, from train.py:12"
                        ),
                        spans: at as u64,
                    }
                })
                .collect(),
        });
    }
    view.path = (0..4000)
        .map(|at| Segment {
            begin: f64::from(at) / 4000.0 * until,
            end: f64::from(at + 1) / 4000.0 * until,
            cause: Cause::ALL[at as usize % Cause::ALL.len()],
            label: format!("libsomething_number_{at}.so.12"),
        })
        .collect();
    view.imports[0].children.extend((0..40).map(|package| {
        FlameNode {
            name: format!("package_{package}"),
            detail: format!("train.py:{package}"),
            begin: 0.0,
            seconds: 1.0,
            own: 0.1,
            children: (0..100)
                .map(|module| FlameNode {
                    name: format!("package_{package}.some.long.module_name_{module}"),
                    detail: format!("package_{package}.__init__:{module}, from train.py:{package}"),
                    begin: 0.0,
                    seconds: 0.009,
                    own: 0.009,
                    children: vec![],
                })
                .collect(),
        }
    }));
    view.imports[0].seconds += 40.0;
    view
}
