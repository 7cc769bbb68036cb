// Bars of causes.

const named = place => view.names[place] || "";
const order = bars => bars.sort((a, b) => a.begin - b.begin || b.end - a.end);

// A bar of a cause, or a frame without one.
function causeBar([begin, end, cause, label], more, first = view.first) {
  const known = cause >= 0;
  return {begin, end, names: shorter(label || view.causes[cause]), look: known ? "k" + cause : "frame",
    ink: known ? "n" + cause + "k" : "n-frame",
    say: () => [label || view.causes[cause], known && label !== view.causes[cause] ? view.causes[cause] : "",
      duration(end - begin), "from " + duration(begin) + " to " + duration(end),
      first ? percent((end - begin) / first) + " of the time to first" : "", ...more]};
}
