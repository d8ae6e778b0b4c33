"""The calls that test_kernels.py makes, continued: recurrent layers, and one step of them."""

from __future__ import annotations

import torch
from kernel_calls import call, gradients


def _recurrent(x, gates: int, biased: bool, layers: int, both: bool, batch_first: bool, train=True):
    """The output and the last states of torch's layer, in training the gradients of everything."""
    directions, sizes = 1 + both, [3] + [4 * (1 + both)] * (layers - 1)
    shapes = [(5, 2, 3)] + [(layers * directions, 2, 4)] * (1 + (gates == 4))
    for size in sizes:
        biases = [(gates * 4,)] * 2 if biased else []
        shapes += [(gates * 4, size), (gates * 4, 4), *biases] * directions
    given = [x(*shape, low=-0.5, high=0.5) for shape in shapes]

    def flat(input, *rest):
        states, params = (rest[:2], rest[2:]) if gates == 4 else (rest[0], rest[1:])
        function = torch.lstm if gates == 4 else torch.gru
        # Without training dropout is none; in training CANN has none either, unlike torch.
        settings = biased, layers, 0.0 if train else 0.5, train, both, batch_first
        return torch.cat([t.flatten() for t in function(input, states, list(params), *settings)])

    if batch_first:
        given[0] = given[0].transpose(0, 1).contiguous()
    return gradients(flat, *given) if train else flat(*given)


for _settings in ((True, 1, False, False), (False, 1, True, False), (False, 2, False, True)):
    for _name in ("aclnnLSTM", "aclnnLstmBackward"):
        call(_name, lambda x, s=_settings: _recurrent(x, 4, *s))
for _settings in ((True, 1, False, False), (True, 2, True, False), (False, 2, False, True)):
    for _name in ("aclnnGRU", "aclnnGRUBackward"):
        call(_name, lambda x, s=_settings: _recurrent(x, 3, *s))
for _settings in ((True, 1, False, False), (False, 2, False, True)):
    call("aclnnLSTM", lambda x, s=_settings: _recurrent(x, 4, *s, train=False))
    call("aclnnGRU", lambda x, s=_settings: _recurrent(x, 3, *s, train=False))


def _packed(x, train: bool, layers: int = 1, both: bool = False):
    """An LSTM of sequences of different lengths: what comes of it, and the parameters' gradients.

    Not the input's: packing on the NPU keeps the padding, and its gradient does not know that.
    """
    lengths, directions, shapes = torch.tensor([5, 3, 2]), 1 + both, []
    for size in [3] + [4 * directions] * (layers - 1):
        shapes += [(16, size), (16, 4), (16,), (16,)] * directions
    states = layers * directions, 3, 4
    given, hidden, cell = x(5, 3, 3), x.unit(*states), x.unit(*states)
    params = [x(*shape, low=-0.5, high=0.5).requires_grad_(train) for shape in shapes]
    packed = torch.nn.utils.rnn.pack_padded_sequence(given, lengths)
    settings = True, layers, 0.0, train, both
    result, *ends = torch.lstm(packed.data, packed.batch_sizes, (hidden, cell), params, *settings)
    output = torch.nn.utils.rnn.pad_packed_sequence(packed._replace(data=result))[0]
    made = output, *ends
    if not train:
        return made
    # torch_npu looks for the gradients of the last states at the last step, also where the last
    # step comes first: those of two directions would be wrong.
    loss = sum((number + 1) * (t * t).sum() for number, t in enumerate(made[: 1 if both else 3]))
    return [t.detach() for t in made] + list(torch.autograd.grad(loss, params))


for _name in ("aclnnLSTM", "aclnnLstmBackward"):
    call(_name, lambda x: _packed(x, True))
call("aclnnLSTM", lambda x: _packed(x, False))


def _cell(x, biased: bool, older: bool):
    def states(input, h, c, to_input, to_hidden, *biases):
        if older or x.device == "cpu":
            return torch.stack(torch.lstm_cell(input, (h, c), to_input, to_hidden, *biases))
        gates = input @ to_input.t(), h @ to_hidden.t()
        return torch.stack(torch.ops.aten._thnn_fused_lstm_cell(*gates, c, *biases)[:2])

    shapes = [(2, 3), (2, 4), (2, 4), (16, 3), (16, 4)] + [(16,)] * (2 * biased)
    return gradients(states, *(x.unit(*shape) for shape in shapes))


for _biased in (True, False):
    for _name in ("aclnnThnnFusedLstmCell", "aclnnThnnFusedLstmCellBackward"):
        call(_name, lambda x, b=_biased: _cell(x, b, older=False))
    for _name in ("DynamicRNNV2", "DynamicRNNV2Grad"):
        call(_name, lambda x, b=_biased: _cell(x, b, older=True))

# What torch_npu leaves to the older operators: all that does not have four parameters.
for _settings in ((True, 2, False, False), (True, 1, True, True), (False, 1, False, True)):
    for _name in ("DynamicRNN", "DynamicRNNGrad"):
        call(_name, lambda x, s=_settings: _recurrent(x, 4, *s))
    call("DynamicRNN", lambda x, s=_settings: _recurrent(x, 4, *s, train=False))
for _layers, _both in ((2, False), (1, True), (2, True)):
    for _name in ("DynamicRNN", "DynamicRNNGrad"):
        call(_name, lambda x, n=_layers, b=_both: _packed(x, True, n, b))
