# Turns the software NPU on in this shell, as CANN's set_env.sh turns a chip on:
#     source softnpu/set_env.sh
# The interpreter is python3, or the one that PYTHON names.
_softnpu_folder="$(cd "$(dirname "${BASH_SOURCE[0]:-${(%):-%x}}")/.." && pwd)"
if _softnpu_exports="$(PYTHONPATH="$_softnpu_folder${PYTHONPATH:+:$PYTHONPATH}" "${PYTHON:-python3}" -m softnpu export)"; then
    eval "$_softnpu_exports"
    unset _softnpu_folder _softnpu_exports
else
    unset _softnpu_folder _softnpu_exports
    return 1
fi
