"""Independent checker of monolip certificates:  python monolip_check.py CERTIFICATE.json

Exit status 0 only when every claim of the document is proved here, from the numbers it carries, in exact integer and
rational arithmetic; standard library only, nothing of monolip. SPECIFICATION.md, beside this file, says why it follows.
"""

# fmt: off
import base64, bisect, decimal, functools, hashlib, itertools, json, math, re, struct, sys, types
from fractions import Fraction
MOST_BYTES, MOST_PIECES, NORMS = 2**31, 2**26, ("L1_TO_L1", "L1_TO_LINF", "LINF_TO_LINF")
ARITHMETIC = ("float64, to nearest, no fast-math, NaN refused; u clamped outside +-limit; z = b, z = fl(z + fl(w[j] * "
              "u[j])) for j = 0, 1, ..; groups sorted; members: total = 0, total = fl(total + fl(weight * f)) in order")
# Schemas: a type means exactly it (a bool is no int), a tuple one of several, [s] a list of s, {str: s} any keys,
# another dict exactly its keys ("key?" may be absent); anything else stands for itself.
PAIRS, LABELS, WRITTEN = ([[str]], None), [(str, int, float, bool)], {"bounded": "slope interval", "free": "no promise"}
CONVEX = {"form": "convex", "outputs": [int], "layers": int, "group_sizes": [int]}
PAPER = {"form": "paper", "outputs": [int], "layers": int, "activations": [str], "norms": [str]}
NUMERIC = {"name": str, "knots": [int], "missing": bool, "present": (float, None), "seen?": [float]}
CATEGORY = {"name": str, "categories": LABELS, "ordered": bool}
LINK = {"name": str, "labels": (LABELS, None), "positive": (int, None), "target": (str, None)}
NO_LINK = {"name": "none", "labels": None, "positive": None, "target": None}
ENDS = {"inputs": ([(NUMERIC, CATEGORY)], None), "raw_promise": ([str], None), "link": (LINK, None)}
NETWORK = {"feature_names": ([str], None), "free_names": ([str], None), "slope_set": bool, "l2_radius?": (float, None),
           "free_branch": ([str], None), "members": [[(CONVEX, PAPER)]], "ends?": ENDS}
ENTRY = {"name": (str, None), "promise": [str], "real": PAIRS, "differences": PAIRS, "missing": (str, None)}
CLAIMS = {"model": [ENTRY], "raw": ([ENTRY], None), "norms": [[[str]]], "limit": (str, None)}
DOCUMENT = {"format": "monolip.Certificate", "version": 2, "kind": str, "digest": str, "structure": dict,
            "tensors": {str: {"dtype": str, "shape": [int], "data": str}}, "claims": dict,
            "arithmetic": str, "versions": {str: str}, "sha256": str}
INTEGERS = "X = V + rint(fl(fl(x - k) * rate)), clamped; z = floor((W z + b) / 2^shift); SPECIFICATION.md, section 8"
BITS = ("shift", "input_bits", "activation_bits", "accumulator_bits", "weight_bits")
FIXED = {"format": {"name": str, "saturate": bool, **dict.fromkeys(BITS, int)}, "source": str, "vectors": bool,
         "columns": [({**NUMERIC, "present": (int, None)}, CATEGORY)],
         "members": [[{"form": ("convex", "paper"), "outputs": [int], "group_sizes": [int]}]],
         "link": {**LINK, "unit": int, "factor": int, "shift": int, "offset": str},
         "free": ({"columns": [(NUMERIC, CATEGORY)], "activations": [str], "limits": [int]}, None)}
WHOLE = {"raw": [{**ENTRY, "margin": ([str], None)}], "carriers": [str]}
RESERVED = {"sorted_outputs": "sorted outputs", "relations": "relations between features"}  # absent, or empty lists
each, pairwise, Record = functools.partial(zip, strict=True), itertools.pairwise, types.SimpleNamespace
def need(condition, why):
    if not condition:  # a claim that is not proved, or a document that is not written as the specification says
        raise ValueError(why)
