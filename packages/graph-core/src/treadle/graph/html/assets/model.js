// The graph as the page works with it. A graph inside an op is copied for each node of the op, into one list of boxes;
// groups (name scopes, and the insides of ops) form a tree above the boxes.

const MOST_COPIES = 50_000; // boxes; inner graphs beyond are copied when they are opened

const counted = (count, thing) => `${count} ${count === 1 ? thing : { box: "boxes" }[thing] ?? `${thing}s`}`;

const clip = (text, length) => (text.length <= length ? text : `${text.slice(0, length - 1)}…`);

class Model {
  constructor(data) {
    this.data = data;
    this.boxes = [];
    this.groups = [];
    this.insides = new Map(); // position of an op's box -> { base, inputs, outputs, group }
    this.groupKeys = new Map();
    const outer = this.addCopy(0, null);
    this.outer = outer;
    this.outerCount = this.boxes.length;
    for (let id = 0; id < this.boxes.length && this.boxes.length < MOST_COPIES; id += 1) {
      this.openCopy(id);
    }
    this.deepestScope = this.groups.reduce((most, group) => Math.max(most, group.level), 0);
    this.seconds = this.boxes.reduce((sum, box) => (box.owner === null ? sum + (box.seconds ?? 0) : sum), 0);
  }

  addCopy(number, owner) {
    const { data } = this;
    const graph = data.graphs[number];
    const base = this.boxes.length;
    const inside = owner === null ? null : this.addGroup("inside", `inside ${owner}`, owner.label, owner.group, owner.id);
    graph.boxes.forEach((raw, at) => {
      const op = raw.kind === "op" ? data.ops[raw.op] : null;
      const name = op ? op.name : raw.name;
      this.boxes.push({
        id: base + at,
        kind: raw.kind,
        op,
        name,
        label: clip(name, 34),
        wires: Array.from({ length: (raw.in ?? []).length / 2 }, (_, i) => [base + raw.in[2 * i], raw.in[2 * i + 1]]),
        outs: (raw.out ?? []).map(([type, title]) => ({ type: data.types[type], name: title })),
        line: raw.line === undefined ? null : data.lines[raw.line],
        scope: raw.scope === undefined ? "" : data.scopes[raw.scope],
        seconds: raw.seconds,
        update: raw.update === true,
        inner: raw.inner,
        clients: [],
        owner: owner === null ? null : owner.id,
        group: inside,
      });
    });
    for (let id = base; id < this.boxes.length; id += 1) {
      const box = this.boxes[id];
      box.wires.forEach(([source], position) => this.boxes[source].clients.push([id, position]));
      box.group = this.scopeGroup(inside, box.scope);
    }
    this.placeConstants(base);
    this.countGroups(base);
    const inputs = graph.inputs.map((at) => base + at);
    const outputs = graph.outputs.map((at) => base + at);
    return { base, inputs, outputs, group: inside };
  }

  // The inside of an op's box, copied now if it was not; null for a box without one.
  openCopy(id) {
    const box = this.boxes[id];
    if (box.inner === undefined) {
      return null;
    }
    if (!this.insides.has(id)) {
      this.insides.set(id, this.addCopy(box.inner, box));
    }
    return this.insides.get(id);
  }

  addGroup(kind, key, label, parent, box) {
    const level = kind === "scope" ? (parent?.kind === "scope" ? parent.level : 0) + 1 : 0;
    const group = { id: this.groups.length, kind, label, parent, level, box, size: 0, path: label };
    this.groups.push(group);
    this.groupKeys.set(key, group);
    return group;
  }

  scopeGroup(inside, scope) {
    let group = inside;
    for (const part of scope ? scope.split("/") : []) {
      const key = `scope ${group ? group.id : ""}/${part}`;
      const path = group?.kind === "scope" ? `${group.path}/${part}` : part;
      group = this.groupKeys.get(key) ?? this.addGroup("scope", key, part, group, null);
      group.path = path;
    }
    return group;
  }

  // A constant belongs where it is used, if that is in one place only.
  placeConstants(base) {
    for (let id = base; id < this.boxes.length; id += 1) {
      const box = this.boxes[id];
      if (box.kind === "constant" && box.clients.length) {
        const group = this.boxes[box.clients[0][0]].group;
        box.group = box.clients.every(([client]) => this.boxes[client].group === group) ? group : box.group;
      }
    }
  }

  countGroups(base) {
    for (let id = base; id < this.boxes.length; id += 1) {
      if (this.boxes[id].kind !== "constant") {
        for (let group = this.boxes[id].group; group; group = group.parent) {
          group.size += 1;
        }
      }
    }
  }

  // The box of the outer graph that a box is in.
  outermost(box) {
    while (box.owner !== null) {
      box = this.boxes[box.owner];
    }
    return box;
  }

  typeOf([source, out]) {
    return this.boxes[source].outs[out];
  }

  // Boxes in which every word of the query occurs, those with the query in their names first.
  search(query, most) {
    const wanted = query.trim().toLowerCase();
    const words = wanted.split(/\s+/).filter(Boolean);
    const [named, others] = [[], []];
    let total = 0;
    for (const box of words.length ? this.boxes : []) {
      const text = this.searchText(box);
      if (words.every((word) => text.includes(word))) {
        total += 1;
        const list = [box.name, ...box.outs.map((out) => out.name ?? "")].some((name) => name.toLowerCase().includes(wanted)) ? named : others;
        if (list.length < most) {
          list.push(box);
        }
      }
    }
    return { found: [...named, ...others].slice(0, most), total };
  }

  searchText(box) {
    const parts = [box.name, box.scope, box.kind];
    if (box.op) {
      parts.push(box.op.class);
    }
    if (box.line) {
      parts.push(`${box.line.file}:${box.line.line}`, box.line.text);
    }
    for (const out of box.outs) {
      parts.push(out.name ?? "", out.type.text, briefType(out.type));
    }
    return parts.join("\n").toLowerCase();
  }
}

const briefType = (type) => (type.dtype && type.shape !== undefined ? `${type.dtype} ${type.shape}` : type.text);

const briefLine = (line) => `${line.file.split(/[\\/]/).pop()}:${line.line}`;

const briefTime = (seconds) => {
  const units = [[1, "s"], [1e3, "ms"], [1e6, "µs"], [1e9, "ns"]];
  const [scale, unit] = units.find(([factor]) => seconds * factor >= 1) ?? units.at(-1);
  return `${(seconds * scale).toPrecision(3)} ${unit}`;
};
