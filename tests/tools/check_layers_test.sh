#!/usr/bin/env bash
# tools/check_layers must accept every downward include and refuse every other one.
. "$(dirname "${BASH_SOURCE[0]}")/verdicts.sh"

tree src/exec/rank.cpp '#include "exec/rank.hpp"' '#include "gemm/panels.hpp"' '#include <vector>' \
  '#include "base/check.hpp"' '#include "cmm/isa.hpp"'
tree src/gemm/panels.hpp '#include "base/check.hpp"' '#include "cmm/dtype.hpp"'
tree src/api/plan.cpp '#include "cmm/plan.hpp"' '#include "exec/rank.hpp"' '#include <dnnl.hpp>'
tree include/cmm/plan.hpp '#include "cmm/dtype.hpp"' '#include <span>'
tree cli/main.cpp '#include <CLI/CLI.hpp>' '#include "cmm/plan.hpp"' '#include "run.hpp"'
tree cli/run.hpp '#include <cmm/plan.hpp>' '#include "cli/table.hpp"'
tree cli/table.hpp '#pragma once'
tree tests/exec/rank_test.cpp '#include "exec/rank.hpp"'
verdict good "a tree with downward includes only"

tree src/base/check.hpp '#include "gemm/panels.hpp"'
verdict 'src/base/check.hpp:1: layer base includes gemm/panels.hpp of layer gemm' "upward"

tree src/gemm/panels.hpp '// first line' '#  include "schedule/schedule.hpp"'
verdict 'src/gemm/panels.hpp:2: layer gemm includes schedule/schedule.hpp of layer schedule' "sideways"

for pair in schedule:transport transport:gemm exec:api gemm:exec base:schedule; do
  tree "src/${pair%:*}/a.cpp" "#include \"${pair#*:}/b.hpp\""
  verdict "layer ${pair%:*} includes ${pair#*:}/b.hpp" "$pair"
done

tree src/gemm/a.cpp '#include <exec/rank.hpp>'
verdict 'layer gemm includes exec/rank.hpp' "upward with angle brackets"

tree src/exec/a.cpp '#include "cmm/plan.hpp"'
verdict 'layer exec includes cmm/plan.hpp of layer api' "public header of a higher layer"

tree src/gemm/a.cpp '#include "../exec/rank.hpp"'
verdict 'name it from src/ or include/' "around the check by .."

tree src/extra/a.cpp '#include "base/check.hpp"'
verdict 'src/extra is no layer' "unknown layer"

tree src/gemm/a.cpp '#include "panel.hpp"'
verdict 'no layer' "header that lies nowhere"

tree include/cmm/plan.hpp '#include "exec/rank.hpp"'
verdict 'which no user has' "public header with an internal include"

tree include/cmm/dtype.hpp '#include "cmm/plan.hpp"'
verdict 'of a higher layer' "public header upward"

for user in cli bench examples; do
  tree $user/a.cpp '#include <cmm/cmm.hpp>' '#include "exec/team.hpp"'
  verdict "$user/a.cpp:2: $user includes exec/team.hpp" "$user with an internal include"
done

tree cli/a.cpp '#include "gemm/panels.hpp"'
verdict "cli includes gemm/panels.hpp" "cli with an include that bench alone may have"
tree bench/a.cpp '#include "gemm/panels.hpp"' '#include "base/clock.hpp"'
verdict good "bench measures kernels alone"

finish
