//! The items behind the causes, and the remedies.

use preheat_model::run::{
    Cause, FunctionReport, HostBytes, HostItem, HostMemory, HostPart, HostProcess, HostUse,
    Importer, Item, LaterSaving, Origin, Remedy,
};

use super::MIB;

/// Host memory by use.
pub fn host() -> HostMemory {
    let part = |usage: HostUse, mib: u64, items: &[(&str, u64)]| HostPart {
        usage,
        bytes: mib * MIB,
        items: items
            .iter()
            .map(|(name, mib)| HostItem {
                name: (*name).to_owned(),
                bytes: mib * MIB,
            })
            .collect(),
        items_in_all: items.len() as u64,
    };
    let at = |time: f64, program: u64| {
        let parts = vec![
            part(
                HostUse::Libraries,
                1840,
                &[("libtorch_cuda.so", 1240), ("libcublasLt.so.13", 600)],
            ),
            part(HostUse::Modules, 620, &[("torch", 500), ("sympy", 120)]),
            part(HostUse::Drivers, 410, &[("context creation", 410)]),
            part(HostUse::Program, program, &[("train.py:12 build", program)]),
            part(HostUse::Unexplained, 9, &[("not recorded", 9)]),
        ];
        let total = parts.iter().map(|part| part.bytes).sum();
        HostBytes {
            time,
            total,
            parts,
            processes: vec![HostProcess {
                process: 4711,
                name: "python3 (4711)".to_owned(),
                bytes: total,
            }],
        }
    };
    HostMemory {
        first: at(8.94, 260),
        peak: Some(at(10.2, 310)),
    }
}

/// The functions in the program's own CPU time.
pub fn functions(cause: Cause) -> Vec<FunctionReport> {
    let function = |function: &str, file: &str, line: u32, seconds: f64| FunctionReport {
        function: function.to_owned(),
        file: Some(file.to_owned()),
        line: Some(line),
        library: None,
        symbol: None,
        seconds,
        share: seconds / 8.94,
        samples: (seconds * 200.0) as u64,
    };
    match cause {
        Cause::OwnCpu => vec![
            FunctionReport {
                library: Some("/usr/lib/libblas.so.3".to_owned()),
                symbol: Some("dgemm_".to_owned()),
                ..function("load_weights", "/home/user/model.py", 88, 0.21)
            },
            function("tokenize", "/home/user/data.py", 12, 0.06),
        ],
        _ => vec![],
    }
}

/// The items of a cause.
pub fn items(cause: Cause) -> Vec<Item> {
    let item = |name: &str, detail: &str, seconds: f64, inclusive: f64, count: u64| Item {
        name: name.to_owned(),
        detail: detail.to_owned(),
        seconds,
        inclusive,
        count,
        ..Item::default()
    };
    let import = |name: &str, module: Option<&str>, line: Option<&str>, times: [f64; 2]| {
        let importer = Importer {
            module: module.map(str::to_owned),
            line: line.map(str::to_owned),
        };
        Item {
            origin: Some(Origin::Import(importer.clone())),
            ..item(name, &importer.sentence(), times[0], times[1], 1)
        }
    };
    match cause {
        Cause::PythonImports => vec![
            Item {
                waiting: Some(0.41),
                ..import("torch", None, Some("train.py:1"), [2.91, 3.41])
            },
            import(
                "torch._dynamo",
                Some("torch._compile inner:53"),
                Some("train.py:12"),
                [2.6, 4.2],
            ),
            import(
                "sympy",
                Some("torch.utils._sympy.functions:12"),
                None,
                [0.71, 0.78],
            ),
            import(
                "torch.fx.experimental.symbolic_shapes",
                Some("torch._dynamo.variables.builder:41"),
                Some("train.py:12"),
                [0.33, 0.4],
            ),
        ],
        Cause::LibraryLoading => vec![
            Item {
                bytes: Some(920 * MIB),
                waiting: Some(0.12),
                ..item("libtorch_cuda.so", "torch", 0.38, 0.38, 1)
            },
            item("libcublasLt.so.13", "libtorch_cuda.so", 0.09, 0.09, 1),
        ],
        Cause::KernelLoading => vec![Item {
            bytes: Some(31 * MIB),
            ..item("cuLibraryLoadData", "", 0.17, 0.17, 45)
        }],
        Cause::LibrarySetUp => vec![item("cublasCreate", "libcublas.so.13", 0.139, 0.139, 1)],
        Cause::ContextCreation => vec![item("cuDevicePrimaryCtxRetain", "", 0.128, 0.128, 1)],
        Cause::DriverInit => vec![item("cuInit", "", 0.101, 0.101, 1)],
        Cause::DeviceAllocation => vec![Item {
            bytes: Some(86 * MIB),
            ..item("cuMemAlloc", "", 0.0061, 0.0061, 6)
        }],
        _ => vec![],
    }
}

/// The remedies.
pub fn remedies() -> Vec<Remedy> {
    let remedy =
        |id: &str, title: &str, what: &str, saving, assumption: &str, causes: &[Cause]| Remedy {
            id: serde_json::from_value(id.into()).unwrap(),
            title: title.to_owned(),
            what: what.to_owned(),
            saving,
            saving_bytes: None,
            assumption: assumption.to_owned(),
            causes: causes.to_vec(),
            later: None,
            helps: true,
        };
    vec![
        remedy(
            "warm-parent",
            "Fork from a warm parent",
            "Keep a process that has imported everything and fork from it, as `preheat start` does.",
            7.4,
            "The imports are the same in every start, and none of them touches the device.",
            &[Cause::PythonImports, Cause::LibraryLoading],
        ),
        remedy(
            "avoidable-import",
            "Avoid the import of torch._dynamo",
            "torch.optim.SGD() imports it at train.py:12. Set TORCHDYNAMO_DISABLE=1 if nothing is \
             compiled.",
            4.2,
            "Nothing else in the program imports it.",
            &[Cause::PythonImports],
        ),
        Remedy {
            saving_bytes: Some(96 * MIB),
            ..remedy(
                "overlapped-init",
                "Start the driver while Python imports",
                "Call cuInit and create the primary context in a separate thread.",
                0.229,
                "A core is free during the imports.",
                &[Cause::DriverInit, Cause::ContextCreation],
            )
        },
        Remedy {
            later: Some(LaterSaving {
                of: "each copy".to_owned(),
                seconds: 0.0012,
                after: 8,
            }),
            ..remedy(
                "pinned-buffers",
                "Copy from page-locked memory",
                "60 copies of 16 MiB go to the device from pageable memory, 1.5 ms each. Locking \
                 16 MiB takes about 9 ms once and pays off after 8 copies.",
                0.0,
                "The data is produced in the locked buffer.",
                &[Cause::HostToDevice],
            )
        },
        Remedy {
            helps: false,
            ..remedy(
                "allocator",
                "Allocate device memory once",
                "6 calls allocate 86 MiB in 6.1 ms; one call takes about 140 µs.",
                0.0,
                "",
                &[Cause::DeviceAllocation],
            )
        },
    ]
}