def fits(value, schema):
    if type(schema) is tuple:
        return any(fits(value, s) for s in schema)
    if type(schema) is list:
        return type(value) is list and all(fits(v, schema[0]) for v in value)
    if type(schema) is not dict:
        return type(value) is schema if type(schema) is type else type(value) is type(schema) and value == schema
    if type(value) is not dict or str in schema:
        return type(value) is dict and all(fits(v, schema[str]) for v in value.values())
    known = {key.rstrip("?"): s for key, s in schema.items() if key[-1] != "?" or key[:-1] in value}
    return value.keys() == known.keys() and all(fits(value[key], known[key]) for key in known)
def strict_json(path):
    with open(path, "rb") as file:
        text = file.read(MOST_BYTES).decode()
    once = lambda pairs: need(len(dict(pairs)) == len(pairs), "a key stands twice") or dict(pairs)  # noqa: E731
    finite = lambda word: need(math.isfinite(float(word)), "JSON holds " + word[:20]) or float(word)  # noqa: E731
    return json.loads(text, object_pairs_hook=once, parse_constant=finite, parse_float=finite)
def hex_float(text):
    value = float.fromhex(text[:32])
    need(math.isfinite(value) and (value + 0.0).hex() == text, "a claim is not written as float.hex writes a number")
    return value
def read_tensors(given):
    """{name: (shape, bytes, "f8" or "i8")}; only the one canonical base64 text of some bytes is accepted."""
    tensors = {}
    for name, entry in given.items():
        raw, shape = base64.b64decode(entry["data"], validate=True), tuple(entry["shape"])
        fit = base64.b64encode(raw).decode() == entry["data"] and len(raw) == 8 * math.prod(shape)
        need(fit and min(shape, default=1) >= 0, name + " has other bytes than its shape, or no canonical base64")
        tensors[name] = shape, raw, entry["dtype"]
    return tensors
def digest_of(label, structure, tensors):
    parts = [f"|{name}|{tensors[name][0]}|".encode() + tensors[name][1] for name in sorted(tensors)]
    return hashlib.sha256(b"".join([json.dumps([*label, structure], sort_keys=True).encode(), *parts])).hexdigest()
def numbers(tensors, name, *shape, kind="d", below=math.inf):
    """Floats, or integers (kind q), of a tensor, |v| < below, flat; each is taken once. None in shape: any length."""
    need(name in tensors, name + " is missing")
    found, raw, dtype = tensors.pop(name)
    same = len(found) == len(shape) and all(n in (None, m) for n, m in zip(shape, found))
    need(same and dtype == {"d": "f8", "q": "i8"}[kind], name + " has another type or shape")
    values = struct.unpack(f"<{len(raw) // 8}{kind}", raw)
    need(all(abs(v) < below for v in values), name + " holds nan, inf, or numbers beyond their bits")
    need(struct.pack(f"<{len(values)}{kind}", *[v + 0 for v in values]) == raw, name + " holds -0.0")
    return list(values)
def cut(flat, width):
    return [flat[k : k + width] for k in range(0, len(flat), max(width, 1))]
def matrix(tensors, name, *shape):
    """Rows of integers, and e: each number is exactly its integer / 2^e."""
    pairs = list(map(float.as_integer_ratio, numbers(tensors, name, *shape)))  # denominators are powers of two
    e = max((d for _, d in pairs), default=1).bit_length() - 1
    return cut([n << e + 1 - d.bit_length() for n, d in pairs], shape[1]), e
def norm_of(rows, e, norm):
    """The exact operator norm of a layer: its largest entry, row sum or column sum."""
    lines = rows if norm == "LINF_TO_LINF" else zip(*rows)
    return Fraction(max((max if norm == "L1_TO_LINF" else sum)(map(abs, line)) for line in lines), 1 << e)
