//! Memory: the use of device and host memory, and all memory over time.

use maud::{Markup, html};
use preheat_model::run::{
    DeviceBytes, EndOfTime, HostBytes, HostMemory, HostUse, MemoryPoint, RunView,
};

use super::{RunPage, first_of};
use crate::html::bands::written;
use crate::html::figure::{Figure, Table, grid, key};
use crate::html::plot::Plot;
use crate::html::scale::{Axis, round_step, round_step_bytes};
use crate::html::svg::{Anchor, Point, Svg};
use crate::run::text::pinned;
use crate::units::{bytes, bytes_f64, duration, percent};

/// A line over time: its name, its class, and its value at a point.
type Line = (&'static str, &'static str, fn(&MemoryPoint) -> Option<u64>);

const DEVICE: [Line; 3] = [
    (
        "in use on the device, by any process",
        "m-device",
        |point| point.device,
    ),
    ("allocated by the program", "m-allocated", |point| {
        point.allocated
    }),
    ("used by tensors", "m-used", |point| point.used),
];
const HOST: [Line; 1] = [("resident", "m-resident", |point| point.resident)];

/// Adds the section.
pub(super) fn add(page: &mut RunPage, view: &RunView) {
    let memory = &page.report.memory;
    let device = memory
        .device
        .as_ref()
        .map(|device| device_breakdown(page, device));
    let host = memory.host.as_ref().map(|host| host_breakdown(page, host));
    let breakdowns: Vec<Markup> = device.into_iter().chain(host).collect();
    let figures: Vec<Markup> = [("On the device", &DEVICE[..]), ("On the host", &HOST)]
        .into_iter()
        .filter_map(|(title, lines)| over_time(page, view, title, lines))
        .collect();
    let mut lead = format!(
        "Peak host memory, the largest resident size of a process, was {}",
        bytes(memory.resident_peak)
    );
    if let Some(size) = pinned(memory.pinned) {
        let when = first_of(page.report);
        lead.push_str(&format!("; {} were page-locked at {when}", bytes(size)));
    }
    lead.push('.');
    if !view.iterations.is_empty() {
        lead.push_str(" Dotted lines mark iterations.");
    }
    let content = html! {
        @for breakdown in &breakdowns { (breakdown) }
        (grid(&figures))
    };
    page.section("memory", "Memory", &lead, content);
}

/// A part of memory: its class, name, explanation and bytes.
type MemoryPart = (&'static str, &'static str, &'static str, u64);

/// The parts of the device memory.
fn parts(device: &DeviceBytes) -> Vec<MemoryPart> {
    let parts = [
        (
            "m0",
            "context",
            "page tables, code and heaps of the context",
            device.context,
        ),
        (
            "m1",
            "kernels",
            "code, and memory allocated at the first use of kernels",
            device.kernels,
        ),
        ("m2", "allocated", "allocations in use", device.used),
        (
            "m3",
            "reserved by the allocator",
            "held by the framework's allocator, but not in use",
            device.reserved,
        ),
        (
            "m4",
            "libraries",
            "allocated by libraries",
            device.workspaces,
        ),
        (
            "m5",
            "other",
            "unaccounted for, including other processes on the device",
            device.other,
        ),
    ];
    parts.into_iter().filter(|part| part.3 > 0).collect()
}

fn device_breakdown(page: &mut RunPage, device: &DeviceBytes) -> Markup {
    let parts = parts(device);
    let mut data = Table::new(&["part", "bytes", "share", "description"]);
    data.words = vec![3];
    for (_, name, what, size) in &parts {
        data.rows.push(vec![
            (*name).to_owned(),
            bytes(*size),
            percent(*size as f64 / device.total.max(1) as f64),
            (*what).to_owned(),
        ]);
    }
    let title = format!("Device memory at {}", first_of(page.report));
    breakdown(page, title, device.total, &parts, data)
}

/// The color of a use of host memory.
fn class(usage: HostUse) -> &'static str {
    match usage {
        HostUse::Libraries => "m0",
        HostUse::Modules => "m1",
        HostUse::Drivers => "m4",
        HostUse::Program => "m2",
        HostUse::Files => "m3",
        HostUse::Shared => "m6",
        HostUse::Stacks => "m7",
        HostUse::Recorder => "m8",
        HostUse::Unexplained => "m5",
    }
}

fn host_breakdown(page: &mut RunPage, host: &HostMemory) -> Markup {
    /// So many items of a part are in the table.
    const ITEMS: usize = 5;
    let first = &host.first;
    let parts: Vec<MemoryPart> = (first.parts.iter())
        .map(|part| {
            let usage = part.usage;
            (class(usage), usage.name(), usage.explanation(), part.bytes)
        })
        .collect();
    let of = |host: &HostBytes, usage: HostUse| -> u64 {
        let same = host.parts.iter().find(|part| part.usage == usage);
        same.map_or(0, |part| part.bytes)
    };
    let mut data = Table::new(&[
        "part",
        "bytes",
        "share",
        "at the peak",
        "largest",
        "description",
    ]);
    data.words = vec![4, 5];
    for part in &first.parts {
        let items = part.items.iter().take(ITEMS);
        let items: Vec<String> = items
            .map(|item| format!("{} {}", item.name, bytes(item.bytes)))
            .collect();
        data.rows.push(vec![
            part.usage.name().to_owned(),
            bytes(part.bytes),
            percent(part.bytes as f64 / first.total.max(1) as f64),
            bytes(of(host.peak.as_ref().unwrap_or(first), part.usage)),
            items.join(", "),
            part.usage.explanation().to_owned(),
        ]);
    }
    let mut title = match page.report.iterations_by.end_of_time() {
        EndOfTime::Program => "Host memory at its peak".to_owned(),
        EndOfTime::FirstIteration => format!("Host memory at {}", first_of(page.report)),
    };
    if first.processes.len() > 1 {
        title.push_str(&format!(", of {} processes", first.processes.len()));
    }
    breakdown(page, title, first.total, &parts, data)
}

