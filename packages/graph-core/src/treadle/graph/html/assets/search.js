// The search box: results as one types, over all views.

const MOST_HITS = 200;

class Search {
  constructor(page) {
    this.page = page;
    this.query = document.getElementById("query");
    this.list = document.getElementById("hits");
    this.chosen = -1;
    this.hits = [];
    this.query.addEventListener("input", () => this.look());
    this.query.addEventListener("focus", () => this.hits.length && this.open(true));
    this.query.addEventListener("keydown", (event) => this.key(event));
    this.query.form.addEventListener("submit", (event) => event.preventDefault());
    document.addEventListener("pointerdown", (event) => {
      if (!event.target.closest("#search")) {
        this.open(false);
      }
    });
  }

  look() {
    this.hits = [];
    let count = 0;
    for (const view of this.page.views) {
      const { found, total } = view.model.search(this.query.value, MOST_HITS);
      this.hits.push(...found.map((box) => ({ view, box })));
      count += total;
    }
    this.chosen = -1;
    const rows = this.hits.map((hit, at) => this.row(hit, at));
    if (this.query.value.trim()) {
      const text = count === 0 ? "Nothing found" : counted(count, "box");
      rows.unshift(make("li", { class: "hint" }, count > rows.length ? `${text}, the first ${rows.length}` : text));
    }
    this.list.replaceChildren(...rows);
    this.list.dataset.total = count;
    this.open(rows.length > 0);
  }

  row({ view, box }, at) {
    const place = [view.model.data.label, box.scope, box.line && briefLine(box.line), box.outs[0] && briefType(box.outs[0].type)];
    return make("li", {},
      make("button", { type: "button", class: `link kind-${box.kind}`, onclick: () => this.choose(at) }, clip(box.name, 50),
        make("small", {}, place.filter(Boolean).join(" · "))));
  }

  open(isOpen) {
    this.list.hidden = !isOpen;
  }

  choose(at) {
    this.chosen = at;
    const { view, box } = this.hits[at];
    [...this.list.querySelectorAll("button")].forEach((button, i) => button.classList.toggle("chosen", i === at));
    return view.goTo(box.id);
  }

  key(event) {
    if (event.key === "Escape") {
      this.open(false);
      this.query.blur();
    } else if (["Enter", "ArrowDown", "ArrowUp"].includes(event.key) && this.hits.length) {
      event.preventDefault();
      const by = event.key === "ArrowUp" ? -1 : 1;
      this.open(true);
      this.choose((this.chosen + by + this.hits.length) % this.hits.length);
    }
  }
}
