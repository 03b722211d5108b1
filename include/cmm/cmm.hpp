// Everything a user needs.
#pragma once

#include "cmm/all_gather_matmul.hpp"
#include "cmm/dtype.hpp"
#include "cmm/epilogue.hpp"
#include "cmm/error.hpp"
#include "cmm/isa.hpp"
#include "cmm/machine.hpp"
#include "cmm/matrix.hpp"
#include "cmm/mesh.hpp"
#include "cmm/plan.hpp"
#include "cmm/rank_server.hpp"
#include "cmm/simulate.hpp"
#include "cmm/timeline.hpp"
#include "cmm/tpu.hpp"
#include "cmm/trace.hpp"
#include "cmm/weights.hpp"