/// A bar of parts that add up to `all`, and a table.
fn breakdown(
    page: &mut RunPage,
    title: String,
    all: u64,
    parts: &[MemoryPart],
    data: Table,
) -> Markup {
    let total: f64 = parts.iter().map(|part| part.3 as f64).sum();
    if total <= 0.0 {
        return Markup::default();
    }
    let note = format!("{} in total", bytes(all));
    let draw = |width: f64| {
        let axis = Axis::from_zero(total, total, bytes_f64).over(0.0, width);
        let mut svg = Svg::new(width, 46.0);
        let mut sum = 0.0;
        for (class, name, what, size) in parts {
            let from = axis.at(sum);
            sum += *size as f64;
            let wide = axis.at(sum) - from;
            let number = bytes(*size);
            let say = format!("{name} {number}: {what}");
            svg.rect(
                &format!("bar {class}"),
                (from, 0.0),
                (wide.max(0.6), 44.0),
                &say,
            );
            let ink = format!("on-bar on-{class}");
            let middle = from + wide / 2.0;
            if written(name).max(written(&number)) + 8.0 <= wide {
                svg.text(&ink, Anchor::Middle, (middle, 19.0), name);
                svg.text(&ink, Anchor::Middle, (middle, 35.0), &number);
            } else if written(&number) + 8.0 <= wide {
                svg.text(&ink, Anchor::Middle, (middle, 27.0), &number);
            }
        }
        svg
    };
    let drawings = [("wide", 1000.0), ("narrow", 360.0)]
        .map(|(class, width)| draw(width).finish(&page.id(), class, &title, &note));
    let entries = parts.iter().map(|(class, name, _, _)| {
        html! { span class={ "square " (class) } aria-hidden="true" {} (name) }
    });
    let key = key(entries);
    Figure {
        title,
        note,
        key,
        drawings: drawings.to_vec(),
        data,
        ..Figure::default()
    }
    .html()
}

fn over_time(page: &mut RunPage, view: &RunView, title: &str, lines: &[Line]) -> Option<Markup> {
    let of = |line: &Line| -> Vec<Point> {
        let known = |point: &MemoryPoint| {
            let value = line.2(point)? as f64;
            point.time.is_finite().then_some((point.time, value))
        };
        steps(&view.memory.iter().filter_map(known).collect::<Vec<_>>())
    };
    let curves: Vec<(&Line, Vec<Point>)> = lines
        .iter()
        .map(|line| (line, of(line)))
        .filter(|(_, points)| points.len() > 1)
        .collect();
    let all = || curves.iter().flat_map(|(_, points)| points);
    let end = all().map(|(time, _)| *time).fold(view.until, f64::max);
    let most = all().map(|(_, size)| *size).fold(0.0, f64::max) * 1.08;
    if curves.is_empty() || most <= 0.0 {
        return None;
    }
    let x = Axis::from_zero(end, round_step(end, 6), duration);
    let y = Axis::from_zero(most, round_step_bytes(most, 5), bytes_f64);
    let mut plot = Plot::new(x, y, "time since exec", "bytes");
    for (begin, end) in &view.iterations {
        plot.upright("iteration-line", *begin);
        plot.upright("iteration-line", *end);
    }
    let mut legend = Vec::new();
    let mut data = Table::new(&["memory", "peak", "at the end"]);
    for ((name, class, _), points) in &curves {
        plot.bundle(class, std::slice::from_ref(points));
        legend.push((None, *class, (*name).to_owned()));
        let most = points.iter().map(|(_, size)| *size).fold(0.0, f64::max);
        let last = points.last().map_or(f64::NAN, |(_, size)| *size);
        data.rows
            .push(vec![(*name).to_owned(), bytes_f64(most), bytes_f64(last)]);
    }
    let note = data
        .rows
        .iter()
        .map(|row| format!("{}: peak {}", row[0], row[1]))
        .collect::<Vec<_>>()
        .join("; ");
    let figure = Figure {
        title: title.to_owned(),
        legend,
        drawings: vec![plot.finish(&page.id(), &format!("{title} over time"), &note)],
        data,
        ..Figure::default()
    };
    Some(figure.html())
}

/// Memory is constant between samples: adds the corners of such a line.
fn steps(points: &[Point]) -> Vec<Point> {
    let mut line: Vec<Point> = Vec::with_capacity(points.len() * 2);
    for point in points {
        if let Some(last) = line.last().copied()
            && last.1 != point.1
        {
            line.push((point.0, last.1));
        }
        line.push(*point);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_steps_has_corners() {
        assert_eq!(
            steps(&[(0.0, 1.0), (1.0, 1.0), (2.0, 5.0)]),
            [(0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (2.0, 5.0)]
        );
        assert_eq!(steps(&[]), []);
    }
}
