# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The script of the HTML report: two tables that sort, search and turn pages. A module gets its code as Python files alone.

It makes nodes and texts only, never HTML from a text, and asks no network.
"""

from __future__ import annotations

SCRIPT = r"""
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
    let shown = rows, sorted = 0, down = false, page = 0, open = null, query = "", only = null;
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
          if (open && open !== button) open.click();
          open = under ? null : button;
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

  const EXACT = verdicts.indexOf("exact"), SAFE = verdicts.indexOf("safe"), BLOCKED = verdicts.indexOf("blocked");
  // The places of a row's members; page_data.py has the same list.
  const [GROUP, TOPIC, PARTITION, FROM_GROUP, FROM_TOPIC, FROM_PARTITION, FROM, BEFORE, OFFSET, AFTER, VERDICT, REPEATS, STATE,
    VERIFIED, UNCONSUMED, ALL, REASON, DETAIL, EVIDENCE, CERTIFICATE, LAG, FROM_PASSED, PASSED, TO_COME] = Array(24).keys();

  const origin = (row) => row[FROM_PARTITION] < 0 ? `${-row[FROM_PARTITION]} source partitions`
    : row[FROM_GROUP] === row[GROUP] && row[FROM_TOPIC] === row[TOPIC] && row[FROM_PARTITION] === row[PARTITION] ? ""
    : `${texts[row[FROM_GROUP]]} ${texts[row[FROM_TOPIC]]}-${row[FROM_PARTITION]}`;
  const verdict = (row) => row[VERDICT] === null ? "not planned"
    : element("span", {class: `verdict is-${verdicts[row[VERDICT]]}`}, verdicts[row[VERDICT]]);
  const verified = (row) => row[VERIFIED] === null ? "no" : row[VERIFIED] ? "yes" : "problem";
  const unconsumed = (row) => row[UNCONSUMED] === null ? "-" : (row[ALL] ? "" : "\u2265 ") + row[UNCONSUMED];
  const repeats = (row) => row[VERDICT] === EXACT ? "0" : row[VERDICT] !== SAFE ? offset(row[REPEATS])
    : row[REPEATS] === null ? "not counted" : String(row[REPEATS]);

  const known = (number) => number !== null && number !== undefined;
  const lag = (row) => known(row[LAG]) ? Math.max(0, row[LAG] + Math.min(0, row[FROM_PASSED] ?? 0)) : null;

  // An offset in its log, with the offsets of the log before it and from it on; null where they are not known.
  function log(at, before, after) {
    if (!known(at) || !known(before) || !known(after)) return null;
    const start = at - before, end = at + after, whole = end - start;
    const told = before < 0 ? `offset ${at}, before the log from ${start} to ${end}`
      : after < 0 ? `offset ${at}, after the log from ${start} to ${end}`
      : `offset ${at} of ${start} to ${end}, ${after} after it`;
    const place = before < 0 ? 0 : after <= 0 ? 100 : 100 * before / whole;
    return {told, drawn: () => picture("log", told,
      [["none", 0, 100], ["passed", 0, place], ["mark", Math.min(96, Math.max(0, place - 2)), 4]])};
  }
  const sourceLog = (row) => log(row[FROM], row[FROM_PASSED], row[LAG]);
  const destinationLog = (row) => log(row[OFFSET], row[PASSED], row[TO_COME]);
  const withLog = (number, its) => its ? [offset(number), its.drawn()] : offset(number);

  const found = new Map();
  function words(row) {
    let text = found.get(row);
    if (text === undefined) {
      text = `${lower[row[GROUP]]} ${lower[row[TOPIC]]}-${row[PARTITION]} ${origin(row).toLowerCase()} `
        + `${row[VERDICT] === null ? "" : verdicts[row[VERDICT]]} ${states[row[STATE]]} `
        + `${row[REASON] === null ? "" : lower[row[REASON]]} ${row[FROM]} ${row[OFFSET]}`;
      found.set(row, text);
    }
    return text;
  }

  function details(row) {
    const made = [];
    const say = (...parts) => made.push(element("p", {}, ...parts));
    if (origin(row)) say("At the source: ", element("bdi", {}, origin(row)));
    if (row[DETAIL] !== null) say(element("bdi", {}, texts[row[DETAIL]]));
    if (row[EVIDENCE]) {
      const [lastSource, lastDestination, firstSource, firstDestination] = row[EVIDENCE];
      if (lastSource !== null) {
        say(`Last consumed record: source offset ${lastSource}, destination offset ${lastDestination}.`);
      }
      if (firstSource !== null) {
        say(`First unconsumed record: source offset ${firstSource}, destination offset ${firstDestination}.`);
      }
    }
    for (const [where, its] of [["source", sourceLog(row)], ["destination", destinationLog(row)]]) {
      if (its) say(`Log at the ${where}: ${its.told}.`);
    }
    if (row[CERTIFICATE] !== null) say(`Certificate: ${texts[row[CERTIFICATE]]}.`);
    if (row[UNCONSUMED] !== null) {
      say(`${row[ALL] ? "" : "At least "}${count(row[UNCONSUMED])} unconsumed records at the source, by the verification.`);
    }
    if (row[AFTER] !== null) say(`Committed at the destination, as read back: ${row[AFTER]}.`);
    if (!made.length) say("The files say nothing more of it.");
    return made;
  }

  const partitions = table(document.getElementById("partitions"), {
    caption: "Group-partitions",
    rows: data.rows,
    words,
    more: details,
    filters: [
      {title: "Verdict", choices: verdicts.map((each, at) => [at, each]), has: (row, value) => row[VERDICT] === Number(value)},
      {title: "State", choices: states.map((each, at) => [at, each]), has: (row, value) => row[STATE] === Number(value)},
    ],
    columns: [
      {title: "Group", name: true, by: (row) => [place[row[GROUP]], place[row[TOPIC]], row[PARTITION]],
        cell: (row) => named(row[GROUP])},
      {title: "Partition", name: true, by: (row) => [place[row[TOPIC]], row[PARTITION], place[row[GROUP]]],
        cell: (row) => [element("bdi", {}, `${texts[row[TOPIC]]}-${row[PARTITION]}`),
          origin(row) ? element("span", {class: "from"}, "from ", element("bdi", {}, origin(row))) : ""]},
      {title: "Source offset", number: true, by: (row) => [row[FROM]],
        cell: (row) => withLog(row[FROM], sourceLog(row))},
      ...(data.lags ? [{title: "Lag", number: true, by: (row) => [lag(row)], cell: (row) => offset(lag(row))}] : []),
      {title: "Destination before", number: true, by: (row) => [row[BEFORE]], cell: (row) => offset(row[BEFORE])},
      {title: "Destination offset", number: true, by: (row) => [row[OFFSET]],
        cell: (row) => withLog(row[OFFSET], destinationLog(row))},
      {title: "Unconsumed", number: true, by: (row) => [row[UNCONSUMED]], cell: unconsumed},
      {title: "Verdict", by: (row) => [row[VERDICT] === null ? null : [BLOCKED, SAFE].includes(row[VERDICT])
        ? row[VERDICT] - 100 : row[VERDICT], row[REASON] === null ? null : place[row[REASON]]],
        cell: (row) => [verdict(row), row[REASON] === null ? "" : element("span", {class: "from"}, texts[row[REASON]])]},
      {title: "Repeats at most", number: true, by: (row) => [row[REPEATS]], cell: repeats},
      {title: "State", by: (row) => [row[STATE]], cell: (row) => states[row[STATE]]},
      {title: "Verified", by: (row) => [row[VERIFIED]], cell: verified},
    ],
  });

  const toPartitions = (row) => {
    const button = element("button", {type: "button", class: "plain"}, "Partitions");
    button.setAttribute("aria-label", `Partitions of ${texts[row[0]]}`);
    button.addEventListener("click", () => {
      partitions.search(texts[row[0]], (its) => its[GROUP] === row[0]);
      document.getElementById("partitions-search").focus();
    });
    return button;
  };

  table(document.getElementById("groups"), {
    caption: "Groups",
    rows: data.groups,
    words: (row) => lower[row[0]],
    filters: [{title: "Groups with", choices: verdicts.map((each, at) => [at, each]),
      has: (row, value) => row[2][Number(value)] > 0}],
    columns: [
      {title: "Group", name: true, by: (row) => [place[row[0]]], cell: (row) => named(row[0])},
      {title: "Partitions", number: true, by: (row) => [row[1]], cell: (row) => count(row[1])},
      ...["exact", "safe", "blocked"].map((each) => ({
        title: each[0].toUpperCase() + each.slice(1), number: true,
        by: (row) => [row[2][verdicts.indexOf(each)]], cell: (row) => count(row[2][verdicts.indexOf(each)])})),
      {title: "Verdicts", by: (row) => [row[2][EXACT] / row[1]], cell: (row) => bar(row[2])},
      {title: "Repeats at most", number: true, by: (row) => [row[3]],
        cell: (row) => row[3] === null ? "not counted" : count(row[3])},
      {title: "Committed", number: true, by: (row) => [row[4]], cell: (row) => count(row[4])},
      ...(data.lags ? [{title: "Lag", number: true, by: (row) => [row[5]],
        cell: (row) => row[5] === null ? "-" : count(row[5])}] : []),
      {title: "Show", cell: toPartitions},
    ],
  });
})();
"""
