// Bars on lanes over a time axis, of which a window is visible.
//
// A bar is {begin, end, names, look, ink, say}: `names` are its possible labels, longest
// first, `look` and `ink` its CSS classes, and `say()` returns its description as lines. A
// lane is {top, height, bars} with its bars in order. The chart is redrawn for every window;
// invisible bars are not created.

const AXIS = 26;

class Chart {
  constructor(box, {until, lanes, heads, marks, height, name, hint}) {
    Object.assign(this, {box, until, lanes, heads, marks, height});
    this.from = 0;
    this.to = until;
    this.selected = null;
    this.hovered = null;
    this.description = element("p", {class: "description", "aria-live": "polite"});
    this.hint = hint;
    this.svg = shape("svg", {class: "lanes", role: "application", tabindex: "0",
      "aria-label": name, height: height + 14});
    this.tools = element("div", {class: "tools"});
    box.append(this.tools, this.description, this.svg);
    box.hidden = false;
    this.move = moves(this);
    new ResizeObserver(() => this.draw()).observe(box);
    this.draw();
    this.tell();
  }

  at(time) {
    return (time - this.from) / (this.to - this.from) * this.width;
  }

  // Shows `from` to `to`, clamped to the data and to the smallest useful window.
  show(from, to) {
    const least = Math.min(this.until, Math.max(this.until / 1e6, 5));
    const span = Math.min(this.until, Math.max(to - from, least));
    const middle = (from + to) / 2;
    this.from = Math.min(Math.max(0, middle - span / 2), this.until - span);
    this.to = this.from + span;
    this.box.dataset.from = Math.round(this.from);
    this.box.dataset.to = Math.round(this.to);
    cancelAnimationFrame(this.waiting);
    this.waiting = requestAnimationFrame(() => this.draw());
  }

  select(bar) {
    this.selected = bar;
    this.box.dataset.selected = bar ? bar.names[0] : "";
    this.draw();
    this.tell();
  }

  tell() {
    const bar = this.hovered || this.selected;
    const lines = bar ? bar.say() : [this.hint];
    this.description.replaceChildren();
    this.description.classList.toggle("hint", !bar);
    lines.filter(line => line).forEach((line, index) => {
      if (index) this.description.append(" · ");
      this.description.append(index || !bar ? line : element("b", {}, line));
    });
    if (bar) this.description.prepend(element("span", {class: "square " + bar.look, "aria-hidden": "true"}));
  }

  draw() {
    this.width = Math.max(200, this.box.clientWidth);
    const {svg, width} = this;
    svg.setAttribute("width", width);
    // Paper is narrower than the page: the style sheet scales the chart for printing.
    svg.setAttribute("viewBox", "0 0 " + width + " " + (this.height + 14));
    svg.replaceChildren();
    this.drawAxis();
    for (const lane of this.lanes) this.drawLane(lane);
    for (const mark of this.marks) {
      const x = this.at(mark.at);
      if (x >= 0 && x <= width) {
        svg.append(shape("line", {class: mark.look, x1: x, x2: x, y1: mark.top ?? AXIS - 6, y2: mark.bottom ?? this.height}));
      }
    }
    for (const head of this.heads) {
      svg.append(shape("text", {class: "head", x: 0, y: head.y}, fitting([head.text], width, 6.6)));
    }
    // The visible part of the whole.
    if (this.to - this.from > this.until * 0.999) return;
    const [left, right] = [this.from, this.to].map(time => time / this.until * width);
    svg.append(shape("rect", {class: "track", x: 0, y: this.height + 6, width, height: 4, rx: 2}),
      shape("rect", {class: "window", x: left, y: this.height + 6, width: Math.max(3, right - left), height: 4, rx: 2}));
  }

  drawAxis() {
    const step = roundStep(this.to - this.from, Math.floor(this.width / 95));
    // Ticks that are close together differ in digits that rounding would remove.
    const [unit, name] = this.until < 2e6 ? [1e3, " ms"] : [1e6, " s"];
    const digits = Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9));
    for (let tick = Math.ceil(this.from / step) * step; tick <= this.to; tick += step) {
      const x = this.at(tick);
      const anchor = x < 24 ? "start" : x > this.width - 24 ? "end" : "middle";
      this.svg.append(shape("line", {class: "grid-line", x1: x, x2: x, y1: AXIS - 6, y2: this.height}),
        shape("text", {class: "tick", x, y: 13, "text-anchor": anchor}, (tick / unit).toFixed(digits) + name));
    }
  }

  drawLane(lane) {
    let drawn = -1;
    for (const bar of lane.bars) {
      if (bar.end < this.from) continue;
      if (bar.begin > this.to) break;
      const left = Math.max(-2, this.at(bar.begin));
      const right = Math.min(this.width + 2, this.at(bar.end));
      // Skip bars that share a pixel with the previous one.
      if (right - left < 0.7 && left < drawn + 0.7 && bar !== this.selected) continue;
      drawn = Math.max(right, left + 0.7);
      const rect = shape("rect", {class: "bar " + bar.look + (bar === this.selected ? " selected" : right - left < 4 ? " thin" : ""),
        x: left, y: lane.top, width: Math.max(0.7, right - left), height: lane.height - 1});
      rect.bar = bar;
      this.svg.append(rect);
      const text = lane.height >= 13 && right - left > 14 && fitting(bar.names, right - Math.max(0, left) - 7, 6.8);
      if (text) {
        this.svg.append(shape("text", {class: "on-bar " + bar.ink, x: Math.max(0, left) + 4,
          y: lane.top + lane.height / 2 + 3.5}, text));
      }
    }
  }
}
