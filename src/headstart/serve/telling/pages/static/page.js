// Draws the report that the page carries, and asks for a new one every few seconds. Reads only.
"use strict";
const COLOURS = ["#1f5fa8", "#c2571a", "#2f7d4f", "#7a4ea3", "#8a6d1d", "#a03050", "#3b7f8c", "#5b5b5b", "#9a7bd0", "#6b8e23"];
const holder = document.getElementById("report");
const colour = (i) => COLOURS[i % COLOURS.length];
const count = (n) => n.toLocaleString("en-US");
const layout = (extra) => Object.assign({
  margin: { l: 60, r: 15, t: 34, b: 45 }, font: { family: "inherit", size: 13 },
  legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 }, hovermode: "closest", paper_bgcolor: "#fff", plot_bgcolor: "#fff",
}, extra);
const options = { displayModeBar: false, responsive: true };

function draw(report) {
  const names = report.actions.map((a) => a.name);
  const known = report.actions.filter((a) => a.mean !== null);
  Plotly.react("means", [{
    type: "scatter", mode: "markers", x: known.map((a) => a.mean), y: known.map((a) => a.name), name: "users",
    error_x: { type: "data", symmetric: false, array: known.map((a) => a.high - a.mean), arrayminus: known.map((a) => a.mean - a.low) },
    marker: { size: 11, color: COLOURS[0] },
  }, {
    type: "scatter", mode: "markers", x: report.actions.map((a) => a.log_mean), y: names, name: "the log",
    marker: { size: 11, symbol: "diamond-open", color: COLOURS[1] },
  }], layout({ yaxis: { type: "category", automargin: true, autorange: "reversed" }, xaxis: { title: { text: "mean outcome" } } }), options);
  Plotly.react("plays", [
    { type: "bar", name: "virtual plays (log)", x: names, y: report.actions.map((a) => a.virtual_plays), marker: { color: COLOURS[1] } },
    { type: "bar", name: "online plays (users)", x: names, y: report.actions.map((a) => a.online_plays), marker: { color: COLOURS[0] } },
  ], layout({ barmode: "stack", xaxis: { type: "category", automargin: true }, yaxis: { title: { text: "plays" } } }), options);
  const history = report.history;
  Plotly.react("allocation", names.map((name, i) => (
    { type: "scatter", mode: "lines", stackgroup: "one", name, x: history.times, y: history.shares[i], line: { color: colour(i), width: 0.5 } }
  )), layout({ yaxis: { range: [0, 1], tickformat: ".0%", title: { text: "share of users" } } }), options);
  const lines = [{ type: "scatter", mode: "lines", name: "headstart", x: history.times, y: history.value, line: { color: COLOURS[0] } }];
  if (report.holdout.mean !== null) {
    lines.push({ type: "scatter", mode: "lines", name: "hold-out (uniform)", x: history.times, y: history.holdout, line: { color: COLOURS[1], dash: "dash" } });
  }
  Plotly.react("gain", lines, layout({ yaxis: { title: { text: "mean outcome so far" }, rangemode: "tozero" } }), options);
  Plotly.react("regret", [
    { type: "scatter", mode: "lines", name: "estimated regret", x: history.times, y: history.regret, line: { color: COLOURS[5] } },
  ], layout({ yaxis: { title: { text: "outcomes lost so far" }, rangemode: "tozero" } }), options);
}

function fill(report) {
  const set = (id, text) => { document.getElementById(id).textContent = text; };
  set("sentence", report.sentence);
  set("as-of", report.as_of.text);
  set("decisions", count(report.decisions));
  set("outcomes", count(report.outcomes));
  set("waiting", count(report.waiting));
  set("value", report.value.text);
  set("holdout", report.holdout.text);
  set("status", `${report.is_frozen ? "frozen" : "learning"}, version ${report.version}`);
  set("chi", report.checks.chi_square_text);
  for (const id of ["dangling", "late", "duplicates"]) set(id, count(report.checks[id]));
  rows("actions", report.actions.map((a) => [
    a.name, count(a.shown), count(a.online_plays), count(Math.round(a.virtual_plays)), a.mean_text, a.interval_text, a.log_text, a.chance_text,
  ]));
  rows("deeds", report.deeds.map((deed) => [deed.time, deed.what, deed.by, deed.reason]));
  list("failures", report.failures, "p", "failure");
  if (report.log && document.getElementById("verdict")) {
    const decision = report.log.decision;
    set("decision", decision ? `${decision[0].toUpperCase()}${decision.slice(1)}. ` : "");
    set("verdict", report.log.verdict);
    set("start", report.log.headline);
    document.getElementById("start").className = report.log.is_loud ? "alarm" : "note";
    list("reasons", report.log.reasons, "li", "");
    list("lines", report.log.lines, "li", "");
  }
  list("alarms", report.alarms.map((a) => a.message), "p", "alarm");
  list("conflicts", report.conflicts.length ? report.conflicts : ["None found."], "li", "");
}

function list(id, texts, tag, kind) {
  document.getElementById(id).replaceChildren(...texts.map((text) => {
    const item = document.createElement(tag);
    item.className = kind;
    item.textContent = text;
    return item;
  }));
}

// The configuration may change while somebody looks: the table has as many rows as there are.
function rows(id, texts) {
  document.querySelector(`#${id} tbody`).replaceChildren(...texts.map((cells) => {
    const row = document.createElement("tr");
    cells.forEach((text, j) => {
      const cell = document.createElement(j ? "td" : "th");
      if (!j) cell.scope = "row";
      cell.textContent = text;
      row.append(cell);
    });
    return row;
  }));
}

async function refresh() {
  if (!document.hidden) {
    try {
      const answer = await fetch(holder.dataset.url);
      if (answer.ok) {
        const report = await answer.json();
        fill(report);
        draw(report);
      } else {
        list("failures", ["The service does not answer: these are the last numbers that it told."], "p", "failure");
      }
    } catch {
      list("failures", ["The service cannot be reached: these are the last numbers that it told."], "p", "failure");
    }
  }
  setTimeout(refresh, 3000);
}

draw(JSON.parse(holder.textContent));
document.body.dataset.drawn = "yes";
setTimeout(refresh, 3000);
