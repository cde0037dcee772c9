// A page of tables, such as those of `goalward arena`: a click on a heading sorts; ratios are coloured.
import { sortable } from "../shared/elements.js";
import { Page, showPage } from "../shared/page.js";

class TablesPage extends Page {
  constructor(data) {
    super(data);
    this.begin({});
  }

  build() {
    document.querySelector(".corner").append(this.theme);
    for (const table of document.querySelectorAll("table")) {
      sortable(table);
      if (!table.classList.contains("ratios")) continue;
      for (const cell of table.querySelectorAll("td.right")) {
        const ratio = Number.parseFloat(cell.textContent.replace(">", ""));
        if (ratio < 0.9) cell.classList.add(ratio < 0.5 ? "much-better" : "better");
        else if (ratio > 1.1) cell.classList.add(ratio > 2 ? "much-worse" : "worse");
      }
    }
  }

  readView() {}

  keys() {
    return {};
  }
}

showPage(TablesPage);
