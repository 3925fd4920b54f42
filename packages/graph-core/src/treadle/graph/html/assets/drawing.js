// One graph on the screen: drawing, panning, zooming, selecting.

const svgElement = (tag, attributes = {}, text = "") => {
  const element = document.createElementNS(SVG, tag);
  Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
  element.textContent = text;
  return element;
};

const LEAST_SCALE = 0.12; // of a whole picture at first

class View {
  constructor(model, pane, number, page) {
    Object.assign(this, { model, pane, number, page });
    this.visibility = new Visibility(model);
    this.visibility.fitBudget();
    this.layouter = new Layouter();
    this.at = { x: 0, y: 0, k: 1 };
    this.selected = null; // key of an item
    this.marked = new Set(); // boxes touched by the rule chosen
    this.run = 0;
    this.svg = svgElement("svg", { class: "graph", tabindex: "0", role: "application" });
    this.svg.setAttribute("aria-label", `${model.data.label ?? ""} graph ${model.data.name}`.trim());
    this.world = svgElement("g", { class: "world" });
    this.svg.append(this.world);
    this.notice = document.createElement("p");
    this.notice.className = "notice";
    pane.append(this.svg, this.notice);
    this.listen();
  }

  colourOf(box) {
    return this.page.colourOf(box.op.class);
  }

  // Draw what is visible; keep one item where it is on the screen, if it is drawn before and after.
  async draw(anchor = null, fit = false) {
    this.run += 1;
    const { run } = this;
    this.pane.dataset.state = "busy";
    document.documentElement.dataset.state = "busy";
    const held = anchor && this.shapes?.get(anchor) ? { key: anchor, ...this.toScreen(this.shapes.get(anchor)) } : null;
    const picture = this.visibility.picture();
    this.brief = picture.items.size > 250;
    const built = this.build(picture);
    built.world.style.opacity = 0;
    this.svg.append(built.world);
    built.graph.build(document, built.world);
    await built.graph.measure();
    this.notice.textContent = picture.items.size >= SMALL ? `Laying out ${picture.items.size} boxes …` : "";
    this.layouter.window = { width: this.svg.clientWidth || 800, height: this.svg.clientHeight || 600 };
    const outcome = await built.graph.layout(this.layouter);
    if (outcome || run !== this.run) { // a later call took over
      built.world.remove();
      return;
    }
    built.graph.update();
    this.finish(built, picture);
    if (fit || !held || !this.shapes.get(held.key)) {
      this.begin();
    } else {
      const now = this.toScreen(this.shapes.get(held.key));
      this.moveTo(this.at.x + held.x - now.x, this.at.y + held.y - now.y, this.at.k);
    }
  }

  build({ items, edges }) {
    const groups = new Set();
    for (const item of items.values()) {
      for (let group = item.parent; group; group = group.parent) {
        groups.add(group);
      }
    }
    const graph = new Graph(groups.size > 0);
    graph.options = { direction: "vertical" };
    const name = (key) => `v${this.number}-${key}`;
    const shapes = new Map();
    const clusters = [];
    for (const group of groups) {
      const cluster = { name: name(`g${group.id}`), group, width: 8 * Math.min(group.label.length, 24) + 30, height: 44 };
      clusters.push(cluster);
      graph.setNode(cluster);
    }
    for (const item of items.values()) {
      const shape = shapeOf(item, name(item.key), this);
      shapes.set(item.key, shape);
      graph.setNode(shape);
    }
    for (const { name: child, group } of clusters.filter((cluster) => cluster.group.parent)) {
      graph.setParent(child, name(`g${group.parent.id}`));
    }
    for (const item of items.values()) {
      if (item.parent) {
        graph.setParent(name(item.key), name(`g${item.parent.id}`));
      }
    }
    const wires = [];
    for (const edge of edges.values()) {
      const wire = new Wire(shapes.get(edge.from), shapes.get(edge.to), edge, this);
      wires.push(wire);
      graph.setEdge(wire);
    }
    return { graph, shapes, clusters, wires, world: svgElement("g", { class: "world" }) };
  }

