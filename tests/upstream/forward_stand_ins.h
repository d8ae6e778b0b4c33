// What the formulas call of torch_npu, on the CPU: functions with the same arguments that are linear where
// torch_npu's are. The formulas of evidence/derivatives.json are compiled against them by test_forward_formulas.py.
#include <ATen/ATen.h>
#include <ATen/OpMathType.h>
#include <torch/csrc/autograd/FunctionsManual.h>
#include <torch/library.h>

using at::Tensor;
using torch::autograd::isDifferentiableType;
using torch::autograd::generated::details::apply_loss_reduction;
using torch::autograd::generated::details::toNonOptFwGrad;
using torch::autograd::generated::details::toNonOptPrimal;
using Maybe = const std::optional<Tensor>&;

static bool isFwGradDefined(const Tensor& t) {
    return t.defined() && t._fw_grad(/*level=*/0).defined();
}

// PyTorch's matmul_backward is for nested tensors alone.
static std::tuple<Tensor, Tensor> products(
    const Tensor& grad, const Tensor& self, const Tensor& other, std::array<bool, 2> mask) {
    return {mask[0] ? at::matmul(grad, other.mT()) : Tensor(), mask[1] ? at::matmul(self.mT(), grad) : Tensor()};
}

namespace at_npu::native::custom_ops {

static Tensor npu_gather_sparse_index(const Tensor& input, const Tensor& index) {
    return input.index_select(0, index);
}

static Tensor npu_dropout_backward(const Tensor& grad, const Tensor& mask, double p) {
    return grad * mask / (1 - p);
}

static Tensor _dropout_with_byte_mask_backward(const Tensor& grad, const Tensor& mask, double p) {
    return grad * mask / (1 - p);
}

static Tensor npu_bmmV2(const Tensor& self, const Tensor& mat2, at::IntArrayRef) {
    return at::matmul(self, mat2);
}

static Tensor npu_confusion_transpose(const Tensor& self, at::IntArrayRef perm, at::IntArrayRef shape, bool first) {
    return first ? self.permute(perm).reshape(shape) : self.reshape(shape).permute(perm);
}

static Tensor npu_ps_roi_pooling(const Tensor& self, const Tensor& rois, double scale, int64_t, int64_t) {
    return self * rois * scale;
}

static Tensor npu_rotary_mul(const Tensor& self, const Tensor& r1, const Tensor& r2, std::string_view, Maybe) {
    auto halves = self.chunk(2, -1);
    return self * r1 + at::cat({-halves[1], halves[0]}, -1) * r2;
}

static Tensor npu_masked_causal_conv1d(const Tensor& input, const Tensor& weight, Maybe mask) {
    auto window = at::constant_pad_nd(input, {0, 0, 0, 0, weight.size(0) - 1, 0}).unfold(0, weight.size(0), 1);
    return (window * weight.t()).sum(-1) * mask->t().unsqueeze(-1);
}

static Tensor npu_nsa_compress(
    const Tensor& input, const Tensor& weight, int64_t size, int64_t stride, at::OptionalIntArrayRef) {
    return (input.unfold(0, size, stride) * weight.t().unsqueeze(1)).sum(-1);
}

static std::tuple<Tensor, Tensor> npu_moe_token_permute(
    const Tensor& tokens, const Tensor& indices, std::optional<int64_t>, bool) {
    auto order = indices.flatten().argsort();
    return {tokens.index_select(0, order.div(indices.size(1), "floor")), order};
}

static std::tuple<Tensor, Tensor, Tensor> npu_moe_token_permute_with_routing_map(
    const Tensor& tokens, const Tensor& map, Maybe probs, std::optional<int64_t>, bool) {
    auto rows = map.t().nonzero().select(1, 1);
    auto chosen = probs.has_value() ? probs->t().masked_select(map.t()) : Tensor();
    return {tokens.index_select(0, rows), chosen, rows};
}

static std::tuple<Tensor, Tensor> _npu_moe_token_unpermute(
    const Tensor& tokens, const Tensor& places, Maybe probs, bool, at::OptionalIntArrayRef) {
    if (!probs.has_value()) {
        return {tokens.index_select(0, places), Tensor()};
    }
    auto rows = tokens.index_select(0, places).reshape({probs->size(0), probs->size(1), -1});
    return {(rows * probs->unsqueeze(-1)).sum(1), Tensor()};
}

static std::tuple<Tensor, Tensor, Tensor, Tensor> _npu_moe_token_unpermute_with_routing_map(
    const Tensor& tokens, const Tensor& places, at::IntArrayRef, Maybe probs, Maybe, bool padded) {
    return {std::get<0>(_npu_moe_token_unpermute(tokens, places, probs, padded, {})), {}, {}, {}};
}

}  // namespace at_npu::native::custom_ops
