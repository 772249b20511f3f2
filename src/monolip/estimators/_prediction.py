"""Prediction: raw table -> model columns -> members -> average, one compiled pass in one fixed order of operations."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.cached import cached_property
from monolip.certify.fixed_point import compile_fixed_point
from monolip.convex import ConvexForm
from monolip.engine._compile import compiled
from monolip.engine._forward import ordered_affine
from monolip.engine._layout import pack
from monolip.engine._sort import sort_groups
from monolip.estimators._lane_inputs import GOOD, LANES, LaneTables, fetch_lanes, fill_lanes, lane_tables
from monolip.estimators._tables import RawTable, refuse_infinite, refuse_labels
from monolip.fixed_point import FixedPointNetwork
from monolip.frozen import FrozenNetwork
from monolip.input_columns import CategoryColumn

if TYPE_CHECKING:
    from monolip.estimators._integer_prediction import IntegerPredictor

__all__ = ["Predictor"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

CHUNK_ROWS = 8192  # the unit of work of several threads; rows never see each other
CHUNK_VALUES = 2**21  # of one thread: other threads of the program wait less for Python, the less often it is asked


class _Networks(NamedTuple):
    """All trunks of all members in one array. spans: (trunks, 3): first and end row of plan, first of outputs."""

    params: FloatArray
    plan: IntArray
    spans: IntArray
    outputs: IntArray
    shares: FloatArray


class Predictor:
    """The same bits as FrozenNetwork.evaluate_raw, for any batch, place in the batch and number of threads.

    member: of this one alone, where its hold-out rows are of interest; None for the average.
    """

    def __init__(self, network: FrozenNetwork, member: int | None = None) -> None:
        assert network.inputs is not None
        self.network, self.inputs, self.member = network, network.inputs, member

    @cached_property
    def _ready(self) -> tuple[_Networks, float, LaneTables, int]:
        """Made when first asked for: a fit need not wait for it."""
        networks, limit = _join(self.network, self.member)
        return networks, limit, lane_tables(self.inputs, limit), int(networks.plan[:, 0].max())

    def prepare(self, exact: bool) -> None:
        """Make what the first prediction would make, before several threads ask for it at once."""
        _ = self._integers if exact else self._ready

    def evaluate(self, table: RawTable, n_threads: int = 1) -> FloatArray:
        """f(x), shape (n, n_outputs)."""
        networks, limit, tables, width = self._ready
        out = np.zeros((table.n_rows, self.network.n_outputs))
        codes = self._codes(table)

        def work(start: int, stop: int) -> None:
            raw, strides = self._raw(table, codes, start, stop)
            scratch = np.empty((4, max(width, self.inputs.n_model, self.inputs.n_raw + 1) * LANES))
            if predict_rows(raw, *strides, tables, limit, networks, scratch, out[start:stop]) != GOOD:
                refuse_infinite(table)
                # values near 1e300: the slow path clamps them
                out[start:stop] = self.network.evaluate_raw(self._columns(table, start, stop))

        _in_chunks(work, table, n_threads)
        return out

    @cached_property
    def exact(self) -> FixedPointNetwork:
        """The network in integers, compiled when first asked for."""
        return compile_fixed_point(self.network)

    @cached_property
    def _integers(self) -> IntegerPredictor | None:
        from monolip.estimators._integer_prediction import IntegerPredictor  # kernels that a fit need not wait for

        return IntegerPredictor(self.exact) if IntegerPredictor.serves(self.exact) else None

    def evaluate_exact(self, table: RawTable, n_threads: int = 1) -> IntArray:
        """f in integers, the same bits in every runtime; shape (n, n_outputs)."""
        out = np.empty((table.n_rows, self.exact.n_outputs), np.int64)
        integers, codes = self._integers, self._codes(table)

        def work(start: int, stop: int) -> None:
            if integers is None or not integers.evaluate(*self._raw(table, codes, start, stop), out[start:stop]):
                refuse_infinite(table)
                out[start:stop] = self.exact.evaluate_raw(self._columns(table, start, stop))

        _in_chunks(work, table, n_threads)
        return out

    def _codes(self, table: RawTable) -> dict[int, IntArray]:
        """Row of its table for every label of every category."""
        columns = ((i, c) for i, c in enumerate(self.inputs.columns) if isinstance(c, CategoryColumn))
        return {i: table.columns[i].codes_in(column) for i, column in columns}

    def _columns(self, table: RawTable, start: int, stop: int) -> list[NDArray[Any]]:
        """Raw columns as the networks' own evaluation takes them."""
        found = []
        for column, given in zip(self.inputs.columns, table.columns, strict=True):
            if not isinstance(column, CategoryColumn):
                refuse_labels(given)
            found.append((given.labels if isinstance(column, CategoryColumn) else given.values)[start:stop])
        return found

    def _raw(
        self, table: RawTable, codes: dict[int, NDArray[np.int64]], start: int, stop: int
    ) -> tuple[FloatArray, tuple[int, int]]:
        """Rows start .. stop as one flat array with (row, column) strides; categories as row numbers of their table."""
        if table.matrix is not None and len(self.inputs.numeric) == self.inputs.n_raw:
            part = table.matrix[start:stop]  # kernels are compiled for arrays that can be written to
            return (part if part.flags.writeable else part.copy()).reshape(-1), (part.shape[1], 1)
        raw = np.empty((len(table.columns), stop - start))
        for i, column in enumerate(self.inputs.columns):
            if isinstance(column, CategoryColumn):
                raw[i] = codes[i][start:stop]
            else:
                refuse_labels(table.columns[i])
                raw[i] = table.columns[i].values[start:stop]
        return raw.reshape(-1), (1, stop - start)


