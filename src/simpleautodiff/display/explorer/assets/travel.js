// Numbers that travel along the edges as a sweep goes; not where less motion is asked for.

const TRIP = 650; // milliseconds

const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// Take away what is still on its way.
function halt(svg) {
  for (const old of svg.querySelectorAll(".traveller")) old.remove();
}

// `cargo(edge)` is what leaves, what arrives, and whether it goes against the arrow; null: nothing.
function travel(picture, cargo) {
  if (still()) return;
  for (const edge of picture.edges) {
    const load = cargo(edge);
    if (load) send(picture.svg, edge.path, load);
  }
}

function send(svg, path, { leaves, arrives, back }) {
  const text = make("text", { class: "traveller" }, numeral(leaves));
  const length = path.getTotalLength();
  let begun = 0;
  const step = (time) => {
    if (!text.isConnected) return;
    begun ||= time;
    const done = Math.min(1, (time - begun) / TRIP);
    const eased = done * done * (3 - 2 * done);
    const { x, y } = path.getPointAtLength(length * (back ? 1 - eased : eased));
    text.setAttribute("x", x.toFixed(1));
    text.setAttribute("y", (y + 16).toFixed(1)); // under the edge; the local derivative is above
    if (done > 0.5) text.textContent = numeral(arrives);
    if (done < 1) requestAnimationFrame(step);
    else text.remove();
  };
  svg.append(text);
  requestAnimationFrame(step);
}
