// The base class of all pages: the view in the URL, a header, the theme and the keys.
import { el, setTheme, themeButton } from "./elements.js";
import { readPage, showFailure } from "./data.js";
import { Address } from "./address.js";

// Subclasses have `build`, `readView` and `keys`. `keys` returns a function for each key. A function that does nothing returns false.
export class Page {
  constructor(data) {
    this.data = data;
  }

  get view() {
    return this.address.view;
  }

  begin(defaults) {
    this.address = new Address({ ...defaults, theme: "auto" });
    this.theme = themeButton(() => this.view.theme, (theme) => {
      this.address.set({ theme });
      setTheme(theme);
    });
    const read = () => {
      setTheme(this.view.theme);
      this.theme.show();
      this.readView();
    };
    setTheme(this.view.theme);
    this.build();
    read();
    this.address.listen(read);
    addEventListener("keydown", (event) => this.key(event));
    // After a mouse click (`detail` is positive), the button loses the focus, so that the space key plays again.
    addEventListener("click", (event) => event.detail && document.activeElement.closest("button")?.blur());
  }

  // Handles keys, except while a field is edited and except the shortcuts of the browser.
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select, textarea, input:not([type=range])")) return;
    const act = this.keys(event)[event.key];
    if (act && act() !== false) event.preventDefault();
  }

  header(title, facts, ...corner) {
    return el("header", {},
      el("div", {}, el("h1", {}, title), el("p", { class: "facts" }, facts.join(" · "))),
      el("div", { class: "corner" }, corner, this.theme));
  }

  made(before = "") {
    return el("p", { class: "small" }, `${before}Made by goalward ${this.data.version}. The URL of this page stores the current view: copy it to share what you see.`);
  }
}

export function showPage(kind) {
  readPage().then((data) => {
    window.goalward = new kind(data);
    document.documentElement.dataset.ready = "";
  }).catch(showFailure);
}
