"""monolip certify: what is proved of a model, written down for anybody to check."""

from __future__ import annotations

from pathlib import Path

import click

from monolip.cli._exits import Exit
from monolip.cli._files import beside, require_place, write_output
from monolip.cli._options import json_option, model_argument, output_option
from monolip.cli._screen import Answer, show

__all__ = ["command"]


@click.command("certify")
@model_argument
@output_option("The certificate.  [default: beside the model, .certificate.json]")
@click.option("--fixed-point", is_flag=True, help="Of the network compiled to integers, as it is deployed.")
@json_option
def command(model: Path, output: Path | None, fixed_point: bool, as_json: bool) -> int:
    """Write the certificate of a model: slope intervals in exact arithmetic, directions bit for bit.

    \b
      monolip certify model.safetensors --output certificate.json
    """
    from monolip.certify import certify, compile_fixed_point
    from monolip.certify.claims_about import claims_about
    from monolip.cli._models import load_network
    from monolip.frozen import FrozenNetwork

    path = output or beside(model, ".certificate.json")
    require_place(path, reads=[model], streams=True)
    network = load_network(model)
    if fixed_point and isinstance(network, FrozenNetwork):
        network = compile_fixed_point(network)
    certificate = certify(network)
    write_output(path, (certificate.to_json() + "\n").encode())
    claims = [claim._asdict() for claim in certificate]
    answer = Answer(
        {"certificate": str(path), "kind": certificate.kind, "digest": certificate.digest, "claims": claims}
    )
    answer.line(f"Certificate ({certificate.kind}) of network {certificate.digest}").line()
    answer.table("What is claimed, and can be proved again", certificate.cells)
    if about := claims_about(certificate.document):
        answer.line(about)
    answer.line(f"certificate  {path}")
    answer.line(f"prove it     monolip check {path}   (or: python monolip_check.py {path}, which needs no monolip)")
    show(answer, as_json)
    return Exit.OK