def read_trunk(entry, prefix, tensors, n_inputs, claimed):
    """One network: layers that chain, mixing rows that average exactly, norms at most the claimed ones."""
    convex, count, width, layers, sizes, bias = entry["form"] == "convex", entry["layers"], n_inputs, [], [], 0
    norms = ["L1_TO_LINF"] + ["LINF_TO_LINF"] * (len(claimed) - 1) if convex else entry["norms"]
    words = [f"sort {size}" for size in entry["group_sizes"]] if convex else entry["activations"]
    need(0 < count == len(norms) == len(claimed) == len(words) + 1 and set(norms) <= set(NORMS), "layers, or norms")
    need(all(a == "L1_TO_L1" or b == "LINF_TO_LINF" for a, b in pairwise(norms)), "norms that do not chain")
    claims = [Fraction(hex_float(text)) for text in claimed]
    for k, (norm, claim, word) in enumerate(each(norms, claims, [*words, "sort 1"])):
        rows, e = matrix(tensors, f"{prefix}.{k}.weight", None, width)
        need(rows and norm_of(rows, e, norm) <= claim, f"{prefix}.{k} has a larger norm than claimed")
        need(not convex or k == 0 or all(min(r) >= 0 and sum(r) == 1 << e for r in rows), "a row that is no average")
        bias, width = bias + max(map(abs, map(Fraction, numbers(tensors, f"{prefix}.{k}.bias", len(rows))))), len(rows)
        layers, sizes = [*layers, (rows, e)], [*sizes, 1 if word == "rectify" else int(word[5:])]
        need(word in (f"sort {sizes[k]}", "rectify") and sizes[k] > 0 == width % sizes[k], "an activation")
    need(len(entry["outputs"]) == width, "a trunk with other outputs than rows")
    trunk = Record(convex=convex, outputs=entry["outputs"], layers=layers, sizes=sizes, bias=bias)
    if not convex:
        caps = [norm_of([[w] for w in column], layers[0][1], norms[0]) for column in zip(*layers[0][0])]
        center, e = matrix(tensors, prefix + ".center", width, n_inputs)
        radius, scale = numbers(tensors, prefix + ".radius", n_inputs), numbers(tensors, prefix + ".scale", width)
        need(min(radius + scale) >= 0, "a negative radius or scale")
        reach = [Fraction(r) * cap * math.prod(claims[1:]) for r, cap in each(radius, caps)]
        trunk.box = [[(Fraction(c, 1 << e) - Fraction(s) * r, Fraction(c, 1 << e) + Fraction(s) * r)
                      for c, r in each(row, reach)] for row, s in each(center, scale)]
    return trunk
def shares_of(trunk, row):
    """[low, high], e: unit k of the first layer has a share of output `row` in [low_k, high_k] / 2^e, everywhere."""
    ends = [[int(k == row) for k in range(len(trunk.outputs))]] * 2
    for (rows, _), size in each(trunk.layers[:0:-1], trunk.sizes[-2::-1]):
        for side, extreme in enumerate((min, max)):  # weights are >= 0; sorting may order a group in any way
            passed = [sum(map(int.__mul__, column, ends[side])) for column in zip(*rows)]
            ends[side] = [extreme(passed[k - k % size : k - k % size + size]) for k in range(len(passed))]
    return ends, sum(e for _, e in trunk.layers[1:])
def slopes_of(trunk, row):
    """A function of {model column: rate >= 0}: bounds of the sum of rate * slope over all gradients of one output."""
    if not trunk.convex:
        return lambda rates: [sum(rate * trunk.box[row][j][side] for j, rate in rates.items()) for side in (0, 1)]
    (rows, shift), ((low, high), e) = trunk.layers[0], shares_of(trunk, row)
    room, spare = [b - a for a, b in each(low, high)], (1 << e) - sum(low)
    def between(rates):  # every unit has its least share; what is left goes to the smallest (largest) values first
        below, values, ends = math.lcm(*(rate.denominator for rate in rates.values())), [0] * len(rows), []
        for j, factor in ((j, int(rate * below)) for j, rate in rates.items() if rate):
            values = [v + unit[j] * factor for v, unit in each(values, rows)]
        order, base = sorted(range(len(values)), key=values.__getitem__), sum(map(int.__mul__, low, values))
        for way in (order, order[::-1]):
            total, left = base, spare
            for k in way:
                step = min(left, room[k])
                total, left = total + step * values[k], left - step
            ends.append(Fraction(total, below << e + shift))
        return ends
    return between
