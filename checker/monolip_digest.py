"""Which network is in a model file:  python monolip_digest.py MODEL.safetensors [CERTIFICATE.json]

Prints the digest of a model file that monolip wrote, recomputed from its structure and the bytes of its tensors. With a
certificate: exit status 0 only when it is about this very network. Standard library only; nothing of monolip.
The certificate itself is checked by monolip_check.py.
"""

import hashlib
import json
import math
import sys

MOST_BYTES, MOST_HEADER = 2**31, 2**26
RESERVED = ("sorted_outputs", "relations")  # fields for later versions; the digest does not cover them while empty


def once(pairs):
    """JSON objects in which no key stands twice: readers must not differ in what they see."""
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def read(path):
    with open(path, "rb") as file:
        return file.read(MOST_BYTES)


def digest_of(data):
    """sha256 over [format, version, structure] as JSON with sorted keys, then |name|shape| and bytes of each tensor.

    The certificate says what is proved; a structure that uses a reserved field has another digest than any proved one.
    """
    start, at = 8 + int.from_bytes(data[:8], "little"), 0
    if not 8 < start <= min(len(data), MOST_HEADER):
        raise ValueError("the file has no header")
    header = json.loads(data[8:start].decode(), object_pairs_hook=once)
    model = json.loads(header.pop("__metadata__")["monolip"], object_pairs_hook=once)
    if sorted(model) != ["digest", "format", "structure", "version"]:
        raise ValueError("the header of the model has other fields")
    tensors = {}
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        end = at + 8 * math.prod(entry["shape"])
        whole = model["format"] == "monolip.FixedPointNetwork" and not name.startswith("free.")
        dtype = "I64" if whole and not name.endswith(".knots") else "F64"  # the digest covers bytes, not their meaning
        if entry != {"dtype": dtype, "shape": entry["shape"], "data_offsets": [at, end]} or end > len(data) - start:
            raise ValueError(f"tensor {name!r} is not where it belongs")
        tensors[name], at = (tuple(entry["shape"]), data[start + at : start + end]), end
    if start + at != len(data):
        raise ValueError("the file does not end with its last tensor")
    structure = {key: value for key, value in model["structure"].items() if key not in RESERVED or value != []}
    sha = hashlib.sha256(json.dumps([model["format"], model["version"], structure], sort_keys=True).encode())
    for name in sorted(tensors):
        shape, raw = tensors[name]
        sha.update(f"|{name}|{shape}|".encode() + raw)
    if sha.hexdigest() != model["digest"]:
        raise ValueError("the file was damaged or edited: it has another digest than it says")
    return sha.hexdigest()


def main(arguments):
    try:
        model, *certificates = arguments
        digest = digest_of(read(model))
        for certificate in certificates:
            claimed = json.loads(read(certificate).decode(), object_pairs_hook=once)["digest"]
            if claimed != digest:
                raise ValueError(f"the certificate is about another network, {str(claimed)[:64]}; this one is {digest}")
    except Exception as error:  # whatever is wrong, nothing is confirmed
        kind = "" if type(error) is ValueError else f" ({type(error).__name__})"  # ours say what is wrong
        print(ascii(f"REJECTED: {error}{kind}")[1:-1])
        return 1
    print(digest)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
