// Where the nodes of a graph come to rest: edges pull, nodes push each other away.

const LENGTH = 120; // of an edge at rest, in pixels
const PUSH = 9000;
const MOST = 14; // pixels a step

/** Move all nodes by one step; those that are held stay. Returns how far the fastest went. */
export function step(nodes, edges) {
  const pull = new Map(nodes.map((node) => [node.name, { x: -node.x * 0.004, y: -node.y * 0.004 }]));
  for (const [place, one] of nodes.entries()) for (const other of nodes.slice(place + 1)) push(pull, one, other);
  const byName = new Map(nodes.map((node) => [node.name, node]));
  for (const { source, target } of edges) {
    const [from, to] = [byName.get(source), byName.get(target)];
    if (from && to && from !== to) draw(pull, from, to);
  }
  let fastest = 0;
  for (const node of nodes) {
    if (node.held) continue;
    const { x, y } = pull.get(node.name);
    const speed = Math.hypot(x, y);
    const share = speed > MOST ? MOST / speed : 1;
    node.x += x * share;
    node.y += y * share;
    fastest = Math.max(fastest, speed * share);
  }
  return fastest;
}

function push(pull, one, other) {
  const [dx, dy] = [one.x - other.x || 0.5, one.y - other.y || 0.5];
  const square = Math.max(dx * dx + dy * dy, 100);
  add(pull, one, other, (PUSH * dx) / square / Math.sqrt(square), (PUSH * dy) / square / Math.sqrt(square));
}

function draw(pull, from, to) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const strength = ((Math.hypot(dx, dy) || 1) - LENGTH) * 0.03;
  const distance = Math.hypot(dx, dy) || 1;
  add(pull, from, to, (dx / distance) * strength, (dy / distance) * strength);
}

function add(pull, one, other, x, y) {
  const [near, far] = [pull.get(one.name), pull.get(other.name)];
  near.x += x;
  near.y += y;
  far.x -= x;
  far.y -= y;
}
