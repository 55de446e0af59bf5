# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The script of the HTML report: tables that sort, search and turn pages. A module gets its code as Python files alone.

It makes nodes and texts only, never HTML from a text, and asks no network.
"""

from __future__ import annotations

from .page_tables import TABLES

_MACHINERY = r"""
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const {texts, verdicts, states} = data;
  const PAGE = 100;
  const SVG = "http://www.w3.org/2000/svg";
  const collator = new Intl.Collator("en", {numeric: true});
  const lower = texts.map((text) => text.toLowerCase());
  // Names are compared once, rows by the places of their names.
  const place = new Int32Array(texts.length);
  texts.map((_, number) => number).sort((a, b) => collator.compare(texts[a], texts[b]))
    .forEach((number, at) => { place[number] = at; });

  const count = (number) => number.toLocaleString("en");
  const offset = (number) => number === null ? "-" : String(number);

  function filled(made, attributes, children) {
    Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
    made.append(...children);
    return made;
  }
  const element = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);
  const shape = (tag, attributes, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);

  const named = (number) => element("bdi", {}, texts[number]);

  // parts: class, left and width of each, in percent.
  const picture = (kind, told, parts) => shape("svg",
    {class: kind, viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img", "aria-label": told},
    ...parts.map(([name, left, width]) => shape("rect", {class: name, x: left, width, height: 10})));

  function bar(counts) {
    const all = counts.reduce((sum, each) => sum + each, 0);
    const told = counts.map((each, at) => each ? `${each} ${verdicts[at]}` : "").filter(Boolean).join(", ");
    let left = 0;
    return picture("bar", told || "not planned", counts.map((each, at) => {
      const width = all ? 100 * each / all : 0;
      left += width;
      return [verdicts[at], left - width, width];
    }));
  }

  // columns: title, by (row -> numbers to sort by, the first that differ count), cell (row -> node or text), number, name
  function table(root, {caption, columns, rows, words, filters, more}) {
    let shown = rows, sorted = 0, down = false, page = 0, query = "", only = null;
    const chosen = filters.map(() => "");
    const keys = columns.map(() => null);
    const search = element("input", {type: "search", id: `${root.id}-search`, autocomplete: "off", spellcheck: "false"});
    const said = element("p", {role: "status", class: "soft"});
    const head = element("tr");
    const body = element("tbody");
    const where = element("span");
    const before = element("button", {type: "button", class: "plain"}, "Previous");
    const after = element("button", {type: "button", class: "plain"}, "Next");

    const headers = columns.map((column, at) => {
      const sort = column.by ? element("button", {type: "button"}, column.title) : column.title;
      const header = element("th", {scope: "col", class: column.number ? "number" : ""}, sort);
      head.append(header);
      if (!column.by) return header;
      sort.addEventListener("click", () => {
        down = sorted === at && !down;
        sorted = at;
        page = 0;
        order();
        show();
      });
      return header;
    });
    if (more) head.append(element("th", {scope: "col"}, "Details"));

    function order() {
      // Once for each column; a number that is missing comes last, in whatever direction.
      const key = keys[sorted] || (keys[sorted] = new Map(rows.map((row) => [row, columns[sorted].by(row)])));
      shown = shown.slice().sort((a, b) => {
        const left = key.get(a), right = key.get(b);
        for (let at = 0; at < left.length; at++) {
          if (left[at] === right[at]) continue;
          if (left[at] === null) return 1;
          if (right[at] === null) return -1;
          return down ? right[at] - left[at] : left[at] - right[at];
        }
        return 0;
      });
    }

    function select() {
      const wanted = query.toLowerCase().split(/\s+/).filter(Boolean);
      shown = rows.filter((row) =>
        (!only || only(row)) && chosen.every((value, at) => value === "" || filters[at].has(row, value))
        && (!wanted.length || (() => { const text = words(row); return wanted.every((word) => text.includes(word)); })()));
      page = 0;
      order();
      show();
    }

    function show() {
      const pages = Math.max(1, Math.ceil(shown.length / PAGE));
      headers.forEach((header, at) => {
        if (columns[at].by) header.setAttribute("aria-sort", at !== sorted ? "none" : down ? "descending" : "ascending");
      });
      body.replaceChildren(...shown.slice(page * PAGE, (page + 1) * PAGE).map(line));
      said.textContent = shown.length === rows.length ? `${count(rows.length)} rows`
        : `${count(shown.length)} of ${count(rows.length)} rows`;
      where.textContent = `Page ${count(page + 1)} of ${count(pages)}`;
      before.disabled = page === 0;
      after.disabled = page + 1 === pages;
    }

    function line(row) {
      const cells = columns.map((column) =>
        element("td", {class: column.number ? "number" : column.name ? "name" : ""}, ...[column.cell(row)].flat()));
      const made = element("tr", {}, ...cells);
      if (more) {
        const button = element("button", {type: "button", class: "plain", "aria-expanded": "false"}, "Show");
        const name = cells[0].textContent + " " + cells[1].textContent;
        button.setAttribute("aria-label", `Details of ${name}`);
        let under = null;
        button.addEventListener("click", () => {
          if (under) under.remove();
          under = under ? null : element("tr", {class: "more"}, element("td", {colspan: columns.length + 1}, ...more(row)));
          if (under) made.after(under);
          button.setAttribute("aria-expanded", String(Boolean(under)));
          button.textContent = under ? "Hide" : "Show";
        });
        made.append(element("td", {}, button));
      }
      return made;
    }

    let waiting = 0;
    search.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => { query = search.value; only = null; select(); }, 150);
    });
    before.addEventListener("click", () => { page--; show(); });
    after.addEventListener("click", () => { page++; show(); });

    const tools = element("div", {class: "tools"},
      element("div", {}, element("label", {for: search.id}, `Search ${caption.toLowerCase()}`), search));
    filters.forEach((filter, at) => {
      const choice = element("select", {id: `${root.id}-filter-${at}`},
        element("option", {value: ""}, "all"),
        ...filter.choices.map(([value, text]) => element("option", {value: String(value)}, text)));
      choice.addEventListener("change", () => { chosen[at] = choice.value; select(); });
      tools.append(element("div", {}, element("label", {for: choice.id}, filter.title), choice));
    });
    root.replaceChildren(tools, said,
      element("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": caption},
        element("table", {}, element("thead", {}, head), body)),
      element("nav", {class: "pages", "aria-label": `Pages of ${caption.toLowerCase()}`}, before, where, after));
    order();
    show();
    // of: whether a row is meant, until somebody searches for something else.
    return {search(text, of) { search.value = text; query = text; only = of; select(); }};
  }
"""

SCRIPT = _MACHINERY + TABLES
