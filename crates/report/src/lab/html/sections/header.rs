//! The top of the page: the headline, notable observations, the device and the machine.

use preheat_model::lab::{LabReport, MeasuredDevice};

use crate::html::escape::escape;
use crate::html::page::facts;
use crate::lab::headline::Headline;
use crate::lab::overview::starts_of_each;
use crate::units::{bytes, tie};

/// Renders the header.
pub(in crate::lab::html) fn html(report: &LabReport, headline: &Headline) -> String {
    let mut html = format!(
        "<header>\n<p class=\"eyebrow\">preheat lab</p>\n<h1>{}.</h1>\n",
        escape(&headline.text)
    );
    if !headline.detail.is_empty() {
        html.push_str(&format!(
            "<p class=\"detail\">{}.</p>\n",
            escape(&headline.detail)
        ));
    }
    html.push_str(&format!(
        "<p class=\"run\">{}</p>\n",
        escape(&run(report).join(" · "))
    ));
    if let Some(why) = &report.settings.ended_early {
        html.push_str(&format!("<p class=\"warning\">{}</p>\n", escape(why)));
    }
    if !report.notable.is_empty() {
        let items: String = report
            .notable
            .iter()
            .map(|text| format!("<li>{}</li>", escape(&tie(text))))
            .collect();
        html.push_str(&format!(
            "<h2 class=\"small\">Notable on this machine</h2>\n<ul class=\"notable\">{items}</ul>\n"
        ));
    }
    html.push_str("<div class=\"facts\">\n");
    html.push_str(&device(&report.device));
    for other in &report.other_devices {
        html.push_str(&device(other));
    }
    html.push_str(&facts("machine", &report.machine.cpu, &machine(report)));
    html.push_str("</div>\n</header>\n");
    html
}

fn device(device: &MeasuredDevice) -> String {
    let mut rows = vec![
        ("driver".to_owned(), device.driver.clone()),
        ("memory".to_owned(), bytes(device.memory)),
    ];
    rows.extend(device.facts.iter().cloned());
    facts(&device.kind, &device.name, &rows)
}

fn machine(report: &LabReport) -> Vec<(String, String)> {
    let machine = &report.machine;
    let mut rows = vec![
        ("cores".to_owned(), machine.cores.to_string()),
        ("memory".to_owned(), bytes(machine.memory)),
        ("system".to_owned(), machine.os.clone()),
        ("kernel".to_owned(), machine.kernel.clone()),
    ];
    rows.extend(report.frameworks.iter().map(|framework| {
        let value = format!("{}, Python {}", framework.version, framework.python);
        (format!("{} on {}", framework.name, framework.device), value)
    }));
    rows
}

fn run(report: &LabReport) -> Vec<String> {
    let settings = &report.settings;
    let quick = if settings.quick { "quick, " } else { "" };
    vec![
        format!("{quick}{}", starts_of_each(report)),
        format!("seed {}", settings.seed),
        report.created.clone(),
        format!("preheat {}", report.preheat),
    ]
}
