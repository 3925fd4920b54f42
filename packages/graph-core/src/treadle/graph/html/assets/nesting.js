// Layout of boxes in groups. Every group is laid out by itself, the innermost first, and is one box in the group around
// it, so that groups never overlap. A wire that enters a group comes through a port on its upper edge, one for each box
// it comes from; a wire that leaves goes through a port on its lower edge.

const nestedLayout = (layout, nodes, edges, options, room) => {
  const OUTSIDE = ""; // stands for the group around all
  const node = new Map(nodes.map((each) => [each.v, each]));
  const groupOf = (name) => node.get(name).parent ?? OUTSIDE;
  const groups = new Map([[OUTSIDE, { name: OUTSIDE, depth: 0, links: new Map(), parts: new Map(), ins: [], outs: [] }]]);

  const chains = new Map([[OUTSIDE, [OUTSIDE]]]); // the groups around a box, from the outside in
  const chain = (name) => {
    const missing = [];
    let at = name;
    for (; !chains.has(at); at = groupOf(at)) {
      missing.push(at);
    }
    let known = chains.get(at);
    for (const each of missing.reverse()) {
      known = [...known, each];
      chains.set(each, known);
    }
    return known;
  };
  const group = (name) => {
    if (!groups.has(name)) {
      groups.set(name, { name, depth: chain(name).length - 1, links: new Map(), parts: new Map(), ins: [], outs: [] });
    }
    return groups.get(name);
  };
  for (const each of nodes) {
    group(groupOf(each.v)).parts.set(each.v, each);
  }

  // Wires, cut into one link for each group they pass.
  const link = (name, from, to, source, weight) => {
    const home = group(name);
    const key = `${from}|${to}|${source}`;
    const known = home.links.get(key) ?? { from, to, weight, points: [] };
    known.weight = Math.max(known.weight, weight);
    home.links.set(key, known);
    return known;
  };
  const port = (name, side, source) => {
    const key = `${side}|${source}`;
    const { parts, [side]: list } = group(name);
    if (!parts.has(key)) {
      const made = { v: key, width: 8, height: 2 };
      parts.set(key, made);
      list.push(made);
    }
    return key;
  };
  const routes = edges.map(({ v, w, weight }) => {
    const [from, to] = [chain(v), chain(w)];
    let common = 0;
    while (from[common] === to[common]) {
      common += 1;
    }
    const [leaving, entering] = [[], []];
    for (let at = from.length - 2; at >= common; at -= 1) {
      leaving.push([from[at], link(from[at], from[at + 1], port(from[at], "outs", v), v, weight)]);
    }
    for (let at = common; at < to.length - 1; at += 1) {
      entering.push([to[at], link(to[at], port(to[at], "ins", v), to[at + 1], v, weight)]);
    }
    const home = from[common - 1];
    return { leaving, home, across: link(home, from[common], to[common], v, weight), entering, source: v };
  });

  // Layout of one group: its parts and ports, the ports held at its edges.
  const edge = (v, w, weight) => ({ v, w, weight, minlen: 1, width: 0, height: 0, labeloffset: 10, labelpos: "r" });
  const HOLD = 1000; // weight that keeps a port at the edge, whatever pulls at it
  const arrange = (home) => {
    const parts = [...home.parts.values()].map(({ v, width, height }) => ({ v, width, height }));
    const wires = [];
    const taken = new Set();
    for (const each of home.links.values()) {
      const isFirst = !taken.has(`${each.from}|${each.to}`);
      taken.add(`${each.from}|${each.to}`);
      if (isFirst) {
        each.wires = [edge(each.from, each.to, each.weight)];
      } else { // wires side by side, between the same two groups: each has a point of its own
        each.middle = { v: `middle ${wires.length}`, width: 4, height: 2 }; // no name of a box begins so
        parts.push(each.middle);
        each.wires = [edge(each.from, each.middle.v, each.weight), edge(each.middle.v, each.to, each.weight)];
      }
      wires.push(...each.wires);
    }
    for (const [ports, end] of [[home.ins, "upper"], [home.outs, "lower"]]) {
      if (ports.length) {
        parts.push({ v: end, width: 1, height: 1 });
      }
      for (const { v } of ports) {
        wires.push(end === "upper" ? edge(end, v, HOLD) : edge(v, end, HOLD));
      }
    }
    layout(parts, wires, { ...options }, {});
    home.placed = new Map(parts.filter(({ v }) => v !== "upper" && v !== "lower").map((part) => [part.v, part]));
    for (const each of home.links.values()) {
      const inner = each.wires.map(({ points }) => points.slice(1, -1));
      const middle = each.middle ? [home.placed.get(each.middle.v)] : [];
      each.points = [...inner[0], ...middle, ...(inner[1] ?? [])].map(({ x, y }) => ({ x, y }));
    }
    measure(home);
  };
  const measure = (home) => {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    const reach = (x, y, w, h) => {
      [left, top] = [Math.min(left, x - w), Math.min(top, y - h)];
      [right, bottom] = [Math.max(right, x + w), Math.max(bottom, y + h)];
    };
    home.placed.forEach(({ x, y, width, height }) => reach(x, y, width / 2, height / 2));
    home.links.forEach(({ points }) => points.forEach(({ x, y }) => reach(x, y, 0, 0)));
    const own = node.get(home.name);
    if (own) {
      [left, top, right, bottom] = [left - room.left, top - room.top, right + room.right, bottom + room.bottom];
      Object.assign(own, { width: Math.max(right - left, own.width), height: Math.max(bottom - top, own.height) });
      home.center = { x: (left + right) / 2, y: (top + bottom) / 2 };
    } else {
      home.center = { x: 0, y: 0 };
    }
  };
  const inward = [...groups.values()].sort((a, b) => a.depth - b.depth);
  [...inward].reverse().forEach(arrange);

  // Positions on the whole picture, from the outside in.
  for (const home of inward) {
    const own = node.get(home.name) ?? { x: 0, y: 0 };
    home.shift = { x: own.x - home.center.x, y: own.y - home.center.y };
    for (const part of home.placed.values()) {
      [part.x, part.y] = [part.x + home.shift.x, part.y + home.shift.y];
      if (node.has(part.v)) {
        Object.assign(node.get(part.v), { x: part.x, y: part.y });
      }
    }
    home.rows = new Map(); // upper and lower end of each row of parts
    for (const { y, height } of home.placed.values()) {
      const row = home.rows.get(Math.round(y)) ?? [Infinity, -Infinity];
      home.rows.set(Math.round(y), [Math.min(row[0], y - height / 2), Math.max(row[1], y + height / 2)]);
    }
  }
  // Between two neighbouring rows nothing is in the way of a wire that goes from port to port.
  const isFree = (name, { from, to }) => {
    const { placed } = groups.get(name);
    const [upper, lower] = [placed.get(from).y, placed.get(to).y];
    return groups.has(from) && groups.has(to) && upper < lower
      && ![...placed].some(([key, { y }]) => y > upper + 1 && y < lower - 1 && !key.startsWith("middle"));
  };
  const pointsOf = (name, { points }) => {
    const { shift } = groups.get(name);
    return points.map(({ x, y }) => ({ x: x + shift.x, y: y + shift.y }));
  };
  // Where a wire passes the edge of a group: at the port, at the edge, and beyond the row that the group stands in.
  const passage = (name, side, source) => {
    const own = node.get(name);
    const { x, y } = groups.get(name).placed.get(`${side}|${source}`);
    const at = side === "ins" ? 0 : 1;
    const beyond = groups.get(groupOf(name)).rows.get(Math.round(own.y))[at];
    return [{ x, y }, { x, y: own.y + (at - 0.5) * own.height }, { x, y: beyond }];
  };
  // Groups may need each other both ways. A wire that leads up from a group, or down past one that it enters, goes
  // around it, on the side where it comes from or goes to.
  const around = (name, part, next, isUp) => {
    const { x, y, width, height } = groups.get(name).placed.get(part);
    if (!groups.has(part) || !next || (isUp ? next.y > y : next.y < y)) {
      return [];
    }
    const side = x + Math.sign(next.x - x || 1) * (width / 2 + 12);
    const [lower, upper] = [{ x: side, y: y + height / 2 + 4 }, { x: side, y: y - height / 2 - 4 }];
    return [lower, lower, upper, upper]; // a curve comes nearer to a point that is there twice
  };
  edges.forEach((wire, at) => {
    const { leaving, home, across, entering, source } = routes[at];
    const [tail, head] = [node.get(wire.v), node.get(wire.w)];
    const points = [];
    for (const [name, each] of leaving) {
      points.push(...pointsOf(name, each), ...passage(name, "outs", source));
    }
    if (!isFree(home, across)) {
      const way = pointsOf(home, across);
      points.push(...around(home, across.from, way.at(0), true), ...way, ...around(home, across.to, way.at(-1), false));
    }
    for (const [name, each] of entering) {
      points.push(...passage(name, "ins", source).reverse(), ...pointsOf(name, each));
    }
    if (!points.length) {
      points.push({ x: (tail.x + head.x) / 2, y: (tail.y + head.y) / 2 });
    }
    wire.points = [{ x: tail.x, y: tail.y }, ...points, { x: head.x, y: head.y }];
  });
};

