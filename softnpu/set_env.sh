# Turns the software NPU on in this shell, as CANN's set_env.sh turns a chip on:
#     source softnpu/set_env.sh
# For bash and zsh. It asks the interpreter that PYTHON names, else this project's .venv, else python3.
_softnpu_root="$(CDPATH= cd -- "$(dirname "${BASH_SOURCE[0]:-${(%):-%x}}")/.." && pwd)"
_softnpu_python="${PYTHON:-python3}"
if [ -z "${PYTHON:-}" ] && [ -x "$_softnpu_root/.venv/bin/python" ]; then
    _softnpu_python="$_softnpu_root/.venv/bin/python"
fi
if _softnpu_exports="$(PYTHONPATH="$_softnpu_root${PYTHONPATH:+:$PYTHONPATH}" "$_softnpu_python" -m softnpu export)"; then
    eval "$_softnpu_exports"
    unset _softnpu_root _softnpu_python _softnpu_exports
else
    unset _softnpu_root _softnpu_python _softnpu_exports
    return 1
fi
