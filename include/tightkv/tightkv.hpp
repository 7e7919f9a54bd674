// tightkv.hpp: everything that needs the standard library alone.
#pragma once

#include "backend/cpu.hpp"
#include "compressor/any_compressor.hpp"
#include "compressor/presets.hpp"
#include "fwd.hpp"
