// What of the graph is drawn: which groups are open, how far from the outputs, and around which boxes.

const BUDGET = 300; // boxes drawn at first
const MOST_DRAWN = 3_000; // boxes drawn at all
const AROUND = 60; // boxes drawn around one of them
const AT_ONCE = 40; // boxes that one click on "more" brings

const ROWS_PASSED = 20; // rows that wires may pass, for each box drawn

// The row of each item in a layered layout: below all that it needs.
const rowsOf = (items, edges) => {
  const [next, waiting, rows] = [new Map(), new Map(), new Map()];
  for (const key of items.keys()) {
    next.set(key, []);
    waiting.set(key, 0);
    rows.set(key, 0);
  }
  for (const { from, to } of edges.values()) {
    next.get(from).push(to);
    waiting.set(to, waiting.get(to) + 1);
  }
  const ready = [...items.keys()].filter((key) => waiting.get(key) === 0);
  for (const key of ready) { // grows on the way
    for (const to of next.get(key)) {
      rows.set(to, Math.max(rows.get(to), rows.get(key) + 1));
      waiting.set(to, waiting.get(to) - 1);
      if (waiting.get(to) === 0) {
        ready.push(to);
      }
    }
  }
  return rows;
};

class Visibility {
  constructor(model) {
    this.model = model;
    this.open = new Map(); // group -> boolean, where it was said
    this.extra = new Set(); // boxes to draw whatever the depth
    this.cut = new Set(); // boxes whose inputs are not followed
    this.scopeLevel = model.deepestScope;
    this.depth = Infinity;
    this.center = null;
    this.constants = false;
    this.most = MOST_DRAWN;
    this.distance = this.measure();
    this.deepest = this.distance.reduce((most, d) => (d === Infinity ? most : Math.max(most, d)), 1);
  }

  // Open as much as fits: name scopes level by level, then depth.
  fitBudget() {
    while (this.scopeLevel > 0 && this.count() > BUDGET) {
      this.scopeLevel -= 1;
    }
    if (this.count() <= BUDGET) {
      return;
    }
    let [low, high] = [1, this.deepest];
    while (low < high) {
      this.depth = Math.ceil((low + high) / 2);
      if (this.count() <= BUDGET) {
        low = this.depth;
      } else {
        high = this.depth - 1;
      }
    }
    this.depth = low;
    if (this.count() > BUDGET) {
      this.most = BUDGET;
    }
  }

  count() {
    return this.chosen(BUDGET + 1, true).size;
  }

  isOpen(group) {
    return this.open.get(group) ?? (group.kind === "scope" && group.level <= this.scopeLevel);
  }

  // Steps from the outputs, for each box of the outer graph; Infinity beyond a cut.
  measure() {
    const { boxes, outer, outerCount } = this.model;
    const distance = new Array(outerCount).fill(Infinity);
    const queue = [...outer.outputs];
    queue.forEach((id) => { distance[id] = 0; });
    for (let at = 0; at < queue.length; at += 1) {
      const id = queue[at];
      for (const [source] of this.cut.has(id) ? [] : boxes[id].wires) {
        if (distance[source] === Infinity) {
          distance[source] = distance[id] + 1;
          queue.push(source);
        }
      }
    }
    for (const id of outer.inputs) { // inputs that nothing uses are part of the picture
      if (!boxes[id].clients.length) {
        distance[id] = 1;
      }
    }
    return distance;
  }

  // Boxes of the outer graph that are near enough to be drawn, nearest first.
  nearest() {
    const { boxes, outerCount } = this.model;
    if (this.center !== null) {
      return this.around(this.center);
    }
    const rows = [];
    for (let id = 0; id < outerCount; id += 1) {
      const leaf = boxes[id].wires.length ? 0 : 1;
      const steps = this.distance[id] - leaf;
      if (this.extra.has(id) || (steps <= this.depth && steps !== Infinity)) {
        (rows[Math.min(this.distance[id], outerCount)] ??= []).push(id);
      }
    }
    return rows.flat();
  }