// The layout in the direction asked for, or for "auto" in the one that fills the window better.
const directedLayout = (layout, message) => {
  const { direction, window, nodesep, ranksep, edgesep } = message.layout;
  const options = { nodesep, ranksep, edgesep };
  const turn = (thing) => {
    [thing.x, thing.y] = [thing.y, thing.x];
    [thing.width, thing.height] = [thing.height, thing.width];
  };
  const laidOut = (isRight) => {
    const nodes = message.nodes.map((each) => ({ ...each }));
    const edges = message.edges.map((each) => ({ ...each }));
    // To the right is downward on a picture turned over; the room for a group's name is at its top either way.
    const room = isRight ? { left: 30, right: 12, top: 16, bottom: 16 } : { left: 16, right: 16, top: 30, bottom: 14 };
    if (isRight) {
      nodes.forEach(turn);
    }
    nestedLayout(layout, nodes, edges, options, room);
    if (isRight) {
      nodes.forEach(turn);
      edges.forEach(({ points }) => points.forEach((point) => { [point.x, point.y] = [point.y, point.x]; }));
    }
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const { x, y, width, height } of nodes) {
      [left, top] = [Math.min(left, x - width / 2), Math.min(top, y - height / 2)];
      [right, bottom] = [Math.max(right, x + width / 2), Math.max(bottom, y + height / 2)];
    }
    const scale = Math.min(window.width / (right - left + 1), window.height / (bottom - top + 1));
    return { nodes, edges, scale, direction: isRight ? "right" : "down" };
  };
  let best = laidOut(direction === "right");
  const FEW = 300; // of more boxes a second layout takes too long
  if (direction === "auto" && best.scale < 1 && message.nodes.length <= FEW) {
    const other = laidOut(true);
    best = other.scale > 1.1 * best.scale ? other : best;
  }
  return { ...message, nodes: best.nodes, edges: best.edges, direction: best.direction };
};
