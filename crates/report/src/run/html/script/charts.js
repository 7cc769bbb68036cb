// The drawings: the timeline, and flame graphs of imports and functions.

function timeline(box) {
  const lanes = [], heads = [], marks = [];
  let y = AXIS;
  const lane = (height, bars) => {
    lanes.push({top: y, height, bars: order(bars)});
    y += height;
  };
  const head = text => {
    heads.push({y: y + 13, text});
    y += 19;
  };
  if (view.path.length) {
    head("path");
    lane(24, view.path.map(([begin, end, cause, label]) => causeBar([begin, end, cause, named(label)], [])));
    y += 3;
  }
  const iterations = view.iterations.map(([begin, end], index) => {
    marks.push({at: begin, look: "iteration-line"}, {at: end, look: index ? "iteration-line" : "first-line"});
    const bar = causeBar([begin, end, -1, "iteration " + (index + 1)], []);
    return {...bar, names: [...bar.names, String(index + 1)], look: index ? "iteration" : "iteration first-iteration", ink: index ? "n-frame" : "n-first"};
  });
  if (iterations.length) {
    lane(18, iterations);
    y += 3;
  }
  for (const row of view.rows) {
    head(row.name + (row.process ? " — " + row.process : ""));
    const depths = [...new Set(row.bars.map(bar => bar[2]))].sort((a, b) => a - b);
    // Deep threads have thin lanes, so that they fit on a page.
    const height = depths.length <= 12 ? 17 : Math.max(5, Math.floor(204 / depths.length));
    for (const depth of depths) {
      lane(height, row.bars.filter(bar => bar[2] === depth).map(([begin, end, , cause, label, detail, spans]) =>
        causeBar([begin, end, cause, named(label)], [named(detail), spans > 1 ? spans + " spans" : ""])));
    }
    y += 6;
  }
  const chart = new Chart(box, {until: view.until, lanes, heads, marks, height: y,
    name: "Timeline by thread. Plus and minus zoom, the left and right arrows pan, comma and period select.",
    hint: "Click a bar for details. Click the chart, then use + − or the wheel to zoom, and the arrows to pan."});
  if (view.iterations.length) {
    const [begin, end] = view.iterations[0];
    const last = view.iterations[view.iterations.length - 1][1];
    const air = (last - begin) * 0.03;
    chart.move.button("Before it", "Show the time before the first iteration", () => chart.show(0, begin));
    chart.move.button("First iteration", "Show the first iteration", () => {
      chart.show(begin - air, end + air);
      chart.select(iterations.find(bar => bar.begin === begin));
    });
  }
}

// A flame graph of the nodes in `list`, with the texts in `words`.
function flame(box, list, words) {
  const nodes = list.map(([parent, name, detail, begin, length, own]) =>
    ({parent, name: named(name), detail: named(detail), begin, length, own, depth: 0, used: 0, left: 0}));
  const lanes = [], groups = [];
  let whole = 0;
  for (const node of nodes) {
    const above = nodes[node.parent];
    if (above) {
      node.depth = above.depth + 1;
      node.left = above.left + above.used;
      node.length = Math.min(node.length, above.length - above.used);
      above.used += node.length;
    } else {
      node.left = whole;
      whole += node.length;
    }
    // Each package or file has a shade, and so does a root that is the whole program.
    const first = words.group(node);
    const program = !above && nodes.filter(other => other.parent < 0).length === 1;
    if (!program && !groups.includes(first)) groups.push(first);
    const shade = program ? 4 : groups.indexOf(first) % 4;
    const bar = {begin: node.left, end: node.left + node.length, names: [node.name + "  " + duration(node.length), ...shorter(node.name)],
      look: "i" + shade, ink: "n-i" + shade, node,
      say: () => [node.name, duration(node.length) + " total", duration(node.own) + " own",
        percent(node.length / whole) + " of " + words.all, ...words.more(node)]};
    (lanes[node.depth] ||= {top: 0, height: 0, bars: []}).bars.push(bar);
    node.bar = bar;
  }
  // Labels need this height, regardless of the depth.
  const height = lanes.length <= 24 ? 19 : 14;
  lanes.forEach((lane, depth) => Object.assign(lane, {top: AXIS + depth * height, height, bars: order(lane.bars)}));
  const chart = new Chart(box, {until: whole, lanes, heads: [], marks: [], height: AXIS + lanes.length * height,
    name: words.title + ". Comma and period select neighbors, the up and down arrows select parents and children, Enter zooms.",
    hint: words.hint});
  const enter = bar => chart.show(bar.begin, bar.end);
  chart.click = enter;
  chart.leave = () => {
    const above = chart.selected && nodes[chart.selected.node.parent];
    chart.select(above ? above.bar : null);
    if (above) enter(above.bar);
    else chart.show(0, chart.until);
  };
  chart.move.button("Up", words.up, chart.leave);
}

const imports = box => flame(box, view.imports, {
  title: "Imports",
  all: "all imports",
  hint: "Click a module to zoom to it and to see its importer; press Esc to zoom out.",
  up: "Zoom out to the importer",
  group: node => node.name.split(".")[0],
  more: node => [node.detail ? "imported by " + node.detail : "", "began at " + duration(node.begin)]});

const functions = box => flame(box, view.functions, {
  title: "Functions",
  all: "the sampled CPU time",
  hint: "Click a function to zoom to it and to see its location; press Esc to zoom out.",
  up: "Zoom out to the caller",
  group: node => node.detail.split(":")[0],
  more: node => [node.detail]});

for (const [id, draw, any] of [["timeline-chart", timeline, view.until > 0], ["imports-chart", imports, view.imports.length],
  ["functions-chart", functions, view.functions.length]]) {
  const box = document.getElementById(id);
  if (box && any) draw(box);
}
