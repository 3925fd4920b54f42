// The tool bar, the legend and the keys.

class Controls {
  constructor(bar, page) {
    this.page = page;
    const { views } = page;
    this.scopes = this.stepper("Name scopes", (by) => page.change((v) => v.setScopeLevel(v.scopeLevel + by)));
    this.depth = this.stepper("Depth", (by) => page.change((v) => v.setDepth(this.nextDepth(v, by))));
    this.all = make("button", { type: "button", id: "everything", title: "Draw all there is room for" }, "All");
    this.all.addEventListener("click", () => page.change((v) => {
      v.setScopeLevel(v.model.deepestScope);
      v.most = MOST_DRAWN;
      v.cut.clear();
      v.distance = v.measure();
      v.setDepth(Infinity);
    }));
    this.direction = make("select", { id: "direction", "aria-label": "Direction", title: "Direction in which values flow" },
      ...["auto", "down", "right"].map((value) => make("option", { value }, `flow: ${value}`)));
    this.direction.addEventListener("change", () => views.forEach((view) => {
      view.layouter.direction = this.direction.value;
      view.draw(null, true);
    }));
    this.constants = make("input", { type: "checkbox", id: "constants" });
    this.constants.addEventListener("change", () => page.change((v) => { v.constants = this.constants.checked; }));
    const button = (id, text, title, onclick) => make("button", { type: "button", id, title, "aria-label": title, onclick }, text);
    bar.append(
      ...(views.some((view) => view.model.deepestScope > 0) ? [this.scopes.element] : []),
      this.depth.element,
      this.all,
      this.direction,
      make("label", {}, this.constants, " constants"),
      button("zoom-out", "−", "Zoom out", () => views.forEach((view) => view.zoom(1 / 1.3))),
      button("zoom-in", "+", "Zoom in", () => views.forEach((view) => view.zoom(1.3))),
      button("fit", "Fit", "Fit the whole picture", () => views.forEach((view) => view.fit())),
    );
    document.addEventListener("keydown", (event) => this.key(event));
  }

  stepper(title, change) {
    const name = title.toLowerCase().replace(" ", "-");
    const value = make("output", { id: `${name}-value` });
    const step = (id, text, by) => make("button", { type: "button", id: `${name}-${id}`, "aria-label": `${id} ${title}`, onclick: () => change(by) }, text);
    const element = make("span", { class: "stepper", role: "group", "aria-label": title }, `${title} `, step("less", "−", -1), value, step("more", "+", 1));
    return { element, value };
  }

  nextDepth(visibility, by) {
    const { depth, deepest } = visibility;
    return depth === Infinity ? (by < 0 ? deepest - 1 : Infinity) : depth + by;
  }

  refresh() {
    const [first] = this.page.views;
    const levels = this.page.views.map(({ visibility, model }) => `${visibility.scopeLevel}/${model.deepestScope}`);
    this.scopes.value.textContent = [...new Set(levels)].join(" ");
    const { depth, center } = first.visibility;
    this.depth.value.textContent = center !== null ? "around one" : depth === Infinity ? "all" : String(depth);
    this.constants.checked = first.visibility.constants;
  }

  key(event) {
    const { target, key } = event;
    if (target.closest("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const view = this.page.active;
    const actions = {
      "/": () => document.getElementById("query").focus(),
      f: () => this.page.views.forEach((each) => each.fit()),
      "+": () => view.zoom(1.3),
      "=": () => view.zoom(1.3),
      "-": () => view.zoom(1 / 1.3),
      Escape: () => this.page.reset(),
    };
    if (target.closest("svg.graph")) {
      actions.Enter = () => view.shapes.get(view.selected) && view.activate(view.shapes.get(view.selected).item);
      ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"].forEach((arrow) => { actions[arrow] = () => view.step(arrow); });
    }
    if (actions[key]) {
      event.preventDefault();
      actions[key]();
    }
  }
}

// What shapes and colours mean: only what is in these graphs.
const legend = (section, page) => {
  const kinds = new Set(page.views.flatMap(({ model }) => model.boxes.map((box) => box.kind)));
  if (page.views.some(({ model }) => model.deepestScope > 0)) {
    kinds.add("scope");
  }
  const swatch = (kind) => {
    const outline = OUTLINES[kind] ?? ((w, h) => round(w, h, 4));
    const sign = svgElement("svg", { class: "swatch", viewBox: "-5 -2 44 26", "aria-hidden": "true" });
    const group = svgElement("g", { class: `node kind-${kind}` });
    group.append(svgElement("path", { class: "node node-border", d: outline(34, 18) }));
    sign.append(group);
    return sign;
  };
  const shapes = Object.keys(KINDS).filter((kind) => kinds.has(kind)).map((kind) => make("li", {}, swatch(kind), KINDS[kind]));
  const colours = page.colours.slice(0, COLOURS - 1).map(({ name, count }, at) =>
    make("li", {}, make("i", { class: `chip colour-${at}` }), `${name} `, make("small", {}, String(count))));
  if (page.colours.length >= COLOURS) {
    colours.push(make("li", {}, make("i", { class: `chip colour-${COLOURS - 1}` }), "other ops"));
  }
  section.replaceChildren(
    make("h3", {}, "Legend"),
    make("ul", {}, ...shapes),
    make("ul", {}, ...colours),
    make("p", { class: "hint" }, "Drag to pan, wheel to zoom, click to select, double-click to open or close. "
      + "Keys: / search, f fit, + − zoom, arrows walk, Enter opens, Esc clears."),
  );
};
