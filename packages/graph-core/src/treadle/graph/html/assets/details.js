// The panel beside the graph: what is known of the item selected.

// Make an element; text goes in as text, whatever it contains.
const make = (tag, attributes = {}, ...content) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), value);
    } else if (value !== false && value !== null) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...content.filter((part) => part !== null && part !== undefined));
  return element;
};

const KINDS = {
  op: "op",
  input: "input",
  shared: "shared variable",
  constant: "constant",
  output: "output",
  scope: "name scope",
  more: "not drawn",
};

const MOST_LINKS = 30;

class Details {
  constructor(section, page) {
    this.section = section;
    this.page = page;
    this.clear();
  }

  clear() {
    this.section.replaceChildren(make("p", { class: "hint" }, "Click a box to see its op, types, shapes and line."));
  }

  show(view, item) {
    if (!item) {
      this.clear();
      return;
    }
    const parts = item.kind === "scope" ? this.scope(view, item) : this.box(view, item.box);
    const side = view.model.data.label;
    this.section.replaceChildren(make("p", { class: "kind" }, [side, KINDS[item.kind]].filter(Boolean).join(" · ")), ...parts);
  }

  scope(view, { group }) {
    return [
      make("h2", {}, group.path),
      this.rows([["boxes", String(group.size)]]),
      this.buttons([["Open", () => view.toggle(group)]]),
    ];
  }

  box(view, box) {
    return [
      make("h2", {}, box.name),
      this.rows([
        ["class", box.op?.class],
        ...(box.op?.parameters ?? []),
        ["overwrites", box.op?.overwrites],
        ["views", box.op?.views],
        ["name scope", box.scope],
        ["inside", box.owner === null ? null : this.link(view, box.owner)],
        ["updates", box.update ? box.name : null],
      ]),
      this.time(view, box),
      box.line && this.line(box.line),
      ...this.variables("Inputs", box.wires.map((wire) => [wire, this.link(view, wire[0])]), view),
      ...this.outputs(view, box),
      this.actions(view, box),
    ].filter(Boolean);
  }

  rows(pairs) {
    const list = make("dl");
    for (const [title, value] of pairs) {
      if (value !== null && value !== undefined && value !== "") {
        list.append(make("dt", {}, title), make("dd", {}, value));
      }
    }
    return list;
  }

  time(view, box) {
    if (box.seconds === undefined) {
      return null;
    }
    const share = view.model.seconds > 0 ? box.seconds / view.model.seconds : 0;
    return make("p", { class: "time" },
      make("meter", { value: String(share), "aria-label": "share of the time" }),
      ` ${briefTime(box.seconds)}, ${(100 * share).toFixed(1)} % of the time`);
  }

  line(line) {
    return make("figure", { class: "line" },
      make("figcaption", { title: line.file }, briefLine(line)),
      line.text ? make("pre", {}, make("code", {}, line.text)) : null);
  }

  link(view, id) {
    const box = view.model.boxes[id];
    return make("button", { class: `link kind-${box.kind}`, type: "button", onclick: () => view.goTo(id) }, clip(box.name, 60));
  }

  // A titled list of values: who computes or uses each, its name and type.
  variables(title, entries, view) {
    if (!entries.length) {
      return [];
    }
    const rows = entries.slice(0, MOST_LINKS).map(([wire, who]) => {
      const out = view.model.typeOf(wire);
      return make("li", {}, who, ...this.typeText(out));
    });
    const rest = entries.length - rows.length;
    return [
      make("h3", {}, `${title} (${entries.length})`),
      make("ol", { start: "0" }, ...rows),
      rest > 0 ? make("p", { class: "hint" }, `and ${rest} more`) : null,
    ];
  }

  typeText(out) {
    const { type } = out;
    return [
      out.name ? make("b", {}, ` ${out.name}`) : null,
      make("code", { class: "type" }, type.text),
      type.dtype ? make("small", {}, `dtype ${type.dtype}${type.shape === undefined ? "" : `, shape ${type.shape}`}`) : null,
    ];
  }

  outputs(view, box) {
    if (!box.outs.length) {
      return [];
    }
    const parts = [make("h3", {}, box.kind === "op" ? `Outputs (${box.outs.length})` : "Type")];
    const list = make("ol", { start: "0" });
    box.outs.slice(0, MOST_LINKS).forEach((out, position) => {
      const users = box.clients.filter(([client, input]) => view.model.boxes[client].wires[input][1] === position);
      const shown = users.slice(0, MOST_LINKS).map(([client]) => this.link(view, client));
      const rest = users.length - shown.length;
      list.append(make("li", {}, ...this.typeText(out),
        make("span", { class: "users" }, users.length ? "used by " : "not used", ...shown, rest > 0 ? ` and ${rest} more` : null)));
    });
    return [...parts, list];
  }

  actions(view, box) {
    const { visibility, model } = view;
    const id = model.outermost(box).id;
    const redraw = () => view.draw(`b${box.id}`);
    const inside = model.openCopy(box.id);
    const choices = [["Look around", () => { visibility.lookAround(id); redraw(); }]];
    if (box.owner === null && box.wires.length) {
      const isCut = visibility.cut.has(id);
      choices.push([isCut ? "Show what feeds it" : "Hide what feeds it", () => { visibility.setCut(id, !isCut); redraw(); }]);
    }
    if (inside) {
      choices.push([visibility.isOpen(inside.group) ? "Close the inside" : "Open the inside", () => view.toggle(inside.group)]);
    }
    return this.buttons(choices);
  }

  buttons(choices) {
    return make("p", { class: "actions" }, ...choices.map(([text, onclick]) => make("button", { type: "button", onclick }, text)));
  }
}
