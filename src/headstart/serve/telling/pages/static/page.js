// Draws the report that the page carries, and asks for the page anew every few seconds. Reads only.
"use strict";
const isDark = window.matchMedia("(prefers-color-scheme: dark)");
const LIGHT = ["#1f5fa8", "#c2571a", "#2f7d4f", "#7a4ea3", "#8a6d1d", "#a03050", "#3b7f8c", "#5b5b5b", "#9a7bd0", "#6b8e23"];
const DARK = ["#7db4f0", "#f0a06a", "#7fcf9f", "#c3a2ea", "#dcc06a", "#f08aa6", "#84cbd8", "#c2c7cd", "#b9a3f0", "#b4d468"];
const colour = (i) => (isDark.matches ? DARK : LIGHT)[i % LIGHT.length];
const options = { displayModeBar: false, responsive: true };

function layout(extra) {
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue("--ink").trim(), ground = style.getPropertyValue("--ground").trim(), line = style.getPropertyValue("--line").trim();
  const made = {
    margin: { l: 60, r: 15, t: 34, b: 45 }, font: { family: "inherit", size: 13, color: ink },
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 }, hovermode: "closest", paper_bgcolor: ground, plot_bgcolor: ground, ...extra,
  };
  for (const axis of ["xaxis", "yaxis"]) made[axis] = { gridcolor: line, linecolor: line, zerolinecolor: line, automargin: true, ...made[axis] };
  return made;
}

function draw(report) {
  const names = report.actions.map((a) => a.name);
  const known = report.actions.filter((a) => a.mean !== null);
  const outcome = { title: { text: `mean ${report.outcome}` }, ...(report.is_rate ? { tickformat: ".1~%" } : {}) };
  Plotly.react("means", [{
    type: "scatter", mode: "markers", x: known.map((a) => a.mean), y: known.map((a) => a.name), name: "users",
    error_x: { type: "data", symmetric: false, array: known.map((a) => (a.high === null ? 0 : a.high - a.mean)), arrayminus: known.map((a) => (a.low === null ? 0 : a.mean - a.low)) },
    marker: { size: 11, color: colour(0) },
  }, {
    type: "scatter", mode: "markers", x: report.actions.map((a) => a.log_mean), y: names, name: "the log",
    marker: { size: 11, symbol: "diamond-open", color: colour(1) },
  }], layout({ yaxis: { type: "category", autorange: "reversed" }, xaxis: outcome }), options);
  Plotly.react("plays", [
    { type: "bar", name: "virtual plays (log)", x: names, y: report.actions.map((a) => a.virtual_plays), marker: { color: colour(1) } },
    { type: "bar", name: "online plays (users)", x: names, y: report.actions.map((a) => a.online_plays), marker: { color: colour(0) } },
  ], layout({ barmode: "stack", xaxis: { type: "category" }, yaxis: { title: { text: "plays" } } }), options);
  const history = report.history;
  Plotly.react("allocation", names.map((name, i) => (
    { type: "scatter", mode: "lines", stackgroup: "one", name, x: history.times, y: history.shares[i], line: { color: colour(i), width: 0.5 } }
  )), layout({ yaxis: { range: [0, 1], tickformat: ".0%", title: { text: "share of users" } } }), options);
  const lines = [{ type: "scatter", mode: "lines", name: "headstart", x: history.times, y: history.value, line: { color: colour(0) } }];
  if (report.holdout.mean !== null) {
    lines.push({ type: "scatter", mode: "lines", name: "hold-out (uniform)", x: history.times, y: history.holdout, line: { color: colour(1), dash: "dash" } });
  }
  Plotly.react("gain", lines, layout({ yaxis: { ...outcome, rangemode: "tozero" } }), options);
}

// Only what changed is replaced, so that nothing is read out twice and nobody loses their place.
function take(next) {
  for (const part of document.querySelectorAll("[data-live]")) {
    const other = next.getElementById(part.id);
    if (other && other.innerHTML !== part.innerHTML) part.replaceChildren(...other.cloneNode(true).childNodes);
  }
  const told = next.getElementById("report");
  if (told) draw(current = JSON.parse(told.textContent));
}

function fail(text) {
  const line = document.createElement("p");
  line.className = "failure";
  line.textContent = text;
  document.getElementById("failures").replaceChildren(line);
}

async function refresh() {
  if (!document.hidden) {
    try {
      const answer = await fetch(location.pathname);
      if (answer.ok) take(new DOMParser().parseFromString(await answer.text(), "text/html"));
      else fail("The service does not answer: these are the last numbers that it told.");
    } catch {
      fail("The service cannot be reached: these are the last numbers that it told.");
    }
  }
  setTimeout(refresh, 3000);
}

let current = JSON.parse(document.getElementById("report").textContent);
draw(current);
isDark.addEventListener("change", () => draw(current));
document.body.dataset.drawn = "yes";
setTimeout(refresh, 3000);
