// The graph around a document: drag nodes, point at them, filter edges by type, expand a node.

import { fill, h, isCalm, svg } from "./dom.js";
import { step } from "./forces.js";
import { openDocument } from "./passage.js";
import { post } from "./session.js";

const LIMIT = 40; // neighbours of one node
const STEPS = 300; // until all rests
const LONGEST = 28; // letters of a label
const COLORS = 6; // of types, as the style has them

const dialog = h("dialog", { class: "drawer graph", "aria-label": "Graph" });
document.body.append(dialog);
dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());

/** Open the graph around a document. */
export async function openGraph(row, name) {
  const graph = new Graph(`document:${row.document_id}`, name);
  fill(dialog, graph.element);
  dialog.showModal();
  await graph.expand(graph.start);
}

class Graph {
  constructor(start, name) {
    this.start = start;
    this.nodes = new Map();
    this.edges = [];
    this.hidden = new Set(); // types that are not shown
    this.expanded = new Set();
    this.chosen = null;
    this.picture = svg("svg", { class: "net", role: "group", "aria-label": `Graph around ${name}` });
    this.picture.addEventListener("pointermove", (event) => this.drag(event));
    this.picture.addEventListener("pointerup", () => {
      this.dragged = null;
      this.place();
    });
    this.types = h("div", { class: "types", role: "group", "aria-label": "Types of edges" });
    this.about = h("div", { class: "about", role: "status" });
    this.table = h("details", { class: "more" });
    this.element = h("div", {},
      h("header", {}, h("div", { class: "who" }, h("h2", { dir: "auto" }, name), h("span", { class: "where" }, "what it is linked with")),
        h("button", { class: "quiet", type: "button", autofocus: true, click: () => dialog.close() }, "Close")),
      this.types, this.picture, this.about, this.table);
  }

  /** Add the neighbours of a node. */
  async expand(name) {
    let found;
    try {
      found = await post("/page/around", { node: name, limit: LIMIT });
    } catch (error) {
      fill(this.about, h("p", {}, error.message));
      return;
    }
    this.expanded.add(name);
    const middle = this.nodes.get(name) ?? { x: 0, y: 0 };
    const before = this.nodes.size;
    for (const node of found.nodes) {
      if (!this.nodes.has(node.name)) this.nodes.set(node.name, { ...node, x: middle.x + node.x, y: middle.y + node.y });
    }
    const known = new Set(this.edges.map(keyOf));
    this.edges.push(...found.edges.filter((edge) => !known.has(keyOf(edge))));
    this.draw();
    this.choose(name);
    const isAll = this.nodes.size === before && found.warnings.length === 0;
    const told = isAll ? ["Nothing new: all that it is linked with is shown already."] : found.warnings;
    this.about.append(...told.map((text) => h("p", {}, text)));
    this.settle();
  }

  get shownEdges() {
    return this.edges.filter((edge) => !this.hidden.has(edge.type));
  }

  /** Return the nodes that an edge that is shown touches, and the first. */
  get shownNodes() {
    const touched = new Set([this.start, ...this.shownEdges.flatMap((edge) => [edge.source, edge.target])]);
    return [...this.nodes.values()].filter((node) => touched.has(node.name));
  }

  draw() {
    const focused = document.activeElement?.dataset.node;
    const types = [...new Set(this.edges.map((edge) => edge.type))].sort();
    const colorOf = (type) => `type-${types.indexOf(type) % COLORS}`;
    fill(this.types, types.map((type) => h("label", { class: colorOf(type) }, h("input", { type: "checkbox", checked: !this.hidden.has(type),
      change: () => {
        if (!this.hidden.delete(type)) this.hidden.add(type);
        this.draw();
        this.settle();
      } }), h("span", { dir: "auto" }, type), h("b", {}, String(this.edges.filter((edge) => edge.type === type).length)))));
    this.lines = this.shownEdges.map((edge) => ({ edge, line: svg("line", { class: colorOf(edge.type) }, svg("title", {}, this.inWords(edge))) }));
    this.dots = this.shownNodes.map((node) => ({ node, dot: this.drawNode(node) }));
    fill(this.picture, this.lines.map((one) => one.line), this.dots.map((one) => one.dot));
    fill(this.table, h("summary", {}, "The edges as a list"), h("ul", {}, this.shownEdges.map((edge) => h("li", { dir: "auto" }, this.inWords(edge)))));
    this.place();
    this.dots.find(({ node }) => node.name === focused)?.dot.focus();
  }

