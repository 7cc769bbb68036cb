// Zooming, panning and selecting with keys, wheel, pointer and buttons.

function moves(chart) {
  const {svg, tools} = chart;
  const zoom = (factor, at = (chart.from + chart.to) / 2) =>
    chart.show(at - (at - chart.from) * factor, at + (chart.to - at) * factor);
  const pan = share => {
    const by = (chart.to - chart.from) * share;
    chart.show(chart.from + by, chart.to + by);
  };
  const enter = bar => {
    const air = (bar.end - bar.begin) * 0.02;
    chart.show(bar.begin - air, bar.end + air);
  };

  // The next bar on the same lane, or the nearest bar on an adjacent lane.
  const neighbor = (along, across) => {
    const lanes = chart.lanes.filter(lane => lane.bars.length);
    const bar = chart.selected;
    const at = lanes.findIndex(lane => lane.bars.includes(bar));
    if (at < 0) return lanes[0] && lanes[0].bars.find(other => other.end > chart.from);
    if (along) return lanes[at].bars[lanes[at].bars.indexOf(bar) + along] || bar;
    const next = lanes[at + across];
    if (!next) return bar;
    const middle = (Math.max(bar.begin, chart.from) + Math.min(bar.end, chart.to)) / 2;
    const away = other => Math.max(other.begin - middle, middle - other.end, 0);
    return next.bars.reduce((best, other) => away(other) < away(best) ? other : best);
  };
  const choose = (along, across) => {
    const bar = neighbor(along, across);
    if (!bar) return;
    chart.select(bar);
    if (bar.end < chart.from || bar.begin > chart.to) {
      const half = Math.max(chart.to - chart.from, bar.end - bar.begin) / 2;
      const middle = (bar.begin + bar.end) / 2;
      chart.show(middle - half, middle + half);
    }
  };
  const leave = () => {
    if (chart.leave) chart.leave();
    else chart.select(null);
  };

  const keys = {
    "+": () => zoom(0.6), "=": () => zoom(0.6),
    "-": () => zoom(1 / 0.6), "−": () => zoom(1 / 0.6), "_": () => zoom(1 / 0.6),
    "0": () => chart.show(0, chart.until),
    ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2),
    Home: () => chart.show(0, chart.to - chart.from),
    End: () => chart.show(chart.until - (chart.to - chart.from), chart.until),
    ",": () => choose(-1, 0), ".": () => choose(1, 0),
    ArrowUp: () => choose(0, -1), ArrowDown: () => choose(0, 1),
    Enter: () => chart.selected && enter(chart.selected),
    Escape: leave,
  };
  svg.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });

  const time = event => {
    const x = event.clientX - svg.getBoundingClientRect().left;
    return chart.from + x / chart.width * (chart.to - chart.from);
  };
  svg.addEventListener("wheel", event => {
    const mine = event.ctrlKey || event.metaKey || document.activeElement === svg;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX / chart.width);
    else if (mine) zoom(Math.exp(event.deltaY / 400), time(event));
    else return;
    event.preventDefault();
  }, {passive: false});

  // One pointer drags, two pointers pinch; a pointer that did not move clicks.
  const pointers = new Map();
  let moved = 0;
  svg.addEventListener("pointerdown", event => {
    if (event.button) return;
    pointers.set(event.pointerId, event);
    moved = 0;
  });
  svg.addEventListener("pointermove", event => {
    const bar = event.target.bar || null;
    if (bar !== chart.hovered) {
      chart.hovered = bar;
      chart.tell();
    }
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const other = [...pointers].find(([id]) => id !== event.pointerId);
    const by = event.clientX - before.clientX;
    moved += Math.abs(by) + Math.abs(event.clientY - before.clientY);
    if (moved > 4 && !svg.hasPointerCapture(event.pointerId)) svg.setPointerCapture(event.pointerId);
    if (other) {
      const apart = pointer => Math.max(20, Math.abs(pointer.clientX - other[1].clientX));
      zoom(apart(before) / apart(event), time(other[1]));
    } else if (moved > 4) {
      pan(-by / chart.width);
    }
    pointers.set(event.pointerId, event);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    svg.addEventListener(name, event => pointers.delete(event.pointerId));
  }
  svg.addEventListener("pointerleave", () => {
    chart.hovered = null;
    chart.tell();
  });
  svg.addEventListener("click", event => {
    if (moved > 4) return;
    chart.select(event.target.bar || null);
    if (chart.click && event.target.bar) chart.click(event.target.bar);
  });
  svg.addEventListener("dblclick", event => {
    if (event.target.bar) enter(event.target.bar);
  });

  const button = (text, title, act) => {
    const made = element("button", {type: "button", title, "aria-label": title}, text);
    made.addEventListener("click", act);
    tools.append(made);
  };
  button("−", "Zoom out", keys["-"]);
  button("+", "Zoom in", keys["+"]);
  button("All", "Show everything", keys["0"]);
  return {button, enter};
}
