"use strict";
// The cases of a page: a list to filter and sort, and the conversation of the one that is chosen. What a conversation says was
// escaped when the page was written; it comes packed, in this file or in files beside it, and is unpacked when it is asked for.
(() => {
  const data = document.getElementById("taulong-cases");
  const box = document.querySelector(".cases");
  if (!data || !box) return;
  const { columns, rows, places, filters, folder, missing } = JSON.parse(data.textContent);
  const at = Object.fromEntries(columns.map((name, number) => [name, number]));
  const keyOf = (row) => ["case_id", "agent", "memory_mode", "trial"].map((name) => row[at[name]]).join("~");
  const byKey = new Map(rows.map((row, number) => [keyOf(row), number]));
  const [bar, list, shown] = [".filters", ".list", ".case"].map((css) => box.querySelector(css));
  const STEP = 200;
  const listed = columns.filter((name) => name === "case_id" || rows.some((row) => row[at[name]] !== rows[0][at[name]]));
  let state = new URLSearchParams(location.hash.slice(1));
  let found = [];
  let limit = STEP;

  // --- what is unpacked
  const waiting = {};
  const unpacked = {};
  window.taulongChunk = (number, text) => waiting[number](text);
  const packed = (number) => {
    const inside = document.getElementById(`taulong-chunk-${number}`);
    if (inside) return Promise.resolve(inside.textContent);
    return new Promise((resolve, reject) => {
      waiting[number] = resolve;
      const script = document.createElement("script");
      script.src = `${folder}/${number}.js`;
      script.onerror = () => reject(new Error(`${folder}/${number}.js is not beside this page`));
      document.head.append(script);
    });
  };
  const unpack = (number) => (unpacked[number] ??= packed(number).then(async (text) => {
    const bytes = Uint8Array.from(atob(text.trim()), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }));

  // --- the list
  const text = (tag, content, kind) => {
    const node = document.createElement(tag);
    node.textContent = content;
    if (kind) node.className = kind;
    return node;
  };
  const kindOf = (value) => ({ "solved": "solved", "pass": "solved", "not solved": "not", "fail": "not" })[value] || "";
  const told = (value) => (value === null || value === "" ? "–" : typeof value === "boolean" ? (value ? "yes" : "no") : String(value));

  const select = () => {
    const wanted = filters.filter((name) => state.get(name));
    const word = (state.get("search") || "").toLowerCase();
    found = rows.map((_, number) => number).filter((number) => {
      const row = rows[number];
      return wanted.every((name) => told(row[at[name]]) === state.get(name))
        && (!word || row.some((value) => told(value).toLowerCase().includes(word)));
    });
    const by = state.get("sort");
    if (by && by.replace("-", "") in at) {
      const column = at[by.replace("-", "")], sign = by.startsWith("-") ? -1 : 1;
      const compare = new Intl.Collator("en", { numeric: true }).compare;
      found.sort((one, other) => sign * compare(told(rows[one][column]), told(rows[other][column])) || one - other);
    }
  };
  const draw = () => {
    const chosen = byKey.get(state.get("case"));
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    for (const name of listed) {
      const cell = text("th", name.replaceAll("_", " ") + ({ [name]: " ▲", [`-${name}`]: " ▼" }[state.get("sort")] || ""));
      cell.scope = "col";
      cell.tabIndex = 0;
      cell.onclick = () => change({ sort: state.get("sort") === name ? `-${name}` : name });
      cell.onkeydown = (event) => event.key === "Enter" && cell.onclick();
      head.append(cell);
    }
    const body = table.createTBody();
    for (const number of found.slice(0, limit)) {
      const line = body.insertRow();
      for (const name of listed) {
        const value = rows[number][at[name]];
        line.append(text("td", told(value).replaceAll("_", " "), kindOf(value)));
      }
      line.setAttribute("aria-selected", number === chosen);
      line.onclick = () => change({ case: keyOf(rows[number]) });
    }
    list.replaceChildren(text("div", `${found.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} cases`), table);
    if (found.length > limit) {
      const more = text("button", `${Math.min(STEP, found.length - limit)} more`);
      more.onclick = () => { limit += STEP; draw(); };
      list.append(more);
    }
    list.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  };
  const open = async () => {
    const key = state.get("case");
    if (!key) return shown.replaceChildren(text("p", "Choose a case: click its row, or go through them with ↑ and ↓."));
    const number = byKey.get(key);
    if (number === undefined) return shown.replaceChildren(text("p", `There is no case ${key} in this run.`));
    if (!places[number]) return shown.replaceChildren(text("p", missing));
    const [chunk, index] = places[number];
    try {
      const pages = await unpack(chunk);
      if (state.get("case") === key) shown.innerHTML = pages[index];
    } catch (error) {
      delete unpacked[chunk];
      shown.replaceChildren(text("p", `This conversation cannot be shown: ${error.message}`));
    }
    shown.scrollTop = 0;
  };

  // --- the address says what is shown, so that it can be sent
  const change = (values) => {
    for (const [name, value] of Object.entries(values)) value ? state.set(name, value) : state.delete(name);
    location.hash = state.toString();
  };
  const follow = () => {
    state = new URLSearchParams(location.hash.slice(1));
    limit = STEP;
    select();
    if (state.get("open") && found.length) {
      state.delete("open");
      state.set("case", keyOf(rows[found.find((number) => places[number]) ?? found[0]]));
      history.replaceState(null, "", `#${state}`);
    }
    for (const control of bar.querySelectorAll("[name]")) control.value = state.get(control.name) || "";
    if (state.get("case") || filters.some((name) => state.get(name))) {
      const fold = box.closest("details");
      if (fold && !fold.open) fold.open = true;
      if (state.get("case") && fold) box.scrollIntoView();
    }
    draw();
    open();
  };
  for (const name of filters.filter((name) => listed.includes(name))) {
    const control = document.createElement("select");
    control.name = name;
    control.append(new Option("all", ""));
    const values = [...new Set(rows.map((row) => told(row[at[name]])))];
    for (const value of values) control.append(new Option(value.replaceAll("_", " "), value));
    control.onchange = () => change({ [name]: control.value, case: "" });
    const label = text("label", name.replaceAll("_", " "));
    label.append(control);
    bar.append(label);
  }
  const search = document.createElement("input");
  search.name = "search";
  search.type = "search";
  search.oninput = () => change({ search: search.value });
  const label = text("label", "search");
  label.append(search);
  const clear = text("button", "show all");
  clear.onclick = () => { location.hash = ""; };
  bar.append(label, clear);
  addEventListener("hashchange", follow);
  addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    if (!step || /INPUT|SELECT/.test(event.target.tagName) || !state.get("case")) return;
    const place = found.indexOf(byKey.get(state.get("case"))) + step;
    if (found[place] === undefined) return;
    event.preventDefault();
    limit = Math.max(limit, place + 1);
    change({ case: keyOf(rows[found[place]]) });
  });
  follow();
})();
addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll("body > details:not(.screen)")) fold.open = true;
});