  drawNode(node) {
    const label = node.title.length > LONGEST ? `${node.title.slice(0, LONGEST - 1)}…` : node.title;
    const dot = svg("g", { class: `node ${node.kind}${node.name === this.start ? " first" : ""}`, tabindex: 0, role: "button",
      "aria-label": `${node.title}, ${node.kind}`, "data-node": node.name },
    svg("title", {}, node.title), svg("circle", { r: node.name === this.start ? 10 : 7 }), svg("text", { y: 20, "text-anchor": "middle" }, label));
    dot.addEventListener("pointerdown", (event) => {
      this.dragged = node;
      this.choose(node.name);
      this.picture.setPointerCapture(event.pointerId);
    });
    dot.addEventListener("pointerenter", () => this.light(node.name));
    dot.addEventListener("pointerleave", () => this.light(this.chosen));
    dot.addEventListener("focus", () => this.choose(node.name));
    dot.addEventListener("dblclick", () => this.expand(node.name));
    dot.addEventListener("keydown", (event) => event.key === "Enter" && this.expand(node.name));
    return dot;
  }

  /** Say what a node is, and what can be done with it. */
  choose(name) {
    this.chosen = name;
    this.light(name);
    const node = this.nodes.get(name);
    const [kind, id] = name.split(":");
    const links = this.shownEdges.filter((edge) => edge.source === name || edge.target === name).length;
    fill(this.about, h("p", {}, h("b", { dir: "auto" }, node.title), ` · ${node.kind} · ${links} ${links === 1 ? "edge" : "edges"} here`),
      !this.expanded.has(name) && h("button", { class: "quiet", type: "button", click: () => this.expand(name) }, "Expand"),
      kind === "document" && h("button", { class: "quiet", type: "button", click: () => openDocument(Number(id), { title: node.title }) }, "Open"));
  }

  /** Let a node and what it is linked with stand out. */
  light(name) {
    const near = new Set([name, ...this.shownEdges.filter((edge) => edge.source === name || edge.target === name).flatMap((edge) => [edge.source, edge.target])]);
    for (const { node, dot } of this.dots) dot.classList.toggle("dim", !near.has(node.name));
    for (const { edge, line } of this.lines) line.classList.toggle("dim", edge.source !== name && edge.target !== name);
  }

  settle() {
    cancelAnimationFrame(this.frame);
    let left = STEPS;
    const move = (steps) => {
      let fastest = 1;
      for (let count = 0; count < steps && fastest > 0.15; count += 1) fastest = step(this.shownNodes, this.shownEdges);
      left -= steps;
      this.place();
      if (left > 0 && fastest > 0.15 && dialog.open) this.frame = requestAnimationFrame(() => move(2));
    };
    move(isCalm() ? STEPS : 2);
  }

  /** Put lines and nodes where they are now, and all of them into view. */
  place() {
    for (const { edge, line } of this.lines) {
      const [from, to] = [this.nodes.get(edge.source), this.nodes.get(edge.target)];
      for (const [name, value] of Object.entries({ x1: from.x, y1: from.y, x2: to.x, y2: to.y })) line.setAttribute(name, value.toFixed(1));
    }
    for (const { node, dot } of this.dots) dot.setAttribute("transform", `translate(${node.x.toFixed(1)} ${node.y.toFixed(1)})`);
    if (this.dragged) return; // the ground would move below the pointer
    const [xs, ys] = [this.shownNodes.map((node) => node.x), this.shownNodes.map((node) => node.y)];
    const [left, top] = [Math.min(...xs, -240) - 80, Math.min(...ys, -160) - 30];
    this.picture.setAttribute("viewBox", `${left} ${top} ${Math.max(...xs, 240) + 80 - left} ${Math.max(...ys, 160) + 40 - top}`);
  }

  drag(event) {
    if (!this.dragged) return;
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.picture.getScreenCTM().inverse());
    Object.assign(this.dragged, { x: point.x, y: point.y, held: true });
    this.settle();
  }

  inWords(edge) {
    return `${this.nodes.get(edge.source).title} — ${edge.type} → ${this.nodes.get(edge.target).title}`;
  }
}

const keyOf = (edge) => JSON.stringify([edge.source, edge.target, edge.type]);
