// Elements of the page. Text from users only ever becomes text nodes and attributes, never markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.setAttribute("class", value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// A row of buttons, one of which is pressed. A click calls `choose` with the value of the button; `show` marks a button as pressed.
export function choices(label, options, choose) {
  const buttons = options.map(([value, text, title]) =>
    el("button", { type: "button", "data-value": value, title: title ?? null, onclick: () => choose(value) }, text));
  const group = el("div", { class: "choices", role: "group", "aria-label": label }, buttons);
  group.show = (chosen) => {
    for (const button of buttons) {
      button.setAttribute("aria-pressed", String(button.dataset.value === chosen));
    }
  };
  return group;
}

export function toggle(label, press, title = null) {
  const button = el("button", { type: "button", class: "toggle", title, "aria-pressed": "false", onclick: press }, label);
  button.show = (on) => button.setAttribute("aria-pressed", String(on));
  return button;
}

// A button that switches the theme: that of the system, light or dark.
export function themeButton(current, choose) {
  const order = ["auto", "light", "dark"];
  const names = { auto: "theme: system", light: "theme: light", dark: "theme: dark" };
  const button = el("button", { type: "button", class: "quiet", onclick: () => {
    choose(order[(order.indexOf(current()) + 1) % order.length]);
    button.show();
  } });
  button.show = () => { button.textContent = names[current()]; };
  button.show();
  return button;
}

export function setTheme(theme) {
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

// Redraw a drawing whenever the width of its host changes.
export function followWidth(drawing) {
  new ResizeObserver(() => {
    const width = Math.round(drawing.host.clientWidth);
    if (width && width !== drawing.width) {
      drawing.width = width;
      drawing.redraw();
    }
  }).observe(drawing.host);
}

// Icons of the buttons that move through a replay.
const ICONS = {
  play: "M4,2L14,8L4,14z", pause: "M4,2H7V14H4zM9,2H12V14H9z", back: "M12,2L4,8L12,14z", on: "M4,2L12,8L4,14z",
  step: "M3,3H5V13H3zM8,3L14,8L8,13z", stepBack: "M11,3H13V13H11zM8,3L2,8L8,13z",
  first: "M3,2H5V14H3zM14,2L6,8L14,14z", last: "M11,2H13V14H11zM2,2L10,8L2,14z",
};

export function icon(name) {
  return svg("svg", { class: "icon", viewBox: "0 0 16 16", width: 14, height: 14, "aria-hidden": "true" }, svg("path", { d: ICONS[name], fill: "currentColor" }));
}

// Makes a click on a heading sort the rows in ascending order, and the next click in descending order.
export function sortable(table) {
  const headings = [...table.tHead.rows[0].cells];
  const amount = (row, place) => Number.parseFloat(row.cells[place].textContent.replace(/[>,\s]/g, ""));
  headings.forEach((heading, place) => {
    const button = el("button", { type: "button", class: "sort", onclick: () => {
      const up = heading.getAttribute("aria-sort") !== "ascending";
      headings.forEach((each) => each.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...table.tBodies[0].rows];
      const numeric = rows.some((row) => !Number.isNaN(amount(row, place)));
      const order = numeric ? (row) => (Number.isNaN(amount(row, place)) ? Infinity : amount(row, place)) : (row) => row.cells[place].textContent;
      rows.sort((one, other) => (order(one) < order(other) ? -1 : order(one) > order(other) ? 1 : 0) * (up ? 1 : -1));
      table.tBodies[0].append(...rows);
    } }, ...heading.childNodes);
    heading.append(button);
  });
}

export function table(headings, rows, attributes = {}) {
  const cell = (tag, content, place) => {
    const node = content instanceof Node ? content : document.createTextNode(content);
    return el(tag, { class: headings[place].right ? "right" : null, scope: tag === "th" ? "col" : null }, node);
  };
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": attributes["aria-label"] ?? "table" },
    el("table", attributes,
      el("thead", {}, el("tr", {}, headings.map((heading, place) => cell("th", heading.text, place)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((content, place) => cell("td", content, place)))))));
}
