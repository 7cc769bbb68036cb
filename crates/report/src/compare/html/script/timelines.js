// The two timelines, one below the other on one axis: each from exec to the end of its
// first iteration.

function timelines(box) {
  const lanes = [], heads = [], marks = [];
  let y = AXIS;
  for (const side of view.sides) {
    heads.push({y: y + 13, text: side.name + " — " + side.command + " — " + duration(side.first)});
    y += 19;
    const top = y;
    lanes.push({top: y, height: 34, bars: order(side.path.map(([begin, end, cause, label]) =>
      causeBar([begin, end, cause, named(label)], [side.name], side.first)))});
    y += 36;
    if (side.iteration !== null && side.iteration < side.first) {
      const bar = causeBar([side.iteration, side.first, -1, "first iteration"], [side.name], side.first);
      lanes.push({top: y, height: 17, bars: [{...bar, names: [...bar.names, "first"], look: "iteration first-iteration", ink: "n-first"}]});
      y += 18;
    }
    marks.push({at: side.first, look: "first-line", top: top - 3, bottom: y});
    y += 12;
  }
  new Chart(box, {until: view.until, lanes, heads, marks, height: y,
    name: "Both timelines. Plus and minus zoom, the left and right arrows pan, comma and period select.",
    hint: "Click a bar for details. Click the chart, then use + − or the wheel to zoom and the arrow keys to pan."});
}

const timelinesBox = document.getElementById("timelines-chart");
if (timelinesBox && view.until > 0) timelines(timelinesBox);
