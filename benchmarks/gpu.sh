#!/usr/bin/env bash
# Measure and train on a machine with an NVIDIA GPU and no network, in calls of a few minutes each.
#
#   bash benchmarks/gpu.sh RESULTS RECIPE [option=value ...]
#
# Stages, in this order: check (compare CPU and GPU), speed (training tokens per second), train (one slice of the recipe,
# which resumes after the last slice), decode (on request: decoding speed on the dev set, with the outputs of the trained
# model), budget (on request: some updates of every small recipe), pack (the results, into RESULTS). check and speed run
# once. Call the script again with the same arguments for the next slice. `make gpu-bundle` packs the data and lists what
# else to copy to the machine.
#
# Settings, from the environment:
#   GPU_SLICE_MINUTES  9      minutes for the whole call
#   GPU_FINISH_MINUTES 1.5    of these, reserved for the last dev scores, the export and packing
#   GPU_STAGES         "check speed train pack"
#   GPU_LAST           ""     1: in this slice the learning rate of a linear schedule falls to 0
#   GPU_RUN            runs/gpu/NAME_OF_RECIPE   the run folder, kept between calls
#   GPU_BUNDLE         gpu-bundle                the output of make gpu-bundle, with missing packages in wheels/
#   GPU_DATA           the bundle's folder of triplets to train on, if there are several
#   GPU_PARTS          "0 4"  first part of the model to pack, and the number of parts, of GPU_PART_MIB (15) each
#   GPU_PYTHON         python3
#   GPU_DEVICE         cuda   or cpu, for a trial run
#   GPU_CHECK_RECIPES  ""     names of the recipes to check in this call, by default all small ones, once
#   GPU_SPEED_SECONDS  8      seconds for each model and precision
#   GPU_BUDGET_UPDATES 800    updates of each recipe in the budget stage; unfinished recipes resume
#   GPU_DECODE_SENTENCES 256  sentences in the decode stage
set -euo pipefail
started=$SECONDS

if (($# < 2)); then
    awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$0"
    exit 2
fi
results=$(realpath -m "$1")
recipe=$(realpath "$2")
overrides=("${@:3}")
cd "$(dirname "$0")/.."

python=${GPU_PYTHON:-python3}
bundle=${GPU_BUNDLE:-gpu-bundle}
run=${GPU_RUN:-runs/gpu/$(basename "$recipe" .toml)}
device=${GPU_DEVICE:-cuda}
stages=" ${GPU_STAGES:-check speed train pack} "
mkdir -p "$results" "$run"

wants() { [[ $stages == *" $1 "* ]]; }
say() { printf '\n== %s (%d s)\n' "$*" $((SECONDS - started)); }
gpu() { "$python" benchmarks/gpu.py --device "$device" --results "$results" "$@"; }
# Run a stage unless an earlier slice has finished it; every slice returns its findings.
once() {
    local status=0
    if [[ ! -f $run/$1.json ]]; then
        say "$1"
        gpu "$@" || status=$?
        if grep -qs '"finished": true' "$results/$1.json"; then cp "$results/$1.json" "$run/$1.json"; fi
    else
        cp "$run/$1.json" "$results/$1.json"
    fi
    return "$status"
}

if compgen -G "$bundle/wheels/*.whl" >/dev/null; then
    say "installing the wheels of the bundle"
    site=$(mktemp -d)
    "$python" -m pip install --quiet --no-index --no-deps --no-compile --no-cache-dir --target "$site" "$bundle"/wheels/*.whl
    export PYTHONPATH=$site${PYTHONPATH:+:$PYTHONPATH}
fi
export PYTHONPATH=$PWD/src${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1

# GPU time is scarce: report wrong results, and continue.
read -ra checked <<<"${GPU_CHECK_RECIPES:-}"
if wants check; then
    if ((${#checked[@]})); then
        say "check of ${checked[*]}"
        gpu check --recipes "${checked[@]}"
    else
        once check
    fi || say "CHECK FAILED: see check.json for where CPU and GPU differ"
fi
if wants speed; then once speed --seconds "${GPU_SPEED_SECONDS:-8}" || say "SPEED could not be measured for some models: see speed.json"; fi
if wants train || wants decode || wants budget; then
    say "unpacking the triplets"
    data=$("$python" benchmarks/gpu.py --results "$results" unpack "$bundle" "$(dirname "$run")/data" ${GPU_DATA:+--name "$GPU_DATA"})
fi
if wants train; then
    say "training $recipe in $run"
    gpu train "$recipe" "$run/train" --minutes "${GPU_SLICE_MINUTES:-9}" --finish "${GPU_FINISH_MINUTES:-1.5}" \
        --used-seconds $((SECONDS - started)) ${GPU_LAST:+--last} --prepared "$(dirname "$data")/prepared" \
        --set "data.dir=$data" "${overrides[@]/#/--set=}"
fi
if wants decode; then
    # For a recipe with stages: the newest stage that has exported a model.
    model=$(find "$run/train" -maxdepth 3 -name model -type d -printf '%T@ %p\n' 2>/dev/null | sort -n | tail -1 | cut -d' ' -f2- || true)
    if [[ -z $model ]]; then
        say "no model to decode with yet; it is exported after the first validation"
    else
        say "decoding speed"
        "$python" benchmarks/decoding.py "$model" "$data/dev" --device "$device" \
            --sentences "${GPU_DECODE_SENTENCES:-256}" --batch 1 32 >"$results/decode.md"
    fi
fi
if wants budget; then
    say "${GPU_BUDGET_UPDATES:-800} updates of every small recipe"
    "$python" benchmarks/small_budget.py "$data" "$run/budget" --updates "${GPU_BUDGET_UPDATES:-800}" \
        --threads "$(nproc)" >"$results/budget.md"
    (cd "$run" && cp --parents budget/*/result.json "$results")
fi
if wants pack; then
    say "packing"
    read -r first count <<<"${GPU_PARTS:-0 4}"
    gpu pack "$run/train" --part-mib "${GPU_PART_MIB:-15}" --first "$first" --count "$count"
fi
say "done"
ls -l "$results"
