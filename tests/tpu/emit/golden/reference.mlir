module attributes {stable_mosaic.version = 8 : i64} {
  "stable_mosaic.func.func"() ({
  ^bb0(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: memref<16x128xbf16, #tpu.memory_space<hbm>>, %arg4: memref<128x128xbf16, #tpu.memory_space<hbm>>, %arg5: memref<32x128xbf16, #tpu.memory_space<hbm>>, %arg6: memref<1x16x128xbf16, #tpu.memory_space<hbm>>, %arg7: memref<2x16x128xbf16, #tpu.memory_space<vmem>>, %arg8: memref<128x128xbf16, #tpu.memory_space<vmem>>, %arg9: memref<2x16x128xbf16, #tpu.memory_space<vmem>>, %arg10: memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, %arg11: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg12: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg13: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg14: memref<2x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg15: memref<2x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
    %0 = "stable_mosaic.arith.constant"() {value = 0 : i32} : () -> i32
    %1 = "stable_mosaic.tpu.sem_barrier"() : () -> memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
    %2 = "stable_mosaic.arith.constant"() {value = 1 : i32} : () -> i32
    %3 = "stable_mosaic.tpu.device_id"() : () -> i32
    %4 = "stable_mosaic.arith.addi"(%3, %2) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
    %5 = "stable_mosaic.arith.constant"() {value = 2 : i32} : () -> i32
    %6 = "stable_mosaic.arith.remsi"(%4, %5) : (i32, i32) -> i32
    %7 = "stable_mosaic.arith.constant"() {value = 8 : i32} : () -> i32
    %8 = "stable_mosaic.arith.constant"() {value = 128 : i32} : () -> i32
    %9 = "stable_mosaic.arith.constant"() {value = 4 : i32} : () -> i32
    %10 = "stable_mosaic.arith.constant"() {value = 3 : i32} : () -> i32
    %11 = "stable_mosaic.arith.constant"() {value = 0 : index} : () -> index
    %12 = "stable_mosaic.arith.addi"(%arg0, %arg1) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
    %13 = "stable_mosaic.arith.addi"(%12, %arg2) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
    %14 = "stable_mosaic.arith.cmpi"(%13, %0) {predicate = 0 : i64} : (i32, i32) -> i1
    "stable_mosaic.scf.if"(%14) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "start_first_remote_copy"} : () -> ()
      "stable_mosaic.tpu.sem_signal"(%1, %2, %6) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> ()
      "stable_mosaic.tpu.sem_signal"(%1, %2, %6) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> ()
      "stable_mosaic.tpu.sem_wait"(%1, %5) : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
      "stable_mosaic.tpu.sem_signal"(%arg10, %2, %6) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> ()
      "stable_mosaic.tpu.sem_signal"(%arg10, %2, %6) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> ()
      "stable_mosaic.tpu.sem_wait"(%arg10, %5) : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
      %15 = "stable_mosaic.tpu.memref_slice"(%arg3, %7, %0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<16x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %16 = "stable_mosaic.tpu.memref_slice"(%arg14, %0, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %17 = "stable_mosaic.tpu.memref_squeeze"(%16) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %18 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %7, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %19 = "stable_mosaic.tpu.memref_squeeze"(%18) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %20 = "stable_mosaic.tpu.memref_slice"(%arg15, %0, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %21 = "stable_mosaic.tpu.memref_squeeze"(%20) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      "stable_mosaic.tpu.enqueue_dma"(%15, %17, %19, %21, %6) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
      %22 = "stable_mosaic.tpu.memref_slice"(%arg3, %0, %0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<16x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %23 = "stable_mosaic.tpu.memref_slice"(%arg14, %2, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %24 = "stable_mosaic.tpu.memref_squeeze"(%23) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %25 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %0, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %26 = "stable_mosaic.tpu.memref_squeeze"(%25) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %27 = "stable_mosaic.tpu.memref_slice"(%arg15, %2, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %28 = "stable_mosaic.tpu.memref_squeeze"(%27) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      "stable_mosaic.tpu.enqueue_dma"(%22, %24, %26, %28, %6) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    %29 = "stable_mosaic.arith.cmpi"(%arg0, %2) {predicate = 5 : i64} : (i32, i32) -> i1
    %30 = "stable_mosaic.arith.cmpi"(%arg0, %2) {predicate = 2 : i64} : (i32, i32) -> i1
    %31 = "stable_mosaic.arith.andi"(%29, %30) : (i1, i1) -> i1
    "stable_mosaic.scf.if"(%31) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "start_subsequent_remote_copy"} : () -> ()
      %32 = "stable_mosaic.arith.subi"(%arg0, %2) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %33 = "stable_mosaic.tpu.memref_slice"(%arg6, %32, %7, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %34 = "stable_mosaic.tpu.memref_squeeze"(%33) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %35 = "stable_mosaic.tpu.memref_slice"(%arg14, %0, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %36 = "stable_mosaic.tpu.memref_squeeze"(%35) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %37 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %7, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %38 = "stable_mosaic.tpu.memref_squeeze"(%37) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %39 = "stable_mosaic.tpu.memref_slice"(%arg15, %0, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %40 = "stable_mosaic.tpu.memref_squeeze"(%39) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      "stable_mosaic.tpu.enqueue_dma"(%34, %36, %38, %40, %6) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
      %41 = "stable_mosaic.tpu.memref_slice"(%arg6, %32, %0, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %42 = "stable_mosaic.tpu.memref_squeeze"(%41) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %43 = "stable_mosaic.tpu.memref_slice"(%arg14, %2, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %44 = "stable_mosaic.tpu.memref_squeeze"(%43) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %45 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %0, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %46 = "stable_mosaic.tpu.memref_squeeze"(%45) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %47 = "stable_mosaic.tpu.memref_slice"(%arg15, %2, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %48 = "stable_mosaic.tpu.memref_squeeze"(%47) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      "stable_mosaic.tpu.enqueue_dma"(%42, %44, %46, %48, %6) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    %49 = "stable_mosaic.arith.cmpi"(%arg0, %0) {predicate = 0 : i64} : (i32, i32) -> i1
    %50 = "stable_mosaic.arith.cmpi"(%arg1, %0) {predicate = 0 : i64} : (i32, i32) -> i1
    %51 = "stable_mosaic.arith.andi"(%49, %50) : (i1, i1) -> i1
    "stable_mosaic.scf.if"(%51) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "start_first_local_x_copy"} : () -> ()
      %52 = "stable_mosaic.arith.remsi"(%arg0, %5) : (i32, i32) -> i32
      %53 = "stable_mosaic.arith.muli"(%arg2, %8) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %54 = "stable_mosaic.tpu.memref_slice"(%arg7, %52, %0, %53) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x16x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x16x128xbf16, #tpu.memory_space<vmem>>
      %55 = "stable_mosaic.tpu.memref_squeeze"(%54) : (memref<1x16x128xbf16, #tpu.memory_space<vmem>>) -> memref<16x128xbf16, #tpu.memory_space<vmem>>
      "stable_mosaic.tpu.enqueue_dma"(%arg3, %55, %arg11) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<16x128xbf16, #tpu.memory_space<hbm>>, memref<16x128xbf16, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    %56 = "stable_mosaic.arith.cmpi"(%arg0, %5) {predicate = 2 : i64} : (i32, i32) -> i1
    %57 = "stable_mosaic.arith.andi"(%29, %56) : (i1, i1) -> i1
    %58 = "stable_mosaic.arith.andi"(%57, %50) : (i1, i1) -> i1
    "stable_mosaic.scf.if"(%58) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "start_subsequent_local_x_copy"} : () -> ()
      %59 = "stable_mosaic.arith.subi"(%arg0, %2) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %60 = "stable_mosaic.arith.muli"(%arg2, %8) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %61 = "stable_mosaic.tpu.memref_slice"(%arg6, %59, %7, %60) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %62 = "stable_mosaic.tpu.memref_squeeze"(%61) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %63 = "stable_mosaic.arith.remsi"(%arg0, %5) : (i32, i32) -> i32
      %64 = "stable_mosaic.tpu.memref_slice"(%arg7, %63, %7, %60) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x16x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
      %65 = "stable_mosaic.tpu.memref_squeeze"(%64) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
      "stable_mosaic.tpu.enqueue_dma"(%62, %65, %arg11) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<8x128xbf16, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
      %66 = "stable_mosaic.tpu.memref_slice"(%arg6, %59, %0, %60) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %67 = "stable_mosaic.tpu.memref_squeeze"(%66) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %68 = "stable_mosaic.tpu.memref_slice"(%arg7, %63, %0, %60) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x16x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
      %69 = "stable_mosaic.tpu.memref_squeeze"(%68) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
      "stable_mosaic.tpu.enqueue_dma"(%67, %69, %arg11) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<8x128xbf16, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    "stable_mosaic.scf.if"(%49) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "start_local_y_copy"} : () -> ()
      "stable_mosaic.tpu.enqueue_dma"(%arg4, %arg8, %arg12) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<128x128xbf16, #tpu.memory_space<hbm>>, memref<128x128xbf16, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    %70 = "stable_mosaic.arith.cmpi"(%13, %5) {predicate = 5 : i64} : (i32, i32) -> i1
    %71 = "stable_mosaic.arith.cmpi"(%13, %9) {predicate = 2 : i64} : (i32, i32) -> i1
    %72 = "stable_mosaic.arith.andi"(%70, %71) : (i1, i1) -> i1
    "stable_mosaic.scf.if"(%72) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "start_local_out_copy"} : () -> ()
      %73 = "stable_mosaic.arith.remsi"(%13, %5) : (i32, i32) -> i32
      %74 = "stable_mosaic.arith.subi"(%2, %73) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %75 = "stable_mosaic.tpu.memref_slice"(%arg9, %74, %7, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x16x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
      %76 = "stable_mosaic.tpu.memref_squeeze"(%75) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
      %77 = "stable_mosaic.arith.subi"(%13, %5) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %78 = "stable_mosaic.arith.subi"(%3, %77) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %79 = "stable_mosaic.arith.addi"(%78, %5) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %80 = "stable_mosaic.arith.remsi"(%79, %5) : (i32, i32) -> i32
      %81 = "stable_mosaic.arith.muli"(%80, %5) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %82 = "stable_mosaic.arith.addi"(%81, %2) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %83 = "stable_mosaic.arith.muli"(%82, %7) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %84 = "stable_mosaic.tpu.memref_slice"(%arg5, %83, %0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      "stable_mosaic.tpu.enqueue_dma"(%76, %84, %arg13) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x128xbf16, #tpu.memory_space<vmem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
      %85 = "stable_mosaic.tpu.memref_slice"(%arg9, %74, %0, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x16x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
      %86 = "stable_mosaic.tpu.memref_squeeze"(%85) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
      %87 = "stable_mosaic.arith.addi"(%3, %77) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %88 = "stable_mosaic.arith.addi"(%87, %5) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %89 = "stable_mosaic.arith.remsi"(%88, %5) : (i32, i32) -> i32
      %90 = "stable_mosaic.arith.muli"(%89, %5) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %91 = "stable_mosaic.arith.muli"(%90, %7) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %92 = "stable_mosaic.tpu.memref_slice"(%arg5, %91, %0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      "stable_mosaic.tpu.enqueue_dma"(%86, %92, %arg13) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x128xbf16, #tpu.memory_space<vmem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    %93 = "stable_mosaic.arith.cmpi"(%13, %2) {predicate = 5 : i64} : (i32, i32) -> i1
    %94 = "stable_mosaic.arith.cmpi"(%13, %10) {predicate = 2 : i64} : (i32, i32) -> i1
    %95 = "stable_mosaic.arith.andi"(%93, %94) : (i1, i1) -> i1
    "stable_mosaic.scf.if"(%95) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "multiply"} : () -> ()
      %96 = "stable_mosaic.arith.subi"(%13, %2) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %97 = "stable_mosaic.arith.remsi"(%96, %5) : (i32, i32) -> i32
      %98 = "stable_mosaic.arith.index_cast"(%97) : (i32) -> index
      %99 = "stable_mosaic.vector.load"(%arg7, %98, %11, %11) : (memref<2x16x128xbf16, #tpu.memory_space<vmem>>, index, index, index) -> vector<1x16x128xbf16>
      %100 = "stable_mosaic.vector.shape_cast"(%99) : (vector<1x16x128xbf16>) -> vector<16x128xbf16>
      %101 = "stable_mosaic.vector.load"(%arg8, %11, %11) : (memref<128x128xbf16, #tpu.memory_space<vmem>>, index, index) -> vector<128x128xbf16>
      %102 = "stable_mosaic.arith.constant"() {value = dense<0.000000e+00> : vector<16x128xf32>} : () -> vector<16x128xf32>
      %103 = "stable_mosaic.tpu.matmul"(%100, %101, %102) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs = false, transpose_rhs = false} : (vector<16x128xbf16>, vector<128x128xbf16>, vector<16x128xf32>) -> vector<16x128xf32>
      %104 = "stable_mosaic.arith.truncf"(%103) : (vector<16x128xf32>) -> vector<16x128xbf16>
      %105 = "stable_mosaic.vector.shape_cast"(%104) : (vector<16x128xbf16>) -> vector<1x16x128xbf16>
      %106 = "stable_mosaic.arith.remsi"(%13, %5) : (i32, i32) -> i32
      %107 = "stable_mosaic.arith.index_cast"(%106) : (i32) -> index
      "stable_mosaic.tpu.vector_store"(%105, %arg9, %107, %11, %11) {operandSegmentSizes = array<i32: 1, 1, 3, 0>, strides = array<i32>} : (vector<1x16x128xbf16>, memref<2x16x128xbf16, #tpu.memory_space<vmem>>, index, index, index) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    "stable_mosaic.scf.if"(%72) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "wait_local_out_copy"} : () -> ()
      %108 = "stable_mosaic.arith.remsi"(%13, %5) : (i32, i32) -> i32
      %109 = "stable_mosaic.arith.subi"(%2, %108) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %110 = "stable_mosaic.tpu.memref_slice"(%arg9, %109, %7, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x16x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
      %111 = "stable_mosaic.tpu.memref_squeeze"(%110) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
      %112 = "stable_mosaic.arith.subi"(%13, %5) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %113 = "stable_mosaic.arith.subi"(%3, %112) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %114 = "stable_mosaic.arith.addi"(%113, %5) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %115 = "stable_mosaic.arith.remsi"(%114, %5) : (i32, i32) -> i32
      %116 = "stable_mosaic.arith.muli"(%115, %5) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %117 = "stable_mosaic.arith.addi"(%116, %2) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %118 = "stable_mosaic.arith.muli"(%117, %7) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %119 = "stable_mosaic.tpu.memref_slice"(%arg5, %118, %0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      "stable_mosaic.tpu.wait_dma2"(%arg13, %111, %119) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<vmem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>) -> ()
      %120 = "stable_mosaic.tpu.memref_slice"(%arg9, %109, %0, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x16x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
      %121 = "stable_mosaic.tpu.memref_squeeze"(%120) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
      %122 = "stable_mosaic.arith.addi"(%3, %112) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %123 = "stable_mosaic.arith.addi"(%122, %5) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %124 = "stable_mosaic.arith.remsi"(%123, %5) : (i32, i32) -> i32
      %125 = "stable_mosaic.arith.muli"(%124, %5) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %126 = "stable_mosaic.arith.muli"(%125, %7) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %127 = "stable_mosaic.tpu.memref_slice"(%arg5, %126, %0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      "stable_mosaic.tpu.wait_dma2"(%arg13, %121, %127) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<vmem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    "stable_mosaic.scf.if"(%49) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "wait_local_y_copy"} : () -> ()
      "stable_mosaic.tpu.wait_dma2"(%arg12, %arg4, %arg8) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<128x128xbf16, #tpu.memory_space<hbm>>, memref<128x128xbf16, #tpu.memory_space<vmem>>) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    "stable_mosaic.scf.if"(%51) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "wait_first_local_x_copy"} : () -> ()
      %128 = "stable_mosaic.arith.remsi"(%arg0, %5) : (i32, i32) -> i32
      %129 = "stable_mosaic.arith.muli"(%arg2, %8) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %130 = "stable_mosaic.tpu.memref_slice"(%arg7, %128, %0, %129) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x16x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x16x128xbf16, #tpu.memory_space<vmem>>
      %131 = "stable_mosaic.tpu.memref_squeeze"(%130) : (memref<1x16x128xbf16, #tpu.memory_space<vmem>>) -> memref<16x128xbf16, #tpu.memory_space<vmem>>
      "stable_mosaic.tpu.wait_dma2"(%arg11, %arg3, %131) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<16x128xbf16, #tpu.memory_space<hbm>>, memref<16x128xbf16, #tpu.memory_space<vmem>>) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    "stable_mosaic.scf.if"(%58) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "wait_subsequent_local_x_copy"} : () -> ()
      %132 = "stable_mosaic.arith.subi"(%arg0, %2) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %133 = "stable_mosaic.arith.muli"(%arg2, %8) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %134 = "stable_mosaic.tpu.memref_slice"(%arg6, %132, %7, %133) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %135 = "stable_mosaic.tpu.memref_squeeze"(%134) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %136 = "stable_mosaic.arith.remsi"(%arg0, %5) : (i32, i32) -> i32
      %137 = "stable_mosaic.tpu.memref_slice"(%arg7, %136, %7, %133) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x16x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
      %138 = "stable_mosaic.tpu.memref_squeeze"(%137) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
      "stable_mosaic.tpu.wait_dma2"(%arg11, %135, %138) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<8x128xbf16, #tpu.memory_space<vmem>>) -> ()
      %139 = "stable_mosaic.tpu.memref_slice"(%arg6, %132, %0, %133) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %140 = "stable_mosaic.tpu.memref_squeeze"(%139) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %141 = "stable_mosaic.tpu.memref_slice"(%arg7, %136, %0, %133) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x16x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
      %142 = "stable_mosaic.tpu.memref_squeeze"(%141) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
      "stable_mosaic.tpu.wait_dma2"(%arg11, %140, %142) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<8x128xbf16, #tpu.memory_space<vmem>>) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    "stable_mosaic.scf.if"(%49) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "wait_first_remote_copy"} : () -> ()
      %143 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %7, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %144 = "stable_mosaic.tpu.memref_squeeze"(%143) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %145 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %7, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %146 = "stable_mosaic.tpu.memref_squeeze"(%145) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %147 = "stable_mosaic.tpu.memref_slice"(%arg14, %0, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %148 = "stable_mosaic.tpu.memref_squeeze"(%147) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %149 = "stable_mosaic.arith.constant"() {value = 0 : i32} : () -> i32
      "stable_mosaic.tpu.wait_dma2"(%148, %144, %146, %149, %149) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> ()
      %150 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %7, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %151 = "stable_mosaic.tpu.memref_squeeze"(%150) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %152 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %7, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %153 = "stable_mosaic.tpu.memref_squeeze"(%152) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %154 = "stable_mosaic.tpu.memref_slice"(%arg15, %0, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %155 = "stable_mosaic.tpu.memref_squeeze"(%154) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      "stable_mosaic.tpu.wait_dma2"(%155, %151, %153, %6) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, i32) -> ()
      %156 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %0, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %157 = "stable_mosaic.tpu.memref_squeeze"(%156) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %158 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %0, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %159 = "stable_mosaic.tpu.memref_squeeze"(%158) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %160 = "stable_mosaic.tpu.memref_slice"(%arg14, %2, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %161 = "stable_mosaic.tpu.memref_squeeze"(%160) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %162 = "stable_mosaic.arith.constant"() {value = 0 : i32} : () -> i32
      "stable_mosaic.tpu.wait_dma2"(%161, %157, %159, %162, %162) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> ()
      %163 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %0, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %164 = "stable_mosaic.tpu.memref_squeeze"(%163) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %165 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %0, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %166 = "stable_mosaic.tpu.memref_squeeze"(%165) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %167 = "stable_mosaic.tpu.memref_slice"(%arg15, %2, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %168 = "stable_mosaic.tpu.memref_squeeze"(%167) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      "stable_mosaic.tpu.wait_dma2"(%168, %164, %166, %6) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, i32) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    "stable_mosaic.scf.if"(%31) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "wait_subsequent_remote_copy"} : () -> ()
      %169 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %7, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %170 = "stable_mosaic.tpu.memref_squeeze"(%169) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %171 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %7, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %172 = "stable_mosaic.tpu.memref_squeeze"(%171) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %173 = "stable_mosaic.tpu.memref_slice"(%arg14, %0, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %174 = "stable_mosaic.tpu.memref_squeeze"(%173) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %175 = "stable_mosaic.arith.constant"() {value = 0 : i32} : () -> i32
      "stable_mosaic.tpu.wait_dma2"(%174, %170, %172, %175, %175) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> ()
      %176 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %7, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %177 = "stable_mosaic.tpu.memref_squeeze"(%176) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %178 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %7, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %179 = "stable_mosaic.tpu.memref_squeeze"(%178) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %180 = "stable_mosaic.tpu.memref_slice"(%arg15, %0, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %181 = "stable_mosaic.tpu.memref_squeeze"(%180) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      "stable_mosaic.tpu.wait_dma2"(%181, %177, %179, %6) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, i32) -> ()
      %182 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %0, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %183 = "stable_mosaic.tpu.memref_squeeze"(%182) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %184 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %0, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %185 = "stable_mosaic.tpu.memref_squeeze"(%184) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %186 = "stable_mosaic.tpu.memref_slice"(%arg14, %2, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %187 = "stable_mosaic.tpu.memref_squeeze"(%186) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %188 = "stable_mosaic.arith.constant"() {value = 0 : i32} : () -> i32
      "stable_mosaic.tpu.wait_dma2"(%187, %183, %185, %188, %188) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> ()
      %189 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %0, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %190 = "stable_mosaic.tpu.memref_squeeze"(%189) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %191 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %0, %0) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<1x16x128xbf16, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<hbm>>
      %192 = "stable_mosaic.tpu.memref_squeeze"(%191) : (memref<1x8x128xbf16, #tpu.memory_space<hbm>>) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
      %193 = "stable_mosaic.tpu.memref_slice"(%arg15, %2, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %194 = "stable_mosaic.tpu.memref_squeeze"(%193) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      "stable_mosaic.tpu.wait_dma2"(%194, %190, %192, %6) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, i32) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    "stable_mosaic.func.return"() : () -> ()
  }) {dimension_semantics = [#tpu.dimension_semantics<arbitrary>, #tpu.dimension_semantics<arbitrary>, #tpu.dimension_semantics<arbitrary>], function_type = (i32, i32, i32, memref<16x128xbf16, #tpu.memory_space<hbm>>, memref<128x128xbf16, #tpu.memory_space<hbm>>, memref<32x128xbf16, #tpu.memory_space<hbm>>, memref<1x16x128xbf16, #tpu.memory_space<hbm>>, memref<2x16x128xbf16, #tpu.memory_space<vmem>>, memref<128x128xbf16, #tpu.memory_space<vmem>>, memref<2x16x128xbf16, #tpu.memory_space<vmem>>, memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> (), iteration_bounds = array<i64: 4, 1, 1>, scalar_prefetch = 0 : i64, scratch_operands = 9 : i64, sym_name = "main", tpu.core_type = #tpu.core_type<tc>, window_params = [{}, {}, {}, {}]} : () -> ()
}
module @all_gather_matmul attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%x: tensor<32x128xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %y: tensor<128x256xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<32x256xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = sdy.manual_computation(%x, %y) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {"x"}]>] out_shardings=[<@mesh, [{}, {"x"}]>] manual_axes={"x"} (%x_part: tensor<16x128xbf16>, %y_part: tensor<128x128xbf16>) {
      %1:2 = stablehlo.custom_call @tpu_custom_call(%x_part, %y_part) {backend_config = "{\22custom_call_config\22: {\22body\22: \22BODY\22, \22has_communication\22: true, \22collective_id\22: 0, \22cost_estimate\22: {\22flops\22: 1048576, \22transcendentals\22: 0, \22bytes_accessed\22: 57344, \22remote_bytes_transferred\22: 4096}, \22serialization_format\22: 1, \22needs_layout_passes\22: true, \22disable_bounds_checks\22: true, \22output_memory_space_colors\22: [{\22color\22: 0, \22shape_index\22: [0]}, {\22color\22: 0, \22shape_index\22: [1]}], \22input_memory_space_colors\22: [{\22operand_index\22: 0, \22color\22: 0}, {\22operand_index\22: 1, \22color\22: 0}]}, \22scoped_memory_configs\22: [{\22memory_space\22: 1, \22offset\22: 0, \22size\22: 1111040}]}", kernel_name = "all_gather_matmul_kernel_bn_128_bk_128_rhs_transpose_False", operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[2, 1, 0]> : tensor<3xindex>]} : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> (tensor<32x128xbf16>, tensor<1x16x128xbf16>)
      sdy.return %1#0 : tensor<32x128xbf16>
    } : (tensor<32x128xbf16>, tensor<128x256xbf16>) -> tensor<32x256xbf16>
    return %0 : tensor<32x256xbf16>
  }
}
