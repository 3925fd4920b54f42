// The page: its views, and what they share.

class Page {
  constructor(data) {
    this.data = data;
    this.isMarking = false;
    this.waiting = [];
    this.views = [];
    const models = data.graphs.map((graph) => new Model(graph));
    this.countColours(models);
    const panes = document.getElementById("panes");
    models.forEach((model, number) => {
      const pane = make("div", { class: "pane", id: `pane-${number}` });
      if (model.data.label) {
        pane.append(make("h2", { class: "pane-title" }, model.data.label, make("small", {}, ` ${this.sizeOf(model)}`)));
      }
      panes.append(pane);
      const view = new View(model, pane, number, this);
      view.svg.addEventListener("focus", () => { this.active = view; });
      this.views.push(view);
    });
    [this.active] = this.views;
    document.getElementById("counts").textContent = models.length === 1 ? this.sizeOf(models[0]) : "";
    this.details = new Details(document.getElementById("details"), this);
    this.controls = new Controls(document.getElementById("controls"), this);
    this.search = new Search(this);
    this.rules = data.rules ? new Rules(document.getElementById("rules"), data.rules, this) : null;
    legend(document.getElementById("legend"), this);
    document.addEventListener("pointermove", (event) => this.follow(event));
    globalThis.addEventListener("resize", () => this.views.forEach((view) => view.fit()));
  }

  sizeOf(model) {
    const ops = model.boxes.reduce((sum, box) => sum + (box.kind === "op" && box.owner === null ? 1 : 0), 0);
    return counted(ops, "node");
  }

  // Colours go to the most frequent classes of ops, over all graphs.
  countColours(models) {
    const counts = new Map();
    for (const box of models.flatMap((model) => model.boxes)) {
      if (box.op) {
        counts.set(box.op.class, (counts.get(box.op.class) ?? 0) + 1);
      }
    }
    const order = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
    this.colours = order.map(([name, count]) => ({ name, count }));
    this.colourNumbers = new Map(order.map(([name], at) => [name, Math.min(at, COLOURS - 1)]));
  }

  colourOf(name) {
    return this.colourNumbers.get(name);
  }

  async start() {
    await Promise.all(this.views.map((view) => view.draw(null, true)));
  }

  // Apply a change of what is visible to every view.
  change(apply) {
    this.views.forEach((view) => {
      apply(view.visibility);
      view.draw(view.selected, view.selected === null);
    });
  }

  drawn() {
    this.controls.refresh();
    const isReady = this.views.every((view) => view.pane.dataset.state === "ready");
    document.documentElement.dataset.state = isReady ? "ready" : "busy";
  }

  selected(view, item) {
    this.active = view;
    this.views.filter((other) => other !== view && other.shapes).forEach((other) => other.select(null, true));
    this.details.show(view, item);
  }

  reset() {
    this.rules?.choose(null);
    this.active.select(null);
    this.search.open(false);
    this.tip("");
  }

  titleOf(item) {
    if (item.kind === "scope") {
      return `name scope ${item.group.path}, ${counted(item.group.size, "box")}`;
    }
    if (item.kind === "more") {
      return `${counted(item.hidden.size, "box")} not drawn: click to bring more`;
    }
    if (item.kind === "far") {
      return `from ${this.titleOf(item.source)}\nThe wire is too long to be drawn: click to go to where it starts`;
    }
    const { box } = item;
    const what = box.update ? "update of" : KINDS[box.kind];
    const parts = [`${what} ${box.name}`, box.outs[0]?.type.text, box.line && `${briefLine(box.line)}  ${box.line.text}`];
    return parts.filter(Boolean).join("\n");
  }

  // What a wire carries.
  textOf(wire, model) {
    const lines = wire.carried.filter(Boolean).map(([id, out]) => {
      if (out < 0) {
        return "into the graph inside";
      }
      const { name, type } = model.typeOf([id, out]);
      return [name ?? (model.boxes[id].wires.length ? "" : model.boxes[id].name), type.text].filter(Boolean).join(": ");
    });
    const distinct = [...new Set(lines)];
    const rest = distinct.length - 6;
    return [...distinct.slice(0, 6), ...(rest > 0 ? [`and ${rest} more`] : [])].join("\n") || "boxes that are not drawn";
  }

  tip(text) {
    const tip = document.getElementById("tip");
    tip.hidden = !text;
    tip.textContent = text;
  }

  follow(event) {
    const tip = document.getElementById("tip");
    tip.style.left = `${Math.min(event.clientX + 14, innerWidth - 260)}px`;
    tip.style.top = `${event.clientY + 16}px`;
  }
}

try {
  globalThis.treadlePage = new Page(JSON.parse(document.getElementById("data").textContent));
  await globalThis.treadlePage.start();
} catch (error) {
  document.documentElement.dataset.state = "failed";
  document.getElementById("panes").replaceChildren(make("p", { class: "notice" }, `The graph could not be drawn: ${error.message}`));
  throw error;
}