  around(center) {
    const { boxes } = this.model;
    const found = new Set([center, ...this.extra]);
    for (const id of found) {
      if (found.size >= AROUND + this.extra.size) {
        break;
      }
      const beside = [...boxes[id].wires, ...boxes[id].clients].map(([other]) => other);
      beside.slice(0, AT_ONCE).filter((other) => boxes[other].kind !== "constant").forEach((other) => found.add(other));
    }
    return [...found];
  }

  // An open op whose inputs and outputs are one to one those of its inside is drawn as its inside alone.
  dissolved(box) {
    const inside = this.model.insides.get(box.id);
    if (!inside || !this.isOpen(inside.group)) {
      return false;
    }
    return inside.inputs.length === box.wires.length && inside.outputs.length === box.outs.length;
  }

  // The outermost closed group around a group, or null.
  closedAround(group) {
    let closed = null;
    for (let at = group; at; at = at.parent) {
      closed = this.isOpen(at) ? closed : at;
    }
    return closed;
  }

  // What is drawn for a box: { key, kind, box | group, parent }, or null for what is inside a closed op.
  itemOf(box) {
    const closed = this.closedAround(box.group);
    if (closed?.kind === "inside") {
      return null;
    }
    if (closed) {
      return { key: `s${closed.id}`, kind: "scope", group: closed, parent: closed.parent };
    }
    const inside = this.model.insides.get(box.id);
    const parent = inside && this.isOpen(inside.group) ? inside.group : box.group;
    return { key: `b${box.id}`, kind: box.kind, box, parent };
  }

  // Items to draw by key, and the boxes they stand for; to count, it is enough to see that there are too many.
  chosen(most, isCounting = false) {
    const { boxes } = this.model;
    const items = new Map();
    this.members = [];
    this.truncated = false;
    const pending = this.nearest();
    for (let at = 0; at < pending.length; at += 1) {
      const box = boxes[pending[at]];
      if (box.kind === "constant" && !this.constants) {
        continue;
      }
      const inside = this.model.insides.get(box.id);
      if (inside && this.isOpen(inside.group)) {
        const end = inside.base + this.model.data.graphs[box.inner].boxes.length;
        for (let id = inside.base; id < end; id += 1) {
          pending.push(id);
        }
      }
      if (this.dissolved(box)) {
        continue;
      }
      const item = this.itemOf(box);
      if (!items.has(item.key) && items.size >= most) {
        this.truncated = true;
        if (isCounting) {
          break;
        }
        continue;
      }
      items.set(item.key, items.get(item.key) ?? item);
      this.members.push([box, item.key]);
    }
    return items;
  }

  // Where a wire starts once open ops are seen through, and what flows in from an op into its inside.
  sourcesOf(box) {
    const { boxes, insides } = this.model;
    let { wires } = box;
    if (box.owner !== null && box.kind === "input") {
      const owner = boxes[box.owner];
      const position = insides.get(box.owner).inputs.indexOf(box.id);
      wires = this.dissolved(owner) ? [owner.wires[position]] : [[owner.id, -1]];
    }
    return wires.map(([id, out]) => this.seenThrough(id, out));
  }

  seenThrough(id, out) {
    const { boxes, insides } = this.model;
    while (out >= 0 && this.dissolved(boxes[id])) {
      [id, out] = [insides.get(id).outputs[out], 0];
    }
    if (boxes[id].kind === "output") {
      return [id, 0, boxes[id].wires[0]];
    }
    return [id, out, [id, out]];
  }