def _in_chunks(work: Callable[[int, int], None], table: RawTable, n_threads: int) -> None:
    """work(start, stop) for all rows; which thread does it changes no bit."""
    size = CHUNK_ROWS if n_threads > 1 else max(CHUNK_ROWS, CHUNK_VALUES // len(table.columns))
    spans = [(start, min(start + size, table.n_rows)) for start in range(0, table.n_rows, size)]
    if n_threads <= 1 or len(spans) == 1:
        for span in spans:
            work(*span)
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(lambda span: work(*span), spans))


def _join(network: FrozenNetwork, only: int | None) -> tuple[_Networks, float]:
    assert network.member_weights is not None
    members = list(zip(network.member_weights, network.members, strict=True))
    params, plans, spans, shares, limit = [], [], [], [], np.inf
    outputs: list[int] = []
    size = rows = 0
    for share, member in members if only is None else [(1.0, network.members[only])]:
        for trunk in member:
            form = trunk.form
            assert isinstance(form, ConvexForm), "estimators train convex form"
            packed = pack(form.weights, form.biases, form.group_sizes, np.float64)
            plan = packed.plan.copy()
            plan[:, 2:4] += size
            params.append(packed.params)
            plans.append(plan)
            spans.append((rows, rows + len(plan), len(outputs)))
            outputs += list(trunk.outputs)
            shares.append(share)
            size, rows, limit = size + len(packed.params), rows + len(plan), min(limit, form.clamp_limit)
    parts = np.concatenate(params), np.concatenate(plans), np.array(spans), np.array(outputs), np.array(shares)
    return _Networks(*parts), float(limit)


@compiled()
def predict_rows(
    raw: FloatArray, row_stride: int, column_stride: int, tables: LaneTables, limit: float,
    networks: _Networks, scratch: FloatArray, out: FloatArray,
) -> int:  # fmt: skip
    """out += sum over trunks of share * network, in the order of FrozenNetwork.evaluate; GOOD or what is wrong."""
    place, status, n_raw = np.empty(LANES, np.int64), GOOD, len(tables.columns)
    x, lanes = scratch[0], scratch[3]
    for start in range(0, len(out), LANES):
        count = min(LANES, len(out) - start)
        fetch_lanes(raw, start * row_stride, row_stride, column_stride, count, n_raw, lanes)
        status |= fill_lanes(lanes, tables, limit, place, x)
        for t in range(len(networks.spans)):
            first, end, output = networks.spans[t]
            z, into, spare = x, scratch[1], scratch[2]  # x is kept: other trunks read it too
            for layer in range(first, end):
                plan = networks.plan[layer]
                ordered_affine(networks.params, plan, z, into, LANES)
                if plan[4] > 1:
                    sort_groups(into, plan[0], plan[4], LANES)
                z, into, spare = into, spare, into
            for k in range(networks.plan[end - 1, 0]):
                for lane in range(count):
                    term = networks.shares[t] * z[k * LANES + lane]
                    out[start + lane, networks.outputs[output + k]] += term
    return status
