// Shared by the charts: the data, elements, and the format of numbers. Times are in
// microseconds. Text is always inserted as text, never as markup.

const view = JSON.parse(document.getElementById("view").textContent);
const space = document.querySelector("svg").namespaceURI;

function shape(name, attributes, text) {
  const made = document.createElementNS(space, name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  return made;
}

function element(name, attributes, ...inside) {
  const made = document.createElement(name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  made.append(...inside);
  return made;
}

// Formats a duration with three digits and its unit, as in the rest of the page.
function duration(micros) {
  if (!Number.isFinite(micros)) return "–";
  if (micros === 0) return "0 s";
  const units = [[1e-3, "ns"], [1, "µs"], [1e3, "ms"], [1e6, "s"], [6e7, "min"]];
  for (const [scale, unit] of units) {
    const value = Number((micros / scale).toPrecision(3));
    if (Math.abs(value) < (unit === "s" ? 119.5 : 1000) || unit === "min") return value + " " + unit;
  }
}

function percent(share) {
  if (!Number.isFinite(share)) return "–";
  if (share >= 0.0995) return Math.round(share * 100) + " %";
  return share >= 0.001 ? (share * 100).toFixed(1) + " %" : "< 0.1 %";
}

// A round step of an axis: 1, 2 or 5 times a power of ten.
function roundStep(span, count) {
  const rough = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map(step => step * power).find(step => step >= rough) || rough;
}

// The first name that is approximately narrow enough; otherwise the last one, truncated.
function fitting(names, width, each) {
  const most = Math.floor(width / each);
  const whole = names.find(name => name.length <= most);
  if (whole !== undefined) return whole;
  return most < 5 ? "" : names[names.length - 1].slice(0, most - 1) + "…";
}

// A name and its most specific part: `torch.nn.modules`, `…modules`; `first launch of gemm`,
// `gemm`.
function shorter(name) {
  const last = /^[\w.]+\.(\w{3,})$/.exec(name) || / of (.+)$/.exec(name);
  return last ? [name, (name.includes(" of ") ? "" : "…") + last[1]] : [name];
}
