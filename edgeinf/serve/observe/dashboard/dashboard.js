"use strict";
(() => {
  const EVERY_MS = 2000;
  const byId = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  let stats = null, events = [], paused = false, failures = 0, opened = null;

  // --- words and numbers ---

  const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
  const count = (n) => (n === null || n === undefined ? "–" : grouped.format(n));
  const percent = (x) => (x === null || x === undefined ? "–" : (100 * x).toFixed(1) + " %");
  const usd = (x) => "$" + (x >= 100 ? grouped.format(x) : x >= 0.01 || x === 0 ? x.toFixed(2) : x.toFixed(6));
  function milliseconds(x) {
    if (x === null || x === undefined) return "–";
    if (x < 10) return x.toFixed(2) + " ms";
    return x < 10000 ? grouped.format(x) + " ms" : (x / 1000).toFixed(1) + " s";
  }
  function duration(s) {
    if (s < 120) return s.toFixed(1) + " s";
    if (s < 7200) return (s / 60).toFixed(1) + " min";
    return s < 172800 ? (s / 3600).toFixed(1) + " h" : (s / 86400).toFixed(1) + " d";
  }
  function bytes(n) {
    if (n === null || n === undefined) return "–";
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let i = 0;
    while (n >= 1024 && i < units.length - 1) { n /= 1024; i++; }
    return (i ? n.toFixed(1) : n) + " " + units[i];
  }
  const clock = (at) => new Date(at * 1000).toLocaleTimeString([], { hour12: false });

  // --- elements ---

  function element(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined && text !== null) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  // Rewrites a table without touching what did not change, so that neither focus nor a selection is lost.
  function table(target, caption, columns, rows) {
    if (!target.tHead) {
      target.append(element("caption", caption, "hidden"));
      const head = target.createTHead().insertRow();
      for (const column of columns) {
        const cell = element("th", column.title, column.number ? "number" : "");
        cell.scope = "col";
        head.append(cell);
      }
      target.createTBody();
    }
    const body = target.tBodies[0];
    const wanted = rows.length ? rows : [null];
    while (body.rows.length > wanted.length) body.deleteRow(-1);
    wanted.forEach((row, index) => {
      const line = body.rows[index] || body.insertRow();
      if (row === null) {
        line.replaceChildren(element("td", "nothing yet", "empty"));
        line.firstChild.colSpan = columns.length;
        line.dataset.key = "";
        return;
      }
      const key = JSON.stringify(row);
      if (line.dataset.key === key) return;
      line.dataset.key = key;
      const focused = line.contains(document.activeElement);
      line.replaceChildren(...columns.map((column) => {
        const shown = column.show(row);
        const cell = element("td", shown instanceof Node ? null : shown, column.number ? "number" : "");
        if (shown instanceof Node) cell.append(shown);
        return cell;
      }));
      if (focused) line.querySelector("button")?.focus();
    });
  }

  // --- parts of the page ---

  function showCards() {
    const t = stats.totals, w = stats.window;
    const cards = [
      ["requests", "Requests", count(t.requests), w.requests_per_s.toFixed(1) + " per second lately"],
      ["hit-rate", "Hit rate", percent(t.hit_rate), count(t.hits) + " hits, " + count(t.collapsed) + " shared in flight"],
      ["usd-saved", "Saved money", usd(t.usd_saved), usd(t.usd) + " spent"],
      ["seconds-saved", "Saved time", duration(t.seconds_saved), count(t.tokens_saved) + " tokens not computed"],
      ["errors", "Errors", count(t.errors), count(w.errors) + " in the last " + (w.seconds < 60 ? w.seconds + " s" : Math.round(w.seconds / 60) + " min")],
      ["ttft", "First token, median", milliseconds(w.ttft_ms.p50),
        "p95 " + milliseconds(w.ttft_ms.p95) + ", own part " + milliseconds(t.overhead_ms_mean)],
    ];
    const list = byId("cards");
    for (const [id, title, value, more] of cards) {
      let held = byId("card-" + id);
      if (!held) {
        const box = element("div");
        held = element("dd");
        held.id = "card-" + id;
        held.append(element("span"), element("small"));
        box.append(element("dt", title), held);
        list.append(box);
      }
      held.firstChild.textContent = value;
      held.lastChild.textContent = more;
    }
  }

  function pathOf(values, top, close) {
    let path = "", started = false;
    values.forEach((value, i) => {
      if (value === null) { started = false; return; }
      const x = values.length > 1 ? (600 * i) / (values.length - 1) : 600;
      const y = 100 - (95 * value) / top;
      path += (started ? "L" : "M") + x.toFixed(1) + " " + y.toFixed(1);
      // A value between two unknown ones has no line to be on: a stroke of no length shows as a dot.
      if (!started && (values[i + 1] ?? null) === null) path += "h0.01";
      started = true;
    });
    return close && path ? path + "L600 100L0 100Z" : path;
  }

  function chart(id, title, format, series, sum) {
    let figure = byId("chart-" + id);
    if (!figure) {
      figure = element("figure");
      figure.id = "chart-" + id;
      const caption = element("figcaption");
      caption.append(element("span"), element("span"));
      series.forEach((one, i) => caption.firstChild.append(
        element("span", one.name, i ? "swatch dashed" : "swatch"), i < series.length - 1 ? ", " : ""));
      const svg = document.createElementNS(SVG, "svg");
      svg.setAttribute("viewBox", "0 0 600 100");
      svg.setAttribute("preserveAspectRatio", "none");
      svg.setAttribute("role", "img");
      const base = document.createElementNS(SVG, "line");
      base.setAttribute("class", "base");
      for (const [k, v] of Object.entries({ x1: 0, x2: 600, y1: 100, y2: 100 })) base.setAttribute(k, v);
      svg.append(base);
      const area = document.createElementNS(SVG, "path");
      area.setAttribute("class", "area");
      svg.append(area);
      series.forEach((one, i) => {
        const line = document.createElementNS(SVG, "path");
        line.setAttribute("class", i ? "line second" : "line");
        svg.append(line);
      });
      figure.append(caption, svg);
      byId("charts").append(figure);
    }
    const held = series.flatMap((one) => one.values.filter((v) => v !== null));
    const top = Math.max(1e-9, ...held);
    const paths = figure.querySelectorAll("path");
    paths[0].setAttribute("d", pathOf(series[0].values, top, !sum));
    series.forEach((one, i) => paths[i + 1].setAttribute("d", pathOf(one.values, top, false)));
    figure.querySelector("figcaption").lastChild.textContent = held.length ? "highest " + format(Math.max(...held)) : "no data";
    const said = series.map((one) => {
      const known = one.values.filter((v) => v !== null);
      return one.name + (known.length ? " now " + format(known[known.length - 1]) + ", highest " + format(Math.max(...known)) : " unknown");
    });
    figure.querySelector("svg").setAttribute("aria-label", title + ": " + said.join("; "));
  }

  function showCharts() {
    const s = stats.series, keep = Number(byId("span").value) / s.step_s;
    // The whole span is drawn, also before the server has been up for that long.
    const cut = (values) => { const held = values.slice(-keep); return [...Array(keep - held.length).fill(null), ...held]; };
    const rate = (values) => cut(values).map((v) => (v ?? 0) / s.step_s);
    const perSecond = (v) => v.toFixed(v < 10 ? 1 : 0) + " per second";
    chart("requests", "Requests per second", perSecond,
      [{ name: "requests", values: rate(s.requests) }, { name: "hits", values: rate(s.hits) }]);
    chart("ttft", "Time to the first token", milliseconds, [{ name: "first token, median", values: cut(s.ttft_ms_p50) }], true);
    chart("errors", "Errors per second", perSecond, [{ name: "errors", values: rate(s.errors) }]);
  }

  function saturation(region) {
    const share = region.saturation ?? (region.max_concurrency ? region.in_flight / region.max_concurrency : null);
    const box = element("span");
    if (share !== null) {
      const meter = element("meter");
      meter.min = 0; meter.max = 1; meter.high = 0.9; meter.low = 0.7; meter.optimum = 0; meter.value = share;
      meter.setAttribute("aria-label", region.name + " is " + percent(share) + " full");
      box.append(meter, " ");
    }
    const most = region.max_concurrency ? " of " + count(region.max_concurrency) : "";
    box.append(count(region.in_flight) + most + (region.waiting ? ", " + count(region.waiting) + " wait" : ""));
    return box;
  }

  function showTables() {
    table(byId("regions"), "Regions", [
      { title: "Region", show: (r) => r.name },
      { title: "Health", show: (r) => element("span", r.healthy ? "up" : "left out" + (r.note ? ": " + r.note : ""), r.healthy ? "good" : "bad") },
      { title: "Under way", show: saturation },
      { title: "Requests", number: true, show: (r) => count(r.requests) },
      { title: "Errors", number: true, show: (r) => count(r.errors) },
      { title: "p50", number: true, show: (r) => milliseconds(r.p50_ms) },
      { title: "p95", number: true, show: (r) => milliseconds(r.p95_ms) },
      { title: "p99", number: true, show: (r) => milliseconds(r.p99_ms) },
    ], stats.regions);
    table(byId("tiers"), "Cache tiers", [
      { title: "Tier", show: (t) => t.name },
      { title: "State", show: (t) => element("span", t.failure === null ? "in use" : "left out: " + t.failure, t.failure === null ? "good" : "bad") },
      { title: "Entries", number: true, show: (t) => count(t.entries) },
      { title: "Size", number: true, show: (t) => bytes(t.bytes) + (t.max_bytes ? " of " + bytes(t.max_bytes) : "") },
      { title: "Let go", number: true, show: (t) => count(t.evicted) },
    ], stats.tiers);
    table(byId("models"), "Models", [
      { title: "Model", show: (m) => m.model || "(none)" },
      { title: "Requests", number: true, show: (m) => count(m.requests) },
      { title: "Hits", number: true, show: (m) => percent(m.requests ? m.hits / m.requests : null) },
      { title: "Tokens", number: true, show: (m) => count(m.tokens) },
      { title: "Spent", number: true, show: (m) => usd(m.usd) },
      { title: "Saved", number: true, show: (m) => usd(m.usd_saved) },
    ], stats.models);
    const notes = byId("notes");
    if (notes.dataset.key !== JSON.stringify(stats.notes)) {
      notes.dataset.key = JSON.stringify(stats.notes);
      notes.hidden = stats.notes.length === 0;
      notes.replaceChildren(...stats.notes.map((note) => element("li", note)));
    }
  }

  function toneOf(e) {
    return e.status >= 400 ? "bad" : e.cache === "hit" || e.cache === "collapsed" ? "good" : e.cache === "stale" ? "warn" : "";
  }

  function showRows() {
    const words = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (e) => [e.id, e.model, e.region, e.cache, e.why, e.status, e.route, e.session, e.error, e.dialect].join(" ").toLowerCase();
    const shown = events.filter((e) => words.every((word) => text(e).includes(word)));
    table(byId("rows"), "Latest requests, the newest first", [
      { title: "Time", show: (e) => clock(e.at) },
      { title: "Request", show: (e) => {
        const button = element("button", e.id);
        button.type = "button";
        button.addEventListener("click", () => open(e.id));
        return button;
      } },
      { title: "Model", show: (e) => e.model || "–" },
      { title: "Status", show: (e) => element("span", e.status + (e.error ? " " + e.error : ""), e.status >= 400 ? "bad" : "") },
      { title: "Cache", show: (e) => element("span", e.cache, toneOf(e)) },
      { title: "Why", show: (e) => e.why },
      { title: "Region", show: (e) => e.region || "–" },
      { title: "First token", number: true, show: (e) => milliseconds(e.ttft_ms) },
      { title: "Whole", number: true, show: (e) => milliseconds(e.total_ms) },
      { title: "Tokens in, out", number: true, show: (e) => count(e.input_tokens) + ", " + count(e.output_tokens) },
    ], shown);
  }

  // --- the drawer ---

  const LABELS = {
    at: "Time", model: "Model", dialect: "API", status: "Status", error: "Error", cache: "Cache", tier: "Tier", reason: "Reason",
    level: "Level", stored: "Stored", region: "Region", attempts: "Attempts", tenant: "Tenant", route: "Route", session: "Session",
    input_tokens: "Input tokens", output_tokens: "Output tokens", cached_tokens: "Cached by the origin", usd: "Cost", usd_saved: "Saved",
    ttft_ms: "First token", total_ms: "Whole", edgeinf_ms: "Spent here", trace_id: "Trace",
  };
  function field(name, value) {
    if (value === null || value === undefined) return null;
    if (name === "at") return new Date(value * 1000).toLocaleString();
    if (name.endsWith("_ms")) return milliseconds(value);
    if (name.startsWith("usd")) return usd(value);
    return typeof value === "number" ? count(value) : String(value);
  }

  async function open(id) {
    opened = id;
    byId("drawer-title").textContent = "Request " + id;
    byId("drawer-why").textContent = "…";
    byId("drawer-body").replaceChildren();
    if (!byId("drawer").open) byId("drawer").showModal();
    let said;
    try {
      said = await get("explain?id=" + encodeURIComponent(id));
    } catch (error) {
      byId("drawer-why").textContent = error.message;
      return;
    }
    if (opened !== id) return;
    byId("drawer-why").textContent = said.why;
    const facts = element("table");
    table(facts, "What is known of the request", [
      { title: "What", show: (r) => r[0] }, { title: "Value", show: (r) => element("code", r[1]) },
    ], Object.entries(LABELS).map(([name, label]) => [label, field(name, said.event[name])]).filter((r) => r[1] !== null));
    const parts = [facts];
    if (said.nearest) {
      parts.push(element("h3", "Compared with the nearest earlier request, " + said.nearest.id));
      const diff = element("table");
      const order = { differs: 0, "only here": 1, "only there": 2, same: 3 };
      table(diff, "The key, part by part", [
        { title: "Part of the request", show: (p) => element("code", p.path) },
        { title: "", show: (p) => element("span", p.verdict, p.verdict === "same" ? "good" : "bad") },
      ], said.parts.slice().sort((a, b) => order[a.verdict] - order[b.verdict]));
      parts.push(diff);
    }
    byId("drawer-body").replaceChildren(...parts);
  }

  // --- the loop ---

  async function get(path) {
    const key = sessionStorage.getItem("edgeinf-admin-key");
    const answer = await fetch("api/" + path, { headers: key ? { Authorization: "Bearer " + key } : {}, cache: "no-store" });
    if (answer.status === 401) {
      byId("login").hidden = false;
      throw new Error("the admin key is needed");
    }
    if (!answer.ok) throw new Error("the server answered " + answer.status);
    byId("login").hidden = true;
    return answer.json();
  }

  async function refresh() {
    if (paused || document.hidden) return;
    const state = byId("state");
    try {
      const [newStats, newEvents] = await Promise.all([get("stats"), get("events?limit=100")]);
      stats = newStats;
      events = newEvents.events;
      failures = 0;
    } catch (error) {
      failures++;
      state.textContent = "no answer: " + error.message;
      state.className = "lost";
      return;
    }
    showCards();
    showCharts();
    showTables();
    showRows();
    const up = "version " + stats.version + ", up " + duration(stats.at - stats.started_at) + ", " +
      (stats.workers === 1 ? "one process" : stats.workers + " processes");
    state.className = "";
    // Said once and not every two seconds: this line is read out by screen readers.
    if (state.dataset.said !== "live") { state.textContent = "live"; state.dataset.said = "live"; }
    state.title = up;
    document.documentElement.dataset.ready = "true";
  }

  byId("pause").addEventListener("click", () => {
    paused = !paused;
    byId("pause").setAttribute("aria-pressed", String(paused));
    byId("state").dataset.said = paused ? "paused" : "";
    if (paused) byId("state").textContent = "paused"; else refresh();
  });
  byId("span").addEventListener("change", () => stats && showCharts());
  byId("filter").addEventListener("input", showRows);
  byId("close").addEventListener("click", () => byId("drawer").close());
  byId("drawer").addEventListener("close", () => { opened = null; });
  byId("login").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem("edgeinf-admin-key", byId("key").value);
    byId("key").value = "";
    refresh();
  });
  function setTheme(name) {
    if (name) document.documentElement.dataset.theme = name; else delete document.documentElement.dataset.theme;
  }
  byId("theme").addEventListener("change", (event) => {
    setTheme(event.target.value);
    localStorage.setItem("edgeinf-theme", event.target.value);
  });
  byId("theme").value = localStorage.getItem("edgeinf-theme") || "";
  setTheme(byId("theme").value);
  document.addEventListener("visibilitychange", refresh);
  setInterval(refresh, EVERY_MS);
  refresh();
})();
