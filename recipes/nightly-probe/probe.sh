#!/bin/sh
# Measure all regions, compare with the baseline, keep the run. Exit 1: something got worse.
set -eu
dir="${PROBE_DIR:-.}"
run="$dir/run-$(date -u +%F).json"
if [ -e "$dir/baseline.json" ]; then
    edgeinf probe --config edgeinf.yaml --model "${PROBE_MODEL:-gpt-4o-mini}" --rounds "${PROBE_ROUNDS:-20}" \
        --max-tokens 16 --budget-usd 0.50 --yes --save "$run" --baseline "$dir/baseline.json"
else
    edgeinf probe --config edgeinf.yaml --model "${PROBE_MODEL:-gpt-4o-mini}" --rounds "${PROBE_ROUNDS:-20}" \
        --max-tokens 16 --budget-usd 0.50 --yes --save "$dir/baseline.json"
fi
