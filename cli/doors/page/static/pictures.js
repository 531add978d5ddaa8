// The pictures of an explained search; where everything stands was worked out by the server.

import { svg } from "./dom.js";

/** Draw how each result moved from list to list, with one of them marked. */
export function drawMovement(movement, kind, marked) {
  const { width, height } = movement;
  const sizes = { class: `movement ${kind} marking`, viewBox: `0 0 ${width} ${height}`, width, height };
  const told = movement.lines.find((line) => line.rank === marked);
  return svg("svg", { ...sizes, role: "img", "aria-label": way(movement, told) },
    svg("rect", { class: "found", width: Math.max(movement.arms_end, 0), height, rx: 8 }),
    svg("text", { class: "group", x: 10, y: 15 }, "rank in"),
    svg("text", { class: "group", x: movement.arms_end + 10, y: 15 }, "place after"),
    movement.columns.map((column) => [
      svg("line", { class: "guide", x1: column.x, x2: column.x, y1: 42, y2: height }),
      svg("text", { class: "head", x: column.x, y: 34, "text-anchor": "middle" }, column.label)]),
    gutters(movement),
    [...movement.lines].sort((one, other) => (one.rank === marked) - (other.rank === marked))
      .map((line) => drawLine(line, movement.radius, line.rank === marked)));
}

/** Say a result's way in words. */
function way(movement, line) {
  if (!line) return "How each result moved from list to list.";
  const steps = movement.columns.map((column, place) => `${column.label} ${line.dots[place].rank ?? "without it"}`);
  return `${line.title}: ${steps.join(", ")}`;
}

function gutters({ width, page_end: end, lacking_y: lacking }) {
  const gutter = (y) => svg("line", { class: "gutter", x1: 0, x2: width, y1: y, y2: y });
  return [
    end === null ? null : gutter(end),
    lacking === null ? null : [gutter(lacking), svg("text", { class: "lacking", x: width, y: lacking - 6, "text-anchor": "end" }, "not in that list")],
  ].flat();
}

function drawLine(line, radius, isMarked) {
  const group = svg("g", { class: isMarked ? "way marked" : "way", "--hue": line.hue }, svg("title", {}, `${line.rank}. ${line.title}`));
  for (const kind of ["solid", "dashed"]) if (line[kind]) group.append(svg("path", { class: kind, d: line[kind] }));
  for (const { x, y, rank } of line.dots) {
    if (rank === null) group.append(svg("circle", { class: "lack", cx: x, cy: y, r: 3.5 }));
    else group.append(svg("circle", { class: "dot", cx: x, cy: y, r: radius }),
      svg("text", { class: "rank", x, y, "text-anchor": "middle", "dominant-baseline": "central" }, String(rank)));
  }
  return group;
}

/** Draw a search's stages, and the rows that go from one to the next. */
export function drawFlow(flow, kind) {
  const sizes = { class: `flow ${kind}`, viewBox: `-1 -1 ${flow.width + 2} ${flow.height + 2}`, width: flow.width + 2, height: flow.height + 2 };
  return svg("svg", { ...sizes, role: "img", "aria-label": flow.boxes.map(inWords).join("; ") },
    flow.ribbons.map((ribbon) => svg("path", { class: `ribbon ${ribbon.kind} ${ribbon.arm}`, d: ribbon.path })),
    flow.boxes.map(drawBox));
}

const inWords = (box) => (box.state === "skipped" ? `${box.label} not run: ${box.reason}` : `${box.label} ${box.time}${box.rows === null ? "" : `, ${box.rows} ${box.unit}`}`);

function drawBox(box) {
  const { width, height } = box;
  const group = svg("g", { class: `stage ${box.state} ${box.name}`, transform: `translate(${box.x} ${box.y})` },
    svg("title", {}, inWords(box)), svg("rect", { class: "box", width, height, rx: 9 }),
    svg("text", { class: "name", x: 10, y: 21 }, box.label));
  if (box.state === "skipped") {
    group.append(svg("text", { class: "figure", x: 10, y: 38 }, "not run"));
    return group;
  }
  group.append(svg("text", { class: "figure", x: 10, y: 38 }, box.time));
  if (box.rows !== null) group.append(svg("text", { class: "figure", x: 10, y: 54 }, svg("tspan", { class: "rows" }, String(box.rows)), ` ${box.unit}`));
  group.append(svg("rect", { class: "track", x: 10, y: height - 13, width: width - 20, height: 4, rx: 2 }),
    svg("rect", { class: "time", x: 10, y: height - 13, width: Math.max(box.bar, 1.5), height: 4, rx: 2 }));
  return group;
}
