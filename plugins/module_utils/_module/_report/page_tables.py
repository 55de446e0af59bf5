# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The two tables of the HTML report, in the words of page_script.py: their columns, details, and logs that are drawn."""

from __future__ import annotations

TABLES = r"""
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