def read_column(entry, prefix, tensors, kind="d"):
    """rates: slopes of all maps on each stretch; low, high: its model columns at both ends; missing: those of NaN."""
    if "categories" in entry:
        height = len(entry["categories"]) + 2
        flat = numbers(tensors, prefix + ".table", height, None, kind=kind)
        *known, _, missing = rows = cut(flat, len(flat) // height)
        rises = all(a <= b for one, two in pairwise(known) for a, b in each(one, two)) or not entry["ordered"]
        need(rises and len({*entry["categories"]}) == len(known), "ordered categories that fall, or one twice")
        low, high = (known[0], known[-1]) if entry["ordered"] and known else (None, None)
        return Record(name=entry["name"], width=len(missing), rates=None, low=low, high=high, missing=missing,
                      limits=[max(map(abs, values)) for values in zip(*rows)])
    ends, maps, at, floats, n = [], [], 0, kind == "d", sum(entry["knots"])  # integers: flat beyond the knots
    knots, values = numbers(tensors, prefix + ".knots", n), numbers(tensors, prefix + ".values", n, kind=kind)
    tails = numbers(tensors, prefix + ".tails", len(entry["knots"]), 2) if floats else [0] * 2 * n
    for m, count in enumerate(entry["knots"]):
        k, v, (left, right), at = knots[at : at + count], values[at : at + count], tails[2 * m : 2 * m + 2], at + count
        need(0 < count == len(set(k)) and [k, v] == [sorted(k), sorted(v)] and min(left, right) >= 0, "a falling map")
        steps = each(pairwise(map(Fraction, k)), pairwise(map(Fraction, v)))
        maps.append((k, [Fraction(left), *((d - c) / (b - a) for (a, b), (c, d) in steps), Fraction(right)]))
        ends.append((-math.inf if left else v[0], math.inf if right else v[-1]))
    need(maps and all(float(s) < math.inf for _, slopes in maps for s in slopes), "a map without finite slopes")
    need(floats or max(map(abs, knots)) <= 2.0**960, "knots so far apart that differences overflow")
    left = [-math.inf, *knots] if floats else sorted({*knots})[:-1] or knots
    rates = {tuple(slopes[bisect.bisect_right(k, x)] for k, slopes in maps) for x in left}
    present = [v for v in [entry["present"]] if v is not None]
    missing = numbers(tensors, prefix + ".missing", len(maps + present), kind=kind) if entry["missing"] else None
    need(all(map(math.isfinite, present)) and (missing or not present), "an indicator without its values")
    low, high = map(list, zip(*ends, *zip(present, present)))
    return Record(name=entry["name"], width=len(low), rates=rates, low=low, high=high, missing=missing,
                  limits=[max(map(abs, some)) for some in each(low, high, missing or low)])
def free_layers(count):
    return [f"free.{k}.{part}" for k in range(count) for part in ("weight", "bias")]
def plain(name):  # as it is where it cannot be mistaken for anything else, else as a JSON string
    clear = re.fullmatch("[A-Za-z0-9_.+-]([A-Za-z0-9_.+ -]*[A-Za-z0-9_.+-])?", str(name))
    return str(name) if clear else json.dumps(str(name))
def about(link):
    """Whose probability the claims are about, of two classes: a line to print."""
    if link["positive"] is None:
        return []
    label, target = link["labels"][link["positive"]], link["target"]
    event = plain(target) if label is True and target else f"{plain(target or 'y')} = {plain(label)}"
    return [f"claims are about P({event}): f is its log-odds"]
def check_ends(entries, link, n):
    """Few enough pieces to be checked in seconds, and a label for each class; whether there are several classes."""
    pieces, labels = sum(len(e["knots"]) ** 2 * sum(e["knots"]) for e in entries if "knots" in e), link["labels"] or ()
    need(pieces <= MOST_PIECES, "more maps^2 * knots than 2^26")
    sizes = {"none": (n, 0, 0), "identity": (1, 0, 0), "log": (1, 0, 0), "logit": (1, 2, 2), "softmax": (n, n, n)}
    need(sizes.get(link["name"]) == (n, len(labels), len({*labels})), "a link without a label for each class")
    need(link["positive"] in ((0, 1) if link["name"] == "logit" else (None,)), "f is about one of two classes")
    need(link["target"] is None or 0 < len(link["target"]) <= 256, "a target's name of 1 to 256 characters")
    return link["name"] == "softmax"
def word_of(column):
    signs = {(w > 0) - (w < 0) for w in column} - {0}
    return "none" if len(signs) > 1 else {0: "flat", 1: "increasing", -1: "decreasing"}[sum(signs)]
def directions_of(column, words):
    """Per output the direction of a feature, and the place of missing values in it; words[k][j]: of model columns."""
    def joined(moving):  # model columns that move up together
        found = [{word for word, moves in each(own, moving) if moves} - {"flat"} for own in words]
        return ["flat" if not some else some.pop() if len(some) == 1 else "none" for some in found]
    if column.low is None:  # categories without an order
        return ["none"] * len(words), None
    ends = [*each(column.missing or column.low, column.low, column.high)]
    found, wider = joined([low < high for _, low, high in ends]), joined([not m == a == b for m, a, b in ends])
    agree = set(found) & {"increasing", "decreasing"} and all(w in ("none", v) for w, v in each(found, wider))
    place = "lowest" if all(m <= a for m, a, _ in ends) else "highest" if all(m >= b for m, _, b in ends) else "state"
    return found, "refused" if column.missing is None else place if agree else "state"
def outwards(ends, ways=("ROUND_FLOOR", "ROUND_CEILING")):  # six digits to print, no tighter than what is proved
    return ", ".join(f"{float(decimal.Context(6, way).create_decimal(repr(v))):.6g}" for v, way in each(ends, ways))
def check_features(entries, columns, n_promised, words, slopes, softmax):
    """Each claim about each feature is proved, and none is missing; lines to print."""
    at, lines = 0, []
    for i, (entry, column) in enumerate(each(entries, columns)):
        title, own = f"feature {i}" if column.name is None else json.dumps(column.name), range(at, at + column.width)
        at, kinds, place, known = at + column.width, ["none"] * len(words), None, []
        if at <= n_promised:  # else it enters through the free branch
            kinds, place = directions_of(column, [[word[j] for j in own] for word in words])
            known = slopes([dict(zip(own, rates)) for rates in column.rates]) if column.rates else []
        kinds = [kind if kind != "none" else "bounded" if known else "free" for kind in kinds]
        need(entry["name"] == column.name and entry["missing"] == place, f"{title}, missing values: proved is {place}")
        need(entry["promise"] == [WRITTEN.get(k, k) for k in kinds], f"{title}: proved is {kinds}; another is claimed")
        rest = [known[:k] + known[k + 1 :] for k in range(len(known) if softmax else 0)]
        apart = [(a - max(d for _, d in others), b - min(c for c, _ in others)) for (a, b), others in zip(known, rest)]
        for what, proved in (("real", known), ("differences", apart)):
            need((entry[what] is None) == (not proved), f"{title}: numeric features have slopes, no others")
            claimed = [(hex_float(a), hex_float(b)) for a, b in entry[what] or ()]
            for (a, b), (low, high) in each(claimed, proved):
                need(a <= low and high <= b, f"{title}: slopes reach {float(low)} and {float(high)}, not in [{a}, {b}]")
            kinds = [f"{kind} [{outwards(ends)}]" for kind, ends in each(kinds, claimed)] if proved else kinds
        lines.append(f"  {title}: {', '.join(kinds)}" + f"; missing: {place}" * bool(place))
    return lines
def check_network(structure, claims, tensors):
    """Kind real+ordered: slopes of f in exact arithmetic and directions of its float64 evaluation; lines to print."""
    weights, members = list(map(Fraction, numbers(tensors, "member_weights", len(structure["members"])))), []
    need(weights and min(weights) >= 0 and sum(weights) == 1, "member weights that are no average")
    n_inputs, bounds, words = tensors["lower"][0][0], [], []
    for m, (entries, norms) in enumerate(each(structure["members"], claims["norms"])):
        members.append([read_trunk(entry, f"member.{m}.trunk.{t}", tensors, n_inputs, claimed)
                        for t, (entry, claimed) in enumerate(each(entries, norms))])
        outputs = sorted(k for trunk in members[m] for k in trunk.outputs)
        need(outputs == list(range(sum(len(trunk.outputs) for trunk in members[0]))) != [], "outputs of members differ")
    convex = all(trunk.convex for member in members for trunk in member)
    need((claims["limit"] is not None) == convex, "a limit is claimed of convex form, and only there")
    for (rows, e), bias in ((trunk.layers[0], trunk.bias) for member in members for trunk in member if convex):
        steepest = Fraction(max(1 << e, *(sum(map(abs, row)) for row in rows)), 1 << e)
        largest = Fraction(hex_float(claims["limit"])) * steepest + bias  # of any partial sum, in any order
        need(bias < largest <= Fraction(sys.float_info.max) / 4, "a sum inside the limit can overflow")
    for k in outputs:
        own = [(w, trunk) for w, member in each(weights, members) for trunk in member if k in trunk.outputs]
        bounds.append([(w, slopes_of(trunk, trunk.outputs.index(k))) for w, trunk in own])
        words.append([word_of(c) if convex else "none" for c in zip(*(row for _, t in own for row in t.layers[0][0]))])
    def slopes(stretches):
        found = [[list(map(sum, zip(*([w * end for end in f(rates)] for w, f in own)))) for rates in stretches]
                 for own in bounds]
        return [(min(a for a, _ in pairs), max(b for _, b in pairs)) for pairs in found]
    free = structure["free_branch"]  # nothing is claimed of it, of a set beyond its intervals, or of what was asked for
    shapes = [tensors[f"free.{len(free) - 1}.bias"][0], tensors["free.0.weight"][0]] if free else [(0,), (0, 0)]
    n_promised, n_free = n_inputs - shapes[0][0], shapes[1][1]
    ends = structure.get("ends", {"inputs": None, "raw_promise": None, "link": None})
    asked = ["lower", "upper", *["set.matrix", "set.limits"] * structure["slope_set"], *free_layers(len(free or ()))]
    for name in asked + ["raw.lower", "raw.upper"] * (ends["raw_promise"] is not None):
        numbers(tensors, name, *tensors[name][0])
    softmax = check_ends(ends["inputs"] or (), ends["link"] or NO_LINK, len(outputs))
    link, raw = ends["link"], [read_column(c, f"inputs.{i}", tensors) for i, c in enumerate(ends["inputs"] or ())]
    names, more = structure["feature_names"] or [None] * n_inputs, structure["free_names"] or [None] * n_free
    need(not tensors and [len(names), len(more)] == [n_inputs, n_free], "names or tensors that belong to nothing")
    plain = [Record(name=name, width=1, rates=[(Fraction(1),)], low=[-1], high=[1], missing=None)
             for name in names[:n_promised] + more]
    need(n_promised > 0 and sum(c.width for c in raw or plain) == len(plain), "columns that are not the model's")
    for given in (names, [column.name for column in plain], [column.name for column in raw]):
        need(len({*given} - {None}) == len(given) - given.count(None), "two features of one name")
    lines = check_features(claims["model"], plain, n_promised, words, slopes, softmax)
    need((claims["raw"] is None) == (ends["inputs"] is None) == (not raw), "raw features, where there are any")
    lines = check_features(claims["raw"], raw, n_promised, words, slopes, softmax) if raw else lines
    form = "convex form: directions hold bit for bit" if convex else "paper form: in exact arithmetic only"
    return [f"members: {len(members)}, outputs: {len(outputs)}, {form}; link {json.dumps(link or 'none')}",
            *about(link or NO_LINK), *lines]
def whole_trunk(entry, prefix, tensors, limits, one, bits):
    """Integer layers: rows U and a bound of each output, and of every sum, while |X| <= limits (section 8)."""
    clamp, wide = 2 ** (bits["activation_bits"] - 1) - 1, 2 ** (bits["weight_bits"] - 1)
    convex, sizes, z, most, first = entry["form"] == "convex", [*entry["group_sizes"], 1], limits, 0, []
    for k, size in enumerate(sizes):
        bias, last = numbers(tensors, f"{prefix}.{k}.bias", None, kind="q"), k == len(sizes) - 1
        rows = cut(numbers(tensors, f"{prefix}.{k}.weight", len(bias), len(z), kind="q", below=wide), len(z))
        totals, first = [sum(map(abs, row)) for row in rows], first or rows
        good = min(map(min, rows)) >= 0 and {*totals} == {one} if convex else last or max(totals) <= one
        need((k == 0 or good) and size > 0 == len(rows) % size, f"{prefix}.{k} breaks the rules of its form")
        sums = [sum(map(int.__mul__, map(abs, row), z)) + abs(b) for row, b in each(rows, bias)]
        most, z = max(most, *sums), [a // one + 1 for a in sums]
        need(last or bits["saturate"] or max(z) <= clamp, "activations beyond their bits")
        z = z if last else [min(max(z[j - j % size : j - j % size + size]), clamp) for j in range(len(z))]
    if convex:
        return [first] * len(rows), z, most
    center = cut(numbers(tensors, prefix + ".residual", len(rows), len(limits), kind="q", below=wide), len(limits))
    caps = [-(-max(map(abs, column)) // one) for column in zip(*first)]  # the floor lemma needs whole numbers
    z = [v + sum(map(int.__mul__, map(abs, row), limits)) for v, row in each(z, center)]
    ends = [[[c * one + s * cap * (a if sizes[1:] else one) for c, cap in each(row, caps)] for s in (-1, 1)]
            for row, a in each(center, totals)]
    return ends, z, max(most, *z)
def check_fixed_point(structure, claims, tensors):
    """Kind fixed-point: directions of the deployed integers, slopes up to a margin, and that no sum overflows."""
    bits, link, members, free = (structure[key] for key in ("format", "link", "members", "free"))
    possible = all(1 < bits[name] < 64 for name in BITS) and re.fullmatch("[A-Za-z0-9 ._-]{1,40}", bits["name"])
    possible = possible and (hex_float(link["offset"]) == 0 or link["name"] == "identity")
    need(possible and abs(link["unit"]) <= 900, "an impossible format, a name that may not be printed, or an offset")
    one, n = 1 << bits["shift"], sum(len(trunk["outputs"]) for trunk in members[0])
    softmax, rows = check_ends(structure["columns"], link, n), [[] for _ in range(n)]
    columns = [read_column(entry, f"columns.{i}", tensors, "q") for i, entry in enumerate(structure["columns"])]
    limits = [max(v, 1) for column in columns for v in column.limits]
    limits, most = limits + (free["limits"] if free else []), min(2 ** (bits["input_bits"] - 1), 2**30 + 1)
    need(0 < min(limits) <= max(limits) < most, "inputs beyond their bits")
    n_promised, more = sum(column.width for column in columns), enumerate(free["columns"] if free else ())
    columns += [read_column(entry, f"free.columns.{i}", tensors) for i, entry in more]
    shares, total, most, steps = numbers(tensors, "member_weights", None, kind="q"), [one // 2] * n, 0, []
    for m, (share, member) in enumerate(each(shares, members)):
        need(sorted(k for trunk in member for k in trunk["outputs"]) == list(range(n)), "outputs of members differ")
        for t, entry in enumerate(member):
            own, reach, sums = whole_trunk(entry, f"member.{m}.trunk.{t}", tensors, limits, one, bits)
            for k, units, bound in each(entry["outputs"], own, reach):
                rows[k], total[k], most = rows[k] + units, total[k] + share * bound, max(most, sums)
    most, words = max(most, *total), [[word_of(column) for column in zip(*own)] for own in rows]
    held = [name for name, b in (("int64", 63), ("float64", 53), ("int32", 31), ("float32", 24)) if most < 2**b]
    need(min(shares) >= 0 and sum(shares) == one, "member weights that are no average")
    need(most < 2 ** (bits["accumulator_bits"] - 1) and claims["carriers"] == held, f"sums reach {most}: {held}")
    need(0 <= link["factor"] * 2 * (max(total) // one + 1) < 2**63 and 0 <= link["shift"] < 64, "exponentials")
    known = ["vectors.inputs", "vectors.outputs"] * structure["vectors"]  # of these and the branch nothing is claimed
    known += ["free.rates", *free_layers(len(free["activations"]))] if free else []
    need(sorted(known) == sorted(tensors) and len({c.name for c in columns}) == len(columns), "a tensor or name twice")
    scale, still = Fraction(2) ** -link["unit"] / one, [0] * bits["saturate"]  # a clamp can stop any movement
    def slopes(stretches):
        steps.append([max(sum(abs(r[j]) for j in stretches[0]) for r in own) for own in rows])
        found = [[sum(r[j] * v for j, v in s.items() if v) for s in stretches for r in own] + still for own in rows]
        return [(min(values) * scale, max(values) * scale) for values in found]
    lines = check_features(claims["raw"], columns, n_promised, words, slopes, softmax)
    margins = [(own, map(hex_float, e["margin"])) for own, e in each(steps, [e for e in claims["raw"] if e["real"]])]
    enough = all((a * (1 + Fraction(1, 2**19)) + one) * scale <= b for pair in margins for a, b in each(*pair))
    need(enough and all(e["real"] or e["margin"] is None for e in claims["raw"]), "a margin that is too small")
    return [f"{json.dumps(bits['name'])}, sums < 2^{most.bit_length()}, exact: {held}; link {json.dumps(link)}",
            *about(link), *lines]
KINDS = {"real+ordered": (check_network, "monolip.FrozenNetwork", NETWORK, CLAIMS, ARITHMETIC),
         "fixed-point": (check_fixed_point, "monolip.FixedPointNetwork", FIXED, WHOLE, INTEGERS)}
def main(arguments):
    try:
        need([".safet" in a for a in arguments] == [False], "give one CERTIFICATE.json (Certificate.save), no model")
        document = strict_json(*arguments)
        old = type(document) is dict and (document.get("format"), document.get("version")) == ("monolip.Certificate", 1)
        need(not old, "a certificate of version 1: check it with the monolip_check.py of commit b8f3b08 or before")
        need(fits(document, DOCUMENT) and document["kind"] in KINDS, "not a monolip certificate of version 2")
        body = json.dumps({key: value for key, value in document.items() if key != "sha256"}, sort_keys=True)
        need(hashlib.sha256(body.encode()).hexdigest() == document["sha256"], "sha256 of the document")
        (check, label, *expected), tensors = KINDS[document["kind"]], read_tensors(document["tensors"])
        content = [document[key] for key in ("structure", "claims", "arithmetic")]
        for field, what in RESERVED.items():  # empty ones count as absent, for the digest too
            need(content[0].get(field, []) == [], f"version 2 knows no {what}: get the checker of a later version")
        content[0] = {key: value for key, value in content[0].items() if key not in RESERVED}
        need(all(map(fits, content, expected)), "unknown content")
        need(digest_of((label, 2), content[0], tensors) == document["digest"], "the digest of the network")
        lines = check(*content[:2], tensors)
    except Exception as error:  # whatever is wrong with a document, it is no proof
        print("REJECTED:", ascii(f"{error} ({type(error).__name__})"))
        return 1
    print(f"PROVED: {document['kind']} claims about network {document['digest']}", *lines, sep="\n")
    return 0
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
