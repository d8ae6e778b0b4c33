"""One step of an LSTM, without the products: LSTMCell.

The gates lie in the order of torch's weights, input, forget, candidate, output, as CANN's own
kernels read them (rnn/thnn_fused_lstm_cell/op_kernel and the backward's document in
hicann/ops-nn). The forward's document names the order input, candidate, forget, output.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import kernel
from ._tools import write

if TYPE_CHECKING:
    from ._types import Tensor


@kernel
def aclnnThnnFusedLstmCell(
    inputGates: Tensor,
    hiddenGates: Tensor,
    cx: Tensor,
    inputBiasOptional: Tensor,
    hiddenBiasOptional: Tensor,
    hyOut: Tensor,
    cyOut: Tensor,
    storageOut: Tensor,
):
    gates = inputGates.float() + hiddenGates.float()
    for bias in (inputBiasOptional, hiddenBiasOptional):
        if bias is not None:
            gates = gates + bias.float()
    i, f, g, o = gates.chunk(4, -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx.float() + i * g
    write(hyOut, o * cy.tanh())
    write(cyOut, cy)
    write(storageOut, torch.cat((i, f, g, o), -1))


@kernel
def aclnnThnnFusedLstmCellBackward(
    gradHyOptional: Tensor,
    gradCOptional: Tensor,
    cx: Tensor,
    cy: Tensor,
    storage: Tensor,
    hasBias: bool,
    gradGatesOut: Tensor,
    gradCxOut: Tensor,
    gradBiasOut: Tensor,
):
    i, f, g, o = storage.float().chunk(4, -1)
    tanh = cy.float().tanh()
    to_h = torch.zeros_like(tanh) if gradHyOptional is None else gradHyOptional.float()
    to_c = to_h * o * (1 - tanh * tanh)
    if gradCOptional is not None:
        to_c = to_c + gradCOptional.float()
    to_gates = torch.cat(
        (
            to_c * g * i * (1 - i),
            to_c * cx.float() * f * (1 - f),
            to_c * i * (1 - g * g),
            to_h * tanh * o * (1 - o),
        ),
        -1,
    )
    write(gradGatesOut, to_gates)
    write(gradCxOut, to_c * f)
    if hasBias:
        write(gradBiasOut, to_gates.sum(0))
