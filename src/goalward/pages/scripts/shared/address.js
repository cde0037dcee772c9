// The URL stores the current view, so that a link shows what its sender saw.

export class Address {
  constructor(defaults) {
    this.defaults = defaults;
    this.view = { ...defaults };
    this.read();
  }

  read() {
    this.view = { ...this.defaults };
    const given = new URLSearchParams(location.hash.slice(1));
    for (const name of Object.keys(this.defaults)) {
      if (given.has(name)) this.view[name] = given.get(name);
    }
  }

  set(changes) {
    Object.assign(this.view, changes);
    const shown = new URLSearchParams();
    for (const [name, value] of Object.entries(this.view)) {
      if (String(value) !== String(this.defaults[name])) shown.set(name, String(value));
    }
    this.text = shown.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
    // Browsers limit how often a page may change its URL, so a moving slider writes only its last position.
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.write(), 150);
  }

  write() {
    try {
      history.replaceState(null, "", this.text ? `#${this.text}` : location.pathname + location.search);
    } catch {
      // A page inside a notebook has no URL of its own.
    }
  }

  // `changed` is called when the reader edits the URL or follows a link to the same page.
  listen(changed) {
    addEventListener("hashchange", () => {
      this.read();
      changed();
    });
  }
}
