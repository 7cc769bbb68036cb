//! The names and arguments of spans in the trace.

use std::borrow::Cow;

use preheat_model::run::Cause;
use preheat_model::run::trace::{Process, Span, SpanKind, Usage, iteration_title};

use super::packets::Argument;

/// A span as shown in the trace.
pub(super) struct Shown<'a> {
    pub name: Cow<'a, str>,
    pub category: &'static str,
    pub arguments: Vec<Argument<'a>>,
}

/// Converts a span of `process`. Invalid references are skipped, since the recording may be
/// damaged.
pub(super) fn shown<'a>(process: &'a Process, span: &Span, cause: Option<Cause>) -> Shown<'a> {
    let at = span.detail as usize;
    let text = || process.texts.get(at).map_or("", String::as_str);
    let mut arguments = Vec::new();
    let mut kind = "";
    let name = match span.what {
        SpanKind::Import => {
            let import = process.imports.get(at);
            if let Some(import) = import {
                add(&mut arguments, "imported by", &import.importer);
                add(&mut arguments, "in function", &import.function);
                arguments.push(Argument::Number("at line", u64::from(import.line)));
                add(&mut arguments, "from", &import.main);
                failed(&mut arguments, import.failed);
                usage(&mut arguments, &import.usage);
            }
            match import {
                Some(import) => format!("import {}", import.name).into(),
                None => "import of unknown module".into(),
            }
        }
        SpanKind::Load => {
            let load = process.loads.get(at);
            if let Some(load) = load {
                add(&mut arguments, "path", &load.path);
                failed(&mut arguments, load.failed);
                usage(&mut arguments, &load.usage);
            }
            let path = load.map_or("", |load| &load.path);
            match path.rsplit('/').next().unwrap_or(path) {
                "" => "load of unknown library".into(),
                file => format!("load {file}").into(),
            }
        }
        SpanKind::Bytecode => {
            let made = process.bytecode.get(at);
            if let Some(made) = made {
                add(&mut arguments, "path", &made.path);
                usage(&mut arguments, &made.usage);
            }
            let path = made.map_or("", |made| &made.path);
            match path.rsplit('/').next().unwrap_or(path) {
                "" => "compile unknown".into(),
                file => format!("compile {file}").into(),
            }
        }
        SpanKind::Iteration(which) => {
            kind = "iteration";
            match (iteration_title(which), text()) {
                (title, "") => title.into(),
                (title, of) => format!("{title}: {of}").into(),
            }
        }
        SpanKind::Range => {
            kind = "range";
            let domain = process.texts.get(usize::from(span.symbol));
            add(&mut arguments, "domain", domain.map_or("", String::as_str));
            known(text())
        }
        SpanKind::Call
        | SpanKind::Heavy
        | SpanKind::Allocate
        | SpanKind::Free
        | SpanKind::Copy
        | SpanKind::Launch
        | SpanKind::Module
        | SpanKind::Lookup => {
            call(&mut arguments, process, span);
            known(process.symbol(span))
        }
    };
    Shown {
        name,
        category: cause.map_or(kind, Cause::as_str),
        arguments,
    }
}

/// Adds the arguments of a call.
fn call<'a>(arguments: &mut Vec<Argument<'a>>, process: &'a Process, span: &Span) {
    let at = span.detail as usize;
    let mut bytes = |size: Option<u64>| {
        if let Some(size) = size {
            arguments.push(Argument::Number("bytes", size));
        }
    };
    match span.what {
        SpanKind::Allocate => bytes(process.allocations.get(at).map(|made| made.bytes)),
        SpanKind::Copy => bytes(process.copies.get(at).map(|copy| copy.bytes)),
        SpanKind::Module => {
            let module = process.modules.get(at);
            bytes(module.map(|module| module.bytes).filter(|size| *size > 0));
            if let Some(module) = module {
                usage(arguments, &module.usage);
            }
        }
        SpanKind::Launch | SpanKind::Lookup => {
            let function = process.functions.get(at);
            add(
                arguments,
                "kernel",
                function.map_or("", |function| &function.name),
            );
        }
        SpanKind::Heavy => {
            if let Some(used) = process.usages.get(at) {
                usage(arguments, used);
            }
        }
        SpanKind::Call
        | SpanKind::Free
        | SpanKind::Import
        | SpanKind::Load
        | SpanKind::Bytecode
        | SpanKind::Iteration(_)
        | SpanKind::Range => {}
    }
}

/// The name, or `unknown`: Perfetto treats an empty name as missing.
fn known(name: &str) -> Cow<'_, str> {
    match name {
        "" => "unknown".into(),
        name => name.into(),
    }
}

/// Adds a text argument, unless it is empty.
fn add<'a>(arguments: &mut Vec<Argument<'a>>, name: &'static str, text: &'a str) {
    if !text.is_empty() {
        arguments.push(Argument::Text(name, text));
    }
}

fn failed(arguments: &mut Vec<Argument>, failed: bool) {
    if failed {
        arguments.push(Argument::Text("outcome", "failed"));
    }
}

fn usage(arguments: &mut Vec<Argument>, usage: &Usage) {
    for (name, number) in [
        ("CPU time in ns", usage.cpu),
        ("page faults from disk", u64::from(usage.major_faults)),
        ("bytes read from disk", usage.bytes_read),
    ] {
        if number > 0 {
            arguments.push(Argument::Number(name, number));
        }
    }
}