  finish({ graph, shapes, clusters, wires, world }, picture) {
    this.world.remove();
    world.style.opacity = "";
    Object.assign(this, { world, shapes, wires, graph });
    for (const cluster of clusters) {
      this.labelCluster(cluster);
    }
    for (const [key, shape] of shapes) {
      shape.element.setAttribute("aria-label", this.page.titleOf(shape.item));
      shape.element.setAttribute("role", "button");
      shape.element.dataset.key = key;
      shape.element.append(svgElement("title", {}, this.page.titleOf(shape.item)));
    }
    this.mark();
    if (this.selected && !shapes.has(this.selected)) {
      this.selected = null;
    }
    this.highlight();
    const { size } = picture.items;
    this.notice.textContent = picture.truncated
      ? `Only ${size} boxes are drawn. Close name scopes, lower the depth, or search and look around one box.`
      : "";
    Object.assign(this.pane.dataset, { state: "ready", boxes: size, edges: wires.length, groups: clusters.length });
    this.page.drawn();
  }

  labelCluster({ element, group, width, height, name }) {
    element.classList.add(`is-${group.kind}`);
    element.id = name;
    const label = svgElement("g", { class: "cluster-label", "data-path": group.path, transform: `translate(${-width / 2},${-height / 2})` });
    const text = svgElement("text", { x: 10, y: 17 }, `− ${clip(group.label, Math.max(8, Math.floor(width / 8)))}`);
    text.append(svgElement("title", {}, `Close ${group.path}`));
    label.append(text);
    label.addEventListener("click", (event) => {
      event.stopPropagation();
      this.toggle(group);
    });
    element.append(label);
  }

  // Places

  toScreen({ x, y }) {
    return { x: x * this.at.k + this.at.x, y: y * this.at.k + this.at.y };
  }

  moveTo(x, y, k) {
    this.at = { x, y, k };
    this.world.setAttribute("transform", `translate(${x},${y}) scale(${k})`);
    this.pane.dataset.view = [x, y, k].map((part) => part.toFixed(3)).join(" ");
  }

  zoom(factor, x = this.svg.clientWidth / 2, y = this.svg.clientHeight / 2) {
    const k = Math.max(0.01, Math.min(4, this.at.k * factor));
    const scale = k / this.at.k;
    this.moveTo(x - (x - this.at.x) * scale, y - (y - this.at.y) * scale, k);
  }

  fit() {
    const { width = 1, height = 1, originX = 0, originY = 0 } = this.graph ?? {};
    const [w, h] = [this.svg.clientWidth || 800, this.svg.clientHeight || 600];
    const k = Math.min(1.25, (w - 32) / width, (h - 32) / height);
    this.moveTo((w - width * k) / 2 - originX * k, (h - height * k) / 2 - originY * k, k);
  }

  // Show everything, or where that would be too small to read, the first output.
  begin() {
    this.fit();
    const last = [...this.shapes.values()].find(({ item }) => item.kind === "output");
    if (this.at.k < LEAST_SCALE && last) {
      const k = 0.6;
      this.moveTo(this.svg.clientWidth / 2 - last.x * k, this.svg.clientHeight * 0.85 - last.y * k, k);
    }
  }

  centerOn(key) {
    const shape = this.shapes.get(key);
    if (shape) {
      const k = Math.max(this.at.k, 0.8);
      this.moveTo(this.svg.clientWidth / 2 - shape.x * k, this.svg.clientHeight / 2 - shape.y * k, k);
    }
  }

  // Selection

  select(key, isQuiet = false) {
    this.selected = this.shapes.has(key) ? key : null;
    this.highlight();
    if (!isQuiet) {
      this.page.selected(this, this.selected ? this.shapes.get(key).item : null);
    }
  }

  highlight() {
    for (const [key, shape] of this.shapes) {
      shape.element.classList.toggle("select", key === this.selected);
    }
    for (const wire of this.wires) {
      const beside = this.selected && [wire.from, wire.to].includes(this.shapes.get(this.selected));
      wire.element.classList.toggle("select", Boolean(beside));
    }
  }

  mark() {
    const shown = new Set();
    for (const id of this.marked) {
      const item = this.visibility.itemOf(this.model.boxes[id]);
      shown.add(item?.key);
    }
    this.pane.classList.toggle("marking", this.page.isMarking);
    for (const [key, shape] of this.shapes ?? []) {
      shape.element.classList.toggle("marked", shown.has(key));
    }
    this.pane.dataset.marked = [...(this.shapes ?? new Map()).keys()].filter((key) => shown.has(key)).length;
  }

  // Show a box, wherever it is, and select it.
  async goTo(id) {
    const box = this.model.boxes[id];
    const key = `b${id}`;
    if (!this.shapes?.has(key)) {
      this.visibility.show(box);
      await this.draw();
    }
    this.centerOn(key);
    this.select(key);
  }

