"use strict";
/* The live panel: fields -> row -> the network of the certificate -> answer, flips, and what is proved about them. */
(() => {
  const byId = (name) => document.getElementById(name);
  const data = JSON.parse(byId("page-data").textContent);
  const certificate = JSON.parse(byId("certificate").textContent);
  const net = Monolip.network(certificate, data.scorer.limits, data.scorer.exp);
  const features = data.features, isClass = data.labels.length > 0, softmax = data.link === "softmax";
  const turned = data.turned; // the answer is about the other of two classes than f
  const state = { threshold: data.threshold };

  const short = (v, digits = 4) => {
    if (!Number.isFinite(v)) return v > 0 ? "∞" : "−∞";
    const size = Math.abs(v), sign = v < 0 ? "−" : "";
    if (size && (size >= 1e9 || size < 1e-3)) return sign + Number(size.toExponential(digits - 1)).toExponential().replace("e+", "e");
    const places = Math.max(0, digits - 1 - Math.floor(Math.log10(size || 1)));
    return sign + size.toLocaleString("en-US", { maximumFractionDigits: places });
  };
  /* The number of so many digits next to v that is not above it (side -1) or not below it (+1): a bound stays one in print. */
  const outward = (v, digits, side) => {
    const near = Number(v.toPrecision(digits));
    if (!Number.isFinite(v) || side * (near - v) >= 0) return near;
    const [mantissa, power] = v.toExponential(digits - 1).split("e"), whole = Number(mantissa.replace(".", ""));
    const carried = Math.abs(whole) === 10 ** (digits - 1) && Math.sign(whole) !== side; // 1.0 was 0.99...
    return Number(carried ? `${10 * whole + side}e${Number(power) - digits}` : `${whole + side}e${Number(power) - digits + 1}`);
  };
  /* All digits that a number has. */
  const exact = (v) => {
    for (let digits = 4; digits <= 15; digits++) {
      const text = short(v, digits);
      if (Number(text.replaceAll(",", "").replace("−", "-")) === v) return text;
    }
    return String(v).replace("-", "−");
  };
  /* A probability; what is possible is neither certain nor impossible. */
  const chance = (p) => {
    const text = p.toFixed(4);
    return p < 1 && text === "1.0000" ? "> 0.9999" : p > 0 && text === "0.0000" ? "< 0.0001" : text;
  };
  const signed = (v) => (v > 0 ? "+" : "") + short(v);

  /* Sliders: position 0 .. 1000 along the stops, which are quantiles of the data where there was any. */
  const place = (feature, value) => {
    const stops = feature.stops, last = stops.length - 1;
    if (value <= stops[0]) return 0;
    for (let k = 1; k <= last; k++) {
      if (value <= stops[k]) return (1000 * (k - 1 + (value - stops[k - 1]) / (stops[k] - stops[k - 1]))) / last;
    }
    return 1000;
  };
  const valueAt = (feature, position) => {
    const stops = feature.stops, last = stops.length - 1, at = (position / 1000) * last;
    const k = Math.min(Math.floor(at), last - 1), value = stops[k] + (at - k) * (stops[k + 1] - stops[k]);
    return feature.whole ? Math.round(value) : Number(value.toPrecision(5));
  };

  function read(j) {
    if (features[j].options) return Number(byId(`value-${j}`).value);
    const gone = byId(`missing-${j}`), text = byId(`value-${j}`).value;
    if ((gone && gone.checked) || (text === "" && features[j].missing)) return null;
    if (text === "") return features[j].start; // no rule for missing values
    return Number(text);
  }
  function write(j, value) {
    const field = byId(`value-${j}`), gone = byId(`missing-${j}`), slider = byId(`slider-${j}`);
    if (features[j].options) { field.value = String(value); return; }
    if (gone) gone.checked = value === null;
    field.disabled = slider.disabled = value === null;
    if (value === null) return;
    field.value = String(value);
    slider.value = String(Math.round(place(features[j], value)));
    slider.setAttribute("aria-valuetext", `${short(value)} ${features[j].unit}`.trim());
  }
  const row = () => features.map((_, j) => read(j));

  function decide(f, predictions) {
    if (softmax) return f.indexOf(Math.max(...f));
    if (data.link === "logit" && state.threshold === 0.5) return f[0] > 0 ? data.about : 1 - data.about;
    if (data.link === "logit") return predictions[data.named] > state.threshold ? data.named : 1 - data.named;
    return Number(predictions[0] > state.threshold);
  }
  function ask(values) {
    const f = net.f(values), predictions = net.predict(f);
    return { f, predictions, decision: decide(f, predictions) };
  }
  const decisionName = (d) => (isClass ? data.labels[d] : d ? `above ${exact(state.threshold)}` : `not above ${exact(state.threshold)}`);
  const shown = (answer) => (data.link === "logit" ? answer.predictions[data.named] : softmax ? Math.max(...answer.predictions) : answer.predictions[0]);

  /* Whether moving feature j up (+1) or down (-1) provably cannot change this decision. */
  function blocked(j, side, decision) {
    const word = features[j].directions[softmax ? decision : 0];
    if (word === "flat") return true;
    if (word === "free") return false;
    const helps = (word === "increasing") === (side > 0); // raises the answer, or the decided class's probability
    return softmax ? helps : helps === (decision === data.about);
  }

  /* A value in few digits, never beyond itself as seen from x: what is proved up to it is proved up to there. */
  function towards(value, x) {
    for (let digits = 2; digits <= 15; digits++) {
      const near = outward(value, digits, value > x ? -1 : 1);
      if ((near - x) / (value - x) > 0.99) return near;
    }
    return value;
  }

  /* The nearest value of feature j on one side that changes the decision: a scan, then bisection to the last bit. */
  function flipNumber(values, j, side, decision) {
    const feature = features[j], x = values[j], end = side > 0 ? feature.stops[feature.stops.length - 1] : feature.stops[0];
    if (side * (end - x) <= 0) return null;
    const changed = (v) => ask(values.map((old, i) => (i === j ? v : old))).decision !== decision;
    const monotone = feature.directions[softmax ? decision : 0] !== "free";
    const inside = (v) => side * (v - x) > 0 && side * (end - v) > 0;
    const tries = monotone ? [] : [...feature.stops.filter(inside), ...net.knots(j).filter(inside)];
    if (!monotone) for (let k = 1; k < 24; k++) tries.push(x + ((end - x) * k) / 24);
    tries.sort((a, b) => side * (a - b));
    let good = x, bad = null;
    for (const v of [...tries, end]) {
      if (changed(v)) { bad = v; break; }
      good = v;
    }
    if (bad === null) return null;
    for (let k = 0; k < 60; k++) {
      const middle = good + (bad - good) / 2;
      if (middle === good || middle === bad) break;
      if (changed(middle)) bad = middle; else good = middle;
    }
    const power = 10 ** (Math.floor(Math.log10(Math.abs(bad - x) || 1)) - 2);
    const step = feature.whole ? 1 : power, round = (side > 0 ? Math.ceil : Math.floor)(bad / step) * step;
    const nicer = Number(round.toPrecision(12));
    if (side * (end - nicer) >= 0 && changed(nicer)) bad = nicer; else if (feature.whole) return null;
    return { j, value: bad, distance: Math.abs(bad - x) / (feature.spread || Math.abs(end - x)), safe: monotone && good !== x ? towards(good, x) : null };
  }
  function flips(values, decision) {
    const found = [], until = performance.now() + 400; // what matters most is tried first
    let tried = 0;
    for (const j of data.order) {
      if (performance.now() > until) break;
      const feature = features[j];
      tried += 1;
      if (feature.options) {
        for (let code = 0; code < feature.options.length; code++) {
          if (code === values[j]) continue;
          const other = ask(values.map((old, i) => (i === j ? code : old)));
          if (other.decision !== decision) { found.push({ j, value: code, distance: 1.5, safe: null }); break; }
        }
      } else if (values[j] !== null) {
        const sides = [1, -1].filter((side) => !blocked(j, side, decision));
        const near = sides.map((side) => flipNumber(values, j, side, decision)).filter(Boolean);
        near.sort((a, b) => a.distance - b.distance);
        if (near.length) found.push(near[0]);
      }
    }
    return { tried, found: found.sort((a, b) => a.distance - b.distance).slice(0, 5) };
  }

  /* Proved by slopes alone: every known number may move by this many standard deviations at once; null: there is none. */
  function radius(answer) {
    const numbers = features.filter((feature, j) => feature.slopes && read(j) !== null);
    if (!numbers.length) return null;
    if (numbers.every((feature) => feature.slopes.every(([low, high]) => low === 0 && high === 0))) return Infinity;
    const room = (margin, size, slope, blur = 0) => { // sizes and blur: what rounding may take away
      const cost = numbers.reduce((sum, feature) => sum + slope(feature) * feature.spread, 0);
      return cost > 0 ? Math.max(0, (margin - 1e-9 * (1 + margin) - 1e-12 * size - blur) / (cost * (1 + 1e-9))) : 0;
    };
    if (softmax) {
      const k = answer.decision;
      return Math.min(...answer.f.map((v, j) => (j === k ? Infinity : room(answer.f[k] - v, Math.abs(answer.f[k]) + Math.abs(v), ({ slopes: s }) =>
        Math.max(s[k][1] - s[j][0], s[j][1] - s[k][0], 0)))));
    }
    const t = turned ? 1 - state.threshold : state.threshold, level = data.link === "logit" ? Math.log(t / (1 - t)) : data.link === "log" ? Math.log(t) : t;
    if (!Number.isFinite(level)) return null;
    const blur = data.link === "logit" ? 1e-14 / (t * (1 - t)) : 0; // a probability near 0 or 1 tells little of f
    const steepest = ({ slopes: [[low, high]] }) => Math.max(Math.abs(low), Math.abs(high));
    return room(Math.abs(answer.f[0] - level), Math.abs(answer.f[0]) + Math.abs(level), steepest, blur);
  }

  function badge(words) {
    const mark = document.createElement("span");
    mark.className = "badge";
    mark.textContent = words;
    return mark;
  }

  function drawFlips(values, answer) {
    const list = byId("flips");
    list.replaceChildren();
    const { tried, found } = flips(values, answer.decision);
    for (const flip of found) {
      const feature = features[flip.j], item = document.createElement("li"), button = document.createElement("button");
      const after = ask(values.map((old, i) => (i === flip.j ? flip.value : old)));
      let words;
      if (feature.options) words = `${feature.name}: ${feature.options[flip.value]}`;
      else words = `${feature.name}: ${exact(values[flip.j])} → ${exact(flip.value)} (${signed(flip.value - values[flip.j])})${feature.unit ? " " + feature.unit : ""}`;
      item.append(words, ` makes it ${decisionName(after.decision)}. `);
      if (flip.safe !== null) {
        item.append(badge(`proved: ${decisionName(answer.decision)} at least to ${exact(flip.safe)}`), " ");
      }
      button.type = "button";
      button.textContent = "Try";
      button.setAttribute("aria-label", `Try ${words}`);
      button.addEventListener("click", () => { write(flip.j, flip.value); update(); });
      item.append(button);
      list.append(item);
    }
    if (!list.children.length) {
      const item = document.createElement("li");
      item.textContent = "No single change within the range of the data was found that flips this decision.";
      list.append(item);
    }
    const r = radius(answer), others = features.some((feature, j) => feature.options || values[j] === null);
    byId("radius").textContent = (r === null || r < 0.001 ? "" : r === Infinity
      ? "Proved: no change of a known number to another can flip this decision. "
      : `Proved: it cannot flip while every known number stays within ${short(outward(r, 2, -1), 2)} standard deviations${others ? " and the rest stays as it is" : ""}. `)
        + (tried < features.length ? `One change at a time, of the ${tried} most important features:` : "One change at a time, nearest first:");
  }

  let begun = null, waiting = 0;
  function update() {
    const values = row(), answer = ask(values), now = shown(answer);
    begun = begun || answer;
    byId("answer").textContent = isClass ? chance(now) : short(now, 6);
    if (softmax) byId("answer-name").textContent = data.probabilities[answer.predictions.indexOf(now)];
    byId("decision").textContent = isClass ? `Decision: ${decisionName(answer.decision)}` : `It is ${decisionName(answer.decision)}.`;
    const before = shown(begun);
    byId("change").textContent = now === before || softmax ? "" : `${signed(now - before)} against the start (${isClass ? chance(before) : short(before, 6)})`;
    const fill = document.querySelector("#gauge .fill");
    if (fill) fill.style.width = `${100 * now}%`;
    document.querySelectorAll("#classes li").forEach((item, k) => {
      item.querySelector(".fill").style.width = `${100 * answer.predictions[k]}%`;
      item.querySelector(".value").textContent = chance(answer.predictions[k]);
    });
    byId("exact").textContent = `f = ${answer.f.join(" ")}\nprediction = ${answer.predictions.join(" ")}`;
    clearTimeout(waiting);
    waiting = setTimeout(() => drawFlips(values, answer), 120);
  }

  function listen(j) {
    const field = byId(`value-${j}`), slider = byId(`slider-${j}`), gone = byId(`missing-${j}`);
    field.addEventListener("input", () => {
      if (!features[j].options && field.value !== "") slider.value = String(Math.round(place(features[j], Number(field.value))));
      update();
    });
    if (slider) slider.addEventListener("input", () => { write(j, valueAt(features[j], Number(slider.value))); update(); });
    if (gone) gone.addEventListener("change", () => {
      field.disabled = slider.disabled = gone.checked;
      update();
    });
  }
  const start = () => features.forEach((feature, j) => write(j, feature.start));
  features.forEach((_, j) => listen(j));
  byId("fields").addEventListener("submit", (event) => event.preventDefault());
  byId("reset").addEventListener("click", () => { start(); update(); });
  byId("random").addEventListener("click", () => {
    features.forEach((f, j) => write(j, f.options ? Math.floor(Math.random() * f.options.length) : valueAt(f, 1000 * Math.random())));
    update();
  });
  const threshold = byId("threshold");
  if (threshold) {
    threshold.value = String(data.threshold);
    threshold.addEventListener("input", () => {
      if (threshold.value !== "") { state.threshold = Number(threshold.value); update(); }
    });
  }

  /* When the page opens it proves itself: rows that Python has answered, bit for bit. */
  const checks = data.scorer.checks;
  const wrong = checks.rows.filter((values, i) => {
    const answer = ask(values);
    return answer.f.some((v, k) => v !== checks.f[i][k]) || answer.predictions.some((v, k) => v !== checks.predictions[i][k]);
  }).length;
  const seal = byId("bits");
  seal.textContent = `${checks.rows.length - wrong} of ${checks.rows.length}`;
  seal.classList.toggle("bad", wrong > 0);
  if (wrong) byId("bits-words").textContent = "check rows give Python's bits in this browser: do not rely on the live panel";
  start();
  update();
  window.monolip = { ask, row, write, update, radius, outward, exact, wrong };
})();
