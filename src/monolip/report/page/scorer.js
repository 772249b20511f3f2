"use strict";
/* Scores of the network in a certificate, with the bits of Python: every operation below is one correctly rounded
   float64 operation in the order that monolip's json_reference.py states. Runs in a browser and in node. */
const Monolip = (() => {
  const MOST = Number.MAX_VALUE;
  const clamp = (v, low, high) => (v < low ? low : v > high ? high : v);

  function bytes(text) {
    const raw = atob(text), out = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
    return out;
  }

  function doubles(text) {
    const view = new DataView(bytes(text).buffer), out = new Float64Array(view.byteLength / 8);
    for (let i = 0; i < out.length; i++) out[i] = view.getFloat64(8 * i, true);
    return out;
  }

  /* Pieces of a monotone piecewise-linear map: anchor, value there, slope, lowest, highest; tails included. */
  function pieces(k, v, tails) {
    const n = k.length, out = [];
    for (let i = 0; i <= n; i++) {
      const a = Math.max(i - 1, 0);
      const slope = i > 0 && i < n ? (v[i] / 2 - v[a] / 2) / (k[i] / 2 - k[a] / 2) : tails[i > 0 ? 1 : 0];
      out.push([k[a], v[a], slope, i ? v[a] : -MOST, i < n ? v[i] : MOST]);
    }
    return { knots: k, table: out };
  }

  function phi(map, x) {
    let low = 0, high = map.knots.length;
    while (low < high) { // how many knots are <= x
      const middle = (low + high) >> 1;
      if (map.knots[middle] <= x) low = middle + 1; else high = middle;
    }
    const [anchor, value, slope, least, most] = map.table[low];
    return clamp(value + clamp(x - anchor, -MOST, MOST) * slope, least, most);
  }

  function readColumn(entry, name, tensors) {
    if ("categories" in entry) {
      const { values, shape } = tensors(name + ".table");
      return { table: values, width: shape[1], n: entry.categories.length };
    }
    const k = tensors(name + ".knots").values, v = tensors(name + ".values").values;
    const tails = tensors(name + ".tails").values, maps = [];
    let at = 0;
    entry.knots.forEach((n, m) => {
      maps.push(pieces(k.slice(at, at + n), v.slice(at, at + n), tails.slice(2 * m, 2 * m + 2)));
      at += n;
    });
    return { maps, present: entry.present, missing: entry.missing ? tensors(name + ".missing").values : null };
  }

  function readTrunk(entry, name, limit, tensors) {
    if (entry.form !== "convex") throw new Error("only convex form is scored here");
    const layers = [];
    for (let k = 0; k <= entry.group_sizes.length; k++) {
      const weight = tensors(`${name}.${k}.weight`), bias = tensors(`${name}.${k}.bias`).values;
      layers.push({ weight: weight.values, width: weight.shape[1], bias, group: entry.group_sizes[k] || 1 });
    }
    return { layers, limit, outputs: entry.outputs };
  }

  function affine(layer, z) {
    const { weight, width, bias } = layer, out = new Float64Array(bias.length);
    for (let k = 0; k < out.length; k++) {
      let total = bias[k];
      for (let j = 0, at = k * width; j < width; j++) total = total + weight[at + j] * z[j]; // never fused
      out[k] = total;
    }
    return out;
  }

  function runTrunk(trunk, x) {
    let z = x.map((v) => clamp(v, -trunk.limit, trunk.limit));
    for (const layer of trunk.layers) {
      z = affine(layer, z);
      if (layer.group > 1) for (let at = 0; at < z.length; at += layer.group) z.subarray(at, at + layer.group).sort();
    }
    return z;
  }

  /* e^x by the checked table of monolip.output_link: never falling from one double to the next. */
  function readExp(packed) {
    if (!packed) return null;
    const powers = doubles(packed.powers), parts = doubles(packed.parts), ulps = bytes(packed.ulps);
    const box = new DataView(new ArrayBuffer(8));
    const grid = (i) => {
      const nibble = (ulps[i >> 1] >> (4 * (i & 1))) & 15;
      box.setFloat64(0, powers[Math.floor(i / 64)] * parts[i % 64]);
      box.setBigInt64(0, box.getBigInt64(0) + BigInt(nibble - 8));
      return box.getFloat64(0);
    };
    return (x) => {
      const near = clamp(x, -708, 708), cell = Math.floor(near * 64), t = near - cell / 64;
      const h = 1 + t * (1 + t * (1 / 2 + t * (1 / 6 + t * (1 / 24 + t * (1 / 120 + t / 720)))));
      const low = grid(cell + 45312);
      return clamp(low * h, low, grid(cell + 45313));
    };
  }

  const links = {
    identity: (f) => [f[0]],
    log: (f, exp) => [exp(f[0])],
    logit: (f, exp, about) => {
      const other = 1 / (1 + exp(f[0])), own = 1 / (1 + exp(-f[0])); // f is about one of the two classes
      return about === 0 ? [own, other] : [other, own];
    },
    softmax: (f, exp) => Array.from(f, (own) => {
      let total = 0;
      for (const other of f) total = total + exp(other - own);
      return 1 / total;
    }),
  };

  /* The network of a certificate's document. row: numbers (null where missing); categories by the row of their table. */
  function network(document, limits, packedExp) {
    const tensors = (name) => {
      const entry = document.tensors[name];
      return { values: doubles(entry.data), shape: entry.shape };
    };
    const s = document.structure, exp = readExp(packedExp), link = links[s.ends.link.name];
    const columns = s.ends.inputs.map((entry, i) => readColumn(entry, `inputs.${i}`, tensors));
    const shares = tensors("member_weights").values;
    const members = s.members.map((member, m) => member.map((entry, j) => {
      const name = `member.${m}.trunk.${j}`;
      return readTrunk(entry, name, limits[name], tensors);
    }));
    const nOutputs = members[0].reduce((n, trunk) => n + trunk.outputs.length, 0);

    function inputs(row) {
      const out = [];
      columns.forEach((column, i) => {
        const x = row[i], gone = x === null || Number.isNaN(x);
        if (column.table) {
          const code = gone ? column.n + 1 : x;
          for (let j = 0; j < column.width; j++) out.push(column.table[code * column.width + j]);
        } else if (gone) {
          if (!column.missing) throw new Error("this column has no rule for missing values");
          out.push(...column.missing);
        } else {
          const near = clamp(x, -MOST, MOST);
          for (const map of column.maps) out.push(phi(map, near));
          if (column.present !== null) out.push(column.present);
        }
      });
      return Float64Array.from(out);
    }

    function f(row) {
      const x = inputs(row), total = new Float64Array(nOutputs);
      members.forEach((member, m) => {
        for (const trunk of member) {
          const values = runTrunk(trunk, x);
          trunk.outputs.forEach((k, at) => { total[k] = total[k] + shares[m] * values[at]; });
        }
      });
      return Array.from(total);
    }
    return { f, predict: (values) => link(values, exp, s.ends.link.positive), knots: (i) => (columns[i].maps || []).flatMap((m) => Array.from(m.knots)) };
  }
  return { network };
})();
if (typeof module !== "undefined") module.exports = Monolip;