  toggle(group) {
    this.visibility.toggle(group);
    const kept = group.kind === "scope" ? `s${group.id}` : `b${group.box}`;
    const anchor = this.shapes.has(kept) ? kept : null;
    return this.draw(anchor, anchor === null && this.model.groups.length < 2);
  }

  // Open or close what an item stands for.
  activate(item) {
    if (item.kind === "scope") {
      return this.toggle(item.group);
    }
    if (item.kind === "far") {
      this.centerOn(item.source.key);
      this.select(item.source.key);
      return null;
    }
    if (item.kind === "more") {
      this.visibility.reveal(item);
      return this.draw(item.of);
    }
    const inside = this.model.openCopy(item.box.id);
    return inside ? this.toggle(inside.group) : null;
  }

  // Steps with the arrow keys: to the first input, the first client, or the neighbours in a row.
  step(direction) {
    const from = this.shapes.get(this.selected);
    if (!from) {
      const first = [...this.shapes.keys()].at(0);
      return first && this.select(first);
    }
    const others = direction === "ArrowUp" || direction === "ArrowDown" ? this.linked(from, direction) : this.row(from, direction);
    const [next] = others.sort((a, b) => Math.abs(a.x - from.x) - Math.abs(b.x - from.x));
    if (next) {
      this.select(next.item.key);
      this.centerOn(next.item.key);
    }
    return next;
  }

  linked(from, direction) {
    const [here, there] = direction === "ArrowUp" ? ["to", "from"] : ["from", "to"];
    return this.wires.filter((wire) => wire[here] === from).map((wire) => wire[there]);
  }

  row(from, direction) {
    const sign = direction === "ArrowLeft" ? -1 : 1;
    const isBeside = (shape) => Math.abs(shape.y - from.y) < from.height && (shape.x - from.x) * sign > 1;
    return [...this.shapes.values()].filter(isBeside);
  }

  tell(wire) {
    wire?.element.classList.add("hover");
    for (const other of this.wires) {
      if (other !== wire) {
        other.element.classList.remove("hover");
      }
    }
    this.page.tip(wire ? this.page.textOf(wire, this.model) : "");
  }

  // Mouse, touch and wheel

  listen() {
    const { svg } = this;
    const pointers = new Map();
    let moved = false;
    svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      const frame = svg.getBoundingClientRect();
      const step = event.deltaMode === 1 ? event.deltaY * 30 : event.deltaY;
      this.zoom(Math.exp(-step / 500), event.clientX - frame.left, event.clientY - frame.top);
    }, { passive: false });
    svg.addEventListener("pointerdown", (event) => {
      pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      moved = false;
    });
    svg.addEventListener("pointermove", (event) => {
      const last = pointers.get(event.pointerId);
      if (!last) {
        return;
      }
      const [dx, dy] = [event.clientX - last.x, event.clientY - last.y];
      if (!moved && Math.hypot(dx, dy) < 4) {
        return;
      }
      if (!moved) {
        moved = true;
        svg.setPointerCapture(event.pointerId);
      }
      this.drag(pointers, event, dx, dy);
      pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    });
    for (const end of ["pointerup", "pointercancel"]) {
      svg.addEventListener(end, (event) => pointers.delete(event.pointerId));
    }
    svg.addEventListener("click", (event) => moved || this.click(event));
    svg.addEventListener("dblclick", (event) => {
      const shape = this.shapes.get(event.target.closest("[data-key]")?.dataset.key);
      if (shape) {
        this.activate(shape.item);
      }
    });
  }

  drag(pointers, event, dx, dy) {
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) { // two fingers
      const before = pointers.get(event.pointerId);
      const spread = (point) => Math.max(1, Math.hypot(point.x - other.x, point.y - other.y));
      const frame = this.svg.getBoundingClientRect();
      this.zoom(spread({ x: event.clientX, y: event.clientY }) / spread(before), other.x - frame.left, other.y - frame.top);
    } else {
      this.moveTo(this.at.x + dx, this.at.y + dy, this.at.k);
    }
  }

  click(event) {
    const key = event.target.closest("[data-key]")?.dataset.key;
    this.svg.focus({ preventScroll: true });
    const shape = this.shapes.get(key);
    if (shape && (["more", "far"].includes(shape.item.kind) || event.target.closest(".opener"))) {
      this.activate(shape.item);
      return;
    }
    this.select(key ?? null);
  }
}
