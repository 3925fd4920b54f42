// The rules that fired between two graphs: choosing one marks what it touched on both sides.

class Rules {
  constructor(section, rules, page) {
    this.page = page;
    this.section = section;
    this.chosen = null;
    const count = rules.reduce((sum, rule) => sum + rule.firings.length, 0);
    const list = make("ol", { id: "rule-list" }, ...rules.map((rule) => this.row(rule)));
    section.hidden = false;
    section.append(
      make("h2", {}, "Rules that fired"),
      make("p", { class: "hint" }, rules.length ? `${counted(rules.length, "rule")}, ${counted(count, "change")}. Click one to mark what it touched.` : "None were given."),
      list,
    );
  }

  row(rule) {
    const firings = make("ol", { class: "firings", hidden: true }, ...rule.firings.map((firing) => this.firing(firing)));
    const head = make("button", { type: "button", class: "rule", "aria-expanded": "false" },
      make("span", {}, rule.rule), make("small", {}, `× ${rule.firings.length}`));
    const parts = { head, firings, all: rule.firings };
    head.addEventListener("click", () => this.choose(this.chosen === parts ? null : parts));
    return make("li", {}, head, firings);
  }

  firing(firing) {
    const text = [firing.phase, firing.op].filter(Boolean).join(": ") || "change";
    const place = firing.line ? make("small", {}, firing.line) : null;
    return make("li", {}, make("button", { type: "button", class: "firing", onclick: () => this.mark([firing]) }, text, place));
  }

  choose(parts) {
    if (this.chosen) {
      this.chosen.firings.hidden = true;
      this.chosen.head.setAttribute("aria-expanded", "false");
    }
    this.chosen = parts;
    if (parts) {
      parts.firings.hidden = false;
      parts.head.setAttribute("aria-expanded", "true");
    }
    this.mark(parts ? parts.all : []);
  }

  mark(firings) {
    this.page.isMarking = firings.length > 0;
    ["before", "after"].forEach((side, at) => {
      const view = this.page.views[at];
      view.marked = new Set(firings.flatMap((firing) => firing[side]));
      view.mark();
      // Marks that are not drawn are brought, the first ones only.
      const missing = [...view.marked].filter((id) => !view.shapes.has(view.visibility.itemOf(view.model.boxes[id])?.key));
      if (missing.length) {
        missing.slice(0, AT_ONCE).forEach((id) => view.visibility.extra.add(id));
        view.draw().then(() => view.fit());
      }
    });
  }
}
