// How boxes look: Netron's nodes and edges, with an outline for each kind of box.

const { Graph, Node, Edge } = globalThis.treadleGrapher;

const SVG = "http://www.w3.org/2000/svg";

const round = (w, h, r) =>
  `M${r},0H${w - r}a${r},${r} 0 0 1 ${r},${r}V${h - r}a${r},${r} 0 0 1 ${-r},${r}H${r}a${r},${r} 0 0 1 ${-r},${-r}V${r}a${r},${r} 0 0 1 ${r},${-r}z`;

const OUTLINES = {
  input: (w, h) => round(w, h, h / 2),
  shared: (w, h) => `M12,0H${w - 12}L${w},${h / 2}L${w - 12},${h}H12L0,${h / 2}z`,
  constant: (w, h) => round(w, h, 3),
  output: (w, h) => `M0,0H${w}V${h - 9}L${w / 2},${h + 3}L0,${h - 9}z`,
  scope: (w, h) => `${round(w, h, 7)}M-4,7V${h - 3}a7,7 0 0 0 7,7H${w - 7}H3a7,7 0 0 1 -7,-7V7`,
  more: (w, h) => round(w, h, h / 2),
  far: (w, h) => round(w, h, h / 2),
};

const COLOURS = 8; // of ops, by class: see page.css

class Shape extends Node {
  constructor(item, name) {
    super();
    this.item = item;
    this.name = name;
    this.id = name;
    this.class = `kind-${item.kind}`;
  }

  // Add lines of text: each a header of its own, since headers may have any text.
  text(content, style, padding) {
    const entry = this.header().add(null, [style]);
    entry.content = content;
    entry.padding = padding;
    return entry;
  }

  // Netron draws the border last: one that is filled belongs under the text.
  build(page, parent) {
    super.build(page, parent);
    if (OUTLINES[this.item.kind]) {
      this.element.prepend(this.border);
    }
  }

  update() {
    super.update();
    const outline = OUTLINES[this.item.kind];
    if (outline) {
      this.border.setAttribute("d", outline(this.width, this.height));
    }
  }
}

const leafShape = (item, name) => {
  const { box } = item;
  const shape = new Shape(item, name);
  const padding = { shared: 18, input: 16 }[box.kind] ?? 10;
  shape.text(box.update ? `update of ${box.label}` : box.label, "leaf-name", padding);
  return shape;
};

// An op, on one line: its name on a coloured ground, constant inputs, what comes out, time.
const opShape = (item, name, view) => {
  const { box } = item;
  const shape = new Shape(item, name);
  const header = shape.header();
  const add = (style, content, tooltip) => {
    const entry = header.add(null, [style, `colour-${view.colourOf(box)}`]);
    Object.assign(entry, { content, tooltip, padding: 6 });
  };
  add("op-name", box.label);
  if (box.inner !== undefined) {
    add("opener", "+", "Open the graph inside");
  }
  const constants = box.wires.flatMap(([source], position) => {
    const from = view.model.boxes[source];
    return from.kind === "constant" && !view.visibility.constants ? [[clip(from.name, 12), `input ${position}: ${from.name}`]] : [];
  });
  for (const [content, tooltip] of constants.slice(0, 3)) {
    add("constant-part", content, tooltip);
  }
  const [out] = box.outs;
  if (out && !view.brief) {
    const rest = box.outs.length > 1 ? `, … ${box.outs.length} outputs` : "";
    add("type-part", `${out.name ? `${clip(out.name, 20)}: ` : ""}${clip(briefType(out.type), 30)}${rest}`);
  }
  if (box.seconds !== undefined) {
    add("time-part", briefTime(box.seconds));
  }
  return shape;
};

const scopeShape = (item, name) => {
  const shape = new Shape(item, name);
  const header = shape.header();
  header.add(null, ["scope-name"]).content = clip(item.group.label, 34);
  const opener = header.add(null, ["opener"]);
  opener.content = "+";
  opener.tooltip = "Open this name scope";
  shape.text(counted(item.group.size, "box"), "scope-size", 8);
  return shape;
};

const moreShape = (item, name) => {
  const shape = new Shape(item, name);
  shape.text(`${item.hidden.size} more`, "more-name", 12);
  return shape;
};

const farShape = (item, name) => {
  const shape = new Shape(item, name);
  shape.text(`from ${item.source.box?.label ?? item.source.group?.label ?? "afar"}`, "more-name", 12);
  return shape;
};

const shapeOf = (item, name, view) => {
  if (item.kind === "op") {
    return opShape(item, name, view);
  }
  return { scope: scopeShape, more: moreShape, far: farShape }[item.kind]?.(item, name) ?? leafShape(item, name);
};

class Wire extends Edge {
  constructor(from, to, edge, view) {
    super(from, to);
    Object.assign(this, { v: from.name, w: to.name, carried: edge.wires });
    this.class = edge.dashed ? "dashed" : "";
    const isLeaf = edge.wires.every((wire) => wire && !view.model.boxes[wire[0]].wires.length);
    this.weight = isLeaf ? 1 : 3;
    this.focus = () => view.tell(this);
    this.blur = () => view.tell(null);
  }
}