  // The picture: items by key, edges by "from:to" with what they carry, open groups.
  picture() {
    const { boxes } = this.model;
    const items = this.chosen(this.most);
    const keyOf = new Map(this.members.map(([box, key]) => [box.id, key]));
    const edges = new Map();
    const connect = (from, to, wire, dashed) => {
      const name = `${from}:${to}`;
      const edge = edges.get(name) ?? { from, to, wires: [], dashed };
      edge.wires.push(wire);
      edges.set(name, edge);
    };
    const more = new Map();
    const hide = (key, id, kind) => {
      const name = `${kind}${key}`;
      const stub = more.get(name) ?? { key: name, kind: "more", side: kind, of: key, hidden: new Set() };
      stub.hidden.add(id);
      more.set(name, stub);
    };
    for (const [box, key] of this.members) {
      for (const [id, out, wire] of this.sourcesOf(box)) {
        const from = keyOf.get(id);
        if (from !== undefined && from !== key) {
          connect(from, key, wire, out < 0);
        } else if (from === undefined && boxes[id].kind !== "constant") {
          hide(key, id, "up");
        }
      }
      for (const [id] of this.center === null ? [] : box.clients) {
        if (!keyOf.has(id) && box.owner === null) {
          hide(key, id, "down");
        }
      }
    }
    for (const stub of more.values()) {
      items.set(stub.key, { ...stub, parent: items.get(stub.of).parent });
      const [from, to] = stub.side === "up" ? [stub.key, stub.of] : [stub.of, stub.key];
      connect(from, to, null, true);
    }
    this.shorten(items, edges);
    return { items, edges, truncated: this.truncated };
  }

  // A layered layout takes time for every row that a wire passes. Where that is too much, as for an input that a long
  // chain uses at each step, the longest wires are not drawn: a sign beside their end says where they come from.
  shorten(items, edges) {
    const rows = rowsOf(items, edges);
    const length = ({ from, to }) => rows.get(to) - rows.get(from) - 1;
    const longest = [...edges].filter(([, edge]) => length(edge) > 0).sort(([, a], [, b]) => length(b) - length(a));
    let total = longest.reduce((sum, [, edge]) => sum + length(edge), 0);
    for (const [name, edge] of longest) {
      const source = items.get(edge.from);
      if (total <= ROWS_PASSED * Math.max(items.size, BUDGET / 2)) {
        break;
      }
      total -= length(edge);
      edges.delete(name);
      const key = `far${name}`;
      items.set(key, { key, kind: "far", source, parent: items.get(edge.to).parent });
      edges.set(key, { ...edge, from: key, dashed: true });
    }
  }

  // Changes

  toggle(group) {
    this.open.set(group, !this.isOpen(group));
  }

  setScopeLevel(level) {
    this.scopeLevel = Math.max(0, Math.min(level, this.model.deepestScope));
    for (const group of [...this.open.keys()].filter((known) => known.kind === "scope")) {
      this.open.delete(group);
    }
  }

  setDepth(depth) {
    this.depth = depth >= this.deepest ? Infinity : Math.max(1, depth);
    this.center = null;
    this.extra.clear();
  }

  setCut(id, isCut) {
    this.cut[isCut ? "add" : "delete"](id);
    this.center = null;
    this.distance = this.measure();
  }

  // Bring the next of the boxes behind a "more".
  reveal(stub) {
    const owner = Number(stub.of.slice(1));
    if (stub.of.startsWith("b") && this.cut.has(owner)) {
      this.setCut(owner, false);
      return;
    }
    [...stub.hidden].slice(0, AT_ONCE).forEach((id) => this.extra.add(this.model.outermost(this.model.boxes[id]).id));
  }

  lookAround(id) {
    this.center = id;
    this.extra.clear();
  }

  // Make sure that a box is drawn.
  show(box) {
    for (let group = box.group; group; group = group.parent) {
      this.open.set(group, true);
    }
    this.constants ||= box.kind === "constant";
    const id = this.model.outermost(box).id;
    const drawn = this.chosen(this.most);
    if (drawn.has(`b${box.id}`) || this.dissolved(box)) {
      return;
    }
    this.extra.add(id);
    // A box far from all that is drawn is looked at on its own.
    const beside = [...this.model.boxes[id].wires, ...this.model.boxes[id].clients];
    if (!beside.some(([other]) => drawn.has(`b${other}`)) || !this.chosen(this.most).has(`b${box.id}`)) {
      this.lookAround(id);
    }
  }
}
