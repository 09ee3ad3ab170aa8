"use strict";
(() => {
  const make = (name, attributes, text) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
    if (text) element.textContent = text;
    return element;
  };
  const shown = (us) => {
    const [value, unit] = us >= 1e6 ? [us / 1e6, "s"] : us >= 1e3 ? [us / 1e3, "ms"] : [us, "\u00b5s"];
    return `${Number(value.toPrecision(3))} ${unit}`;
  };
  const button = (tools, text, act) => {
    const made = make("button", { type: "button" }, text);
    made.addEventListener("click", act);
    tools.append(made);
    return made;
  };
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // Steps over time: stacked parts, as many steps together as there are for three pixels.
  const steps = (root, data) => {
    const count = data.first.length, last = data.first[count - 1] + data.counts[count - 1];
    let view = [0, count], whole = false, plot = null, bins = [], paper = false;
    const tools = make("div", { class: "tools" });
    const hint = "Drag to zoom, double-click for all steps; by keyboard: arrows move, + and - zoom, 0 shows all.";
    const stage = make("div", { class: "plot", tabindex: "0", role: "group", "aria-label": `Chart of the steps. ${hint}` });
    const readout = make("p", { class: "readout dim", role: "status" }, hint);

    const gather = (width) => {
      const each = Math.max(1, Math.ceil(((view[1] - view[0]) * 3) / (width - 70)));
      bins = [];
      for (let from = view[0]; from < view[1]; from += each) {
        const to = Math.min(view[1], from + each);
        const bin = { from, to, parts: data.parts.map(() => 0), longest: 0, compilations: 0 };
        let covered = 0;
        for (let row = from; row < to; row += 1) {
          covered += data.counts[row];
          data.parts.forEach((part, nth) => { bin.parts[nth] += part[2][row] * data.counts[row]; });
          bin.longest = Math.max(bin.longest, data.longest[row]);
          bin.compilations += data.compilations[row];
        }
        bin.parts = bin.parts.map((sum) => sum / covered);
        bins.push(bin);
      }
      const x = bins.map((bin) => data.first[bin.from]);
      x.push(view[1] < count ? data.first[view[1]] : last);
      const closed = (values) => [...values, values[values.length - 1]];
      // The whole stack first: what is drawn later covers the rest of it.
      const stacks = data.parts.map((_, nth) => closed(bins.map((bin) =>
        bin.parts.slice(0, nth + 1).reduce((sum, value) => sum + value, 0))));
      return [x, ...stacks.reverse(), closed(bins.map((bin) => bin.longest))];
    };
    const top = () => {
      const lengths = bins.map((bin) => bin.longest).sort((a, b) => a - b);
      const most = lengths[lengths.length - 1];
      const usual = 2 * lengths[Math.floor(lengths.length * 0.75)];
      return whole || most <= 2 * usual ? most * 1.05 || 1 : usual;
    };
    const say = (at) => {
      const bin = bins[at];
      if (!bin) { readout.textContent = hint; return; }
      const first = data.first[bin.from];
      const after = bin.to < count ? data.first[bin.to] : last;
      const all = bin.parts.reduce((sum, value) => sum + value, 0);
      const several = after - first > 1;
      const parts = data.parts.map((part, nth) => [part[1], bin.parts[nth]])
        .filter((part) => part[1] > 0).sort((a, b) => b[1] - a[1])
        .map(([name, us]) => `${name} ${shown(us)}`);
      readout.textContent = `${several ? `steps ${first} to ${after - 1}, on average` : `step ${first}:`}`
        + ` ${shown(all)}${several ? `, the longest ${shown(bin.longest)}` : ""}: ${parts.join(", ")}`
        + (bin.compilations ? `; ${bin.compilations} compilation${bin.compilations > 1 ? "s" : ""}` : "");
    };
    const marks = (u) => {
      const context = u.ctx, size = 4 * devicePixelRatio;
      const tip = (x, y) => {
        context.beginPath();
        context.moveTo(x - size, y + size);
        context.lineTo(x + size, y + size);
        context.lineTo(x, y);
        context.fill();
      };
      for (const [nth, bin] of bins.entries()) {
        const x = (u.valToPos(u.data[0][nth], "x", true) + u.valToPos(u.data[0][nth + 1], "x", true)) / 2;
        context.fillStyle = color("--compile");
        if (bin.compilations) tip(x, u.bbox.top + u.bbox.height + size);
        context.fillStyle = paper ? "#000" : color("--fg");
        if (bin.longest > u.scales.y.max) tip(x, u.bbox.top - 1);
      }
    };
    const draw = () => {
      const width = Math.max(280, root.clientWidth);
      const values = gather(width);
      const grid = paper ? "#ccc" : color("--line"), ink = paper ? "#000" : color("--dim");
      const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
      const stepped = uPlot.paths.stepped({ align: 1 });
      const series = data.parts.map((part) => (
        { fill: color(`--${part[0]}`), width: 0, paths: stepped, points: { show: false } })).reverse();
      const several = () => view[1] - view[0] > bins.length || data.counts.some((each) => each > 1);
      series.push({ stroke: () => (several() ? ink : "transparent"), width: 1,
        paths: stepped, points: { show: false } });
      if (plot) plot.destroy();
      plot = new uPlot({
        width, height: 260, legend: { show: false }, padding: [10, 8, 4, 0],
        cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false },
          bind: { dblclick: () => () => { show(0, count); return null; } } },
        scales: { x: { time: false, range: (u) => [u.data[0][0], u.data[0][u.data[0].length - 1]] },
          y: { range: () => [0, top()] } },
        axes: [{ ...axis, label: "step", labelSize: 18, labelFont: "12px system-ui", font: "12px system-ui",
          values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? String(tick) : "")) },
          { ...axis, size: 62, font: "12px system-ui", values: (_, ticks) => ticks.map((tick) => (tick ? shown(tick) : "0")) }],
        series: [{}, ...series],
        hooks: {
          draw: [marks],
          setCursor: [(u) => {
            const value = u.cursor.left >= 0 ? u.posToVal(u.cursor.left, "x") : null;
            if (value !== null) say(bins.findIndex((_, nth) => value < u.data[0][nth + 1]));
          }],
          setSelect: [(u) => {
            if (u.select.width < 4) return;
            const from = u.posToVal(u.select.left, "x");
            const to = u.posToVal(u.select.left + u.select.width, "x");
            show(row(from), row(to) + 1);
          }],
        },
      }, values, stage);
    };
    const row = (step) => {
      let low = 0, high = count;
      while (low < high - 1) {
        const middle = (low + high) >> 1;
        if (data.first[middle] <= step) low = middle; else high = middle;
      }
      return low;
    };
    const show = (from, to) => {
      const length = Math.min(count, Math.max(5, to - from));
      const begin = Math.max(0, Math.min(Math.floor(from), count - length));
      view = [begin, Math.min(count, begin + Math.ceil(length))];
      plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      plot.setData(gather(plot.width));
    };
    const zoom = (times) => {
      const length = (view[1] - view[0]) * times, at = (view[0] + view[1]) / 2;
      show(at - length / 2, at + length / 2);
    };
    let at = -1;
    const move = (by) => {
      at = Math.max(0, Math.min(bins.length - 1, at + by));
      const middle = (plot.data[0][at] + plot.data[0][at + 1]) / 2;
      plot.setCursor({ left: plot.valToPos(middle, "x"), top: 10 });
    };
    const keys = { ArrowLeft: () => move(-1), ArrowRight: () => move(1), "+": () => zoom(0.5),
      "-": () => zoom(2), 0: () => show(0, count) };
    stage.addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      keys[event.key]();
    });
    button(tools, "Zoom in", () => zoom(0.5));
    button(tools, "Zoom out", () => zoom(2));
    button(tools, "All steps", () => show(0, count));
    const spikes = button(tools, "Whole spikes", () => {
      whole = !whole;
      spikes.setAttribute("aria-pressed", String(whole));
      plot.setData(plot.data);
    });
    spikes.setAttribute("aria-pressed", "false");
    const legend = make("ul", { class: "legend" });
    for (const part of data.parts) {
      const item = make("li");
      item.innerHTML = '<svg class="key" viewBox="0 0 1 1" aria-hidden="true"><rect width="1" height="1"/></svg> ';
      item.querySelector("rect").setAttribute("class", `c-${part[0]}`);
      item.append(part[1]);
      legend.append(item);
    }
    legend.append(make("li", {}, "\u25b2 below the chart: compiled here; \u25b2 above it: longer than shown; thin line: the longest of several steps"));
    root.append(tools, stage, readout, legend);
    draw();
    let known = root.clientWidth;
    new ResizeObserver(() => {
      if (Math.abs(root.clientWidth - known) < 2) return;
      known = root.clientWidth;
      draw();
    }).observe(root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    addEventListener("beforeprint", () => { paper = true; draw(); });
    addEventListener("afterprint", () => { paper = false; draw(); });
  };

  // Lanes: all of a step show the same part of it.
  const lanes = (root, nanoseconds) => {
    let from = 0, length = 1000;
    const tools = make("div", { class: "tools" });
    const scale = make("div", { class: "lane" });
    const ticks = make("div", { class: "scale" });
    scale.append(make("span"), ticks);
    const show = (begin, wide) => {
      length = Math.min(1000, Math.max(1, wide));
      from = Math.max(0, Math.min(1000 - length, begin));
      for (const picture of root.querySelectorAll(".lane > svg"))
        picture.setAttribute("viewBox", `${from} 0 ${length} 1`);
      ticks.textContent = "";
      for (let nth = 0; nth <= 4; nth += 1)
        ticks.append(make("span", {}, shown(((from + (nth * length) / 4) * nanoseconds) / 1e6)));
    };
    const zoom = (times) => show(from + (length * (1 - times)) / 2, length * times);
    button(tools, "Zoom in", () => zoom(0.5));
    button(tools, "Zoom out", () => zoom(2));
    button(tools, "Earlier", () => show(from - length / 2, length));
    button(tools, "Later", () => show(from + length / 2, length));
    button(tools, "Whole step", () => show(0, 1000));
    root.prepend(tools);
    root.append(scale);
    show(0, 1000);
  };

  for (const root of document.querySelectorAll("[data-chart]"))
    steps(root, JSON.parse(document.getElementById(root.dataset.chart).textContent));
  for (const root of document.querySelectorAll("[data-lanes]")) lanes(root, Number(root.dataset.lanes));

  // Tables that do not fit fade out where they go on.
  const fade = (box) => box.classList.toggle("more-right", box.scrollWidth - box.clientWidth - box.scrollLeft > 1);
  const sizes = new ResizeObserver((all) => all.forEach((each) => fade(each.target)));
  for (const box of document.querySelectorAll(".wide")) {
    box.addEventListener("scroll", () => fade(box), { passive: true });
    sizes.observe(box);
  }

  // Code to paste; where the browser refuses, it is selected.
  const copy = (code) => {
    const made = button(code.parentElement.querySelector("figcaption"), "Copy", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        made.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code);
        made.textContent = "Selected";
      }
      setTimeout(() => { made.textContent = "Copy"; }, 2000);
    });
  };
  for (const code of document.querySelectorAll("[data-copy]")) copy(code);

  // Long lists of findings: by severity, by rule.
  const filter = (findings) => {
    const kinds = (key) => [...new Set(findings.map((each) => each.dataset[key]))];
    const severities = new Set(kinds("severity")), rules = kinds("rule");
    if (findings.length < 4 || (severities.size < 2 && rules.length < 2)) return;
    const tools = make("div", { class: "tools", role: "group", "aria-label": "Which findings are shown" });
    const told = make("span", { class: "dim", role: "status" });
    const rule = make("select", { "aria-label": "Rule" });
    const apply = () => {
      for (const each of findings)
        each.hidden = !severities.has(each.dataset.severity) || (rule.value !== "" && rule.value !== each.dataset.rule);
      const hidden = findings.filter((each) => each.hidden).length;
      told.textContent = hidden ? `${hidden} of ${findings.length} hidden` : "";
    };
    for (const severity of severities) {
      const count = findings.filter((each) => each.dataset.severity === severity).length;
      const made = button(tools, `${severity} ${count}`, () => {
        if (!severities.delete(severity)) severities.add(severity);
        made.setAttribute("aria-pressed", String(severities.has(severity)));
        apply();
      });
      made.setAttribute("aria-pressed", "true");
    }
    rule.append(make("option", { value: "" }, "all rules"), ...rules.map((id) => make("option", {}, id)));
    rule.addEventListener("change", apply);
    tools.append(rule, told);
    findings[0].before(tools);
  };
  for (const part of new Set([...document.querySelectorAll(".finding")].map((each) => each.parentElement)))
    filter([...part.querySelectorAll(":scope > .finding")]);

  const open = () => {
    const named = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (named instanceof HTMLDetailsElement) {
      named.hidden = false;
      named.open = true;
    }
  };
  addEventListener("hashchange", open);
  open();
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const each of folded) each.open = true;
  });
  addEventListener("afterprint", () => { for (const each of folded) each.open = false; });
})();
