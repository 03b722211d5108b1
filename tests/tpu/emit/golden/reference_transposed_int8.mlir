module attributes {stable_mosaic.version = 8 : i64} {
  "stable_mosaic.func.func"() ({
  ^bb0(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: memref<64x256xi8, #tpu.memory_space<hbm>>, %arg4: memref<128x256xi8, #tpu.memory_space<hbm>>, %arg5: memref<256x128xi8, #tpu.memory_space<hbm>>, %arg6: memref<3x64x256xi8, #tpu.memory_space<hbm>>, %arg7: memref<2x64x256xi8, #tpu.memory_space<vmem>>, %arg8: memref<128x256xi8, #tpu.memory_space<vmem>>, %arg9: memref<2x64x128xi8, #tpu.memory_space<vmem>>, %arg10: memref<64x128xi32, #tpu.memory_space<vmem>>, %arg11: memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, %arg12: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg13: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg14: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg15: memref<2x3x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg16: memref<2x3x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
    %0 = "stable_mosaic.arith.constant"() {value = 2 : i32} : () -> i32
    %1 = "stable_mosaic.arith.constant"() {value = 0 : i32} : () -> i32
    %2 = "stable_mosaic.arith.constant"() {value = 0 : index} : () -> index
    %3 = "stable_mosaic.tpu.sem_barrier"() : () -> memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
    %4 = "stable_mosaic.arith.constant"() {value = 1 : i32} : () -> i32
    %5 = "stable_mosaic.tpu.device_id"() : () -> i32
    %6 = "stable_mosaic.arith.addi"(%5, %4) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
    %7 = "stable_mosaic.arith.constant"() {value = 4 : i32} : () -> i32
    %8 = "stable_mosaic.arith.remsi"(%6, %7) : (i32, i32) -> i32
    %9 = "stable_mosaic.arith.constant"() {value = 3 : i32} : () -> i32
    %10 = "stable_mosaic.arith.addi"(%5, %9) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
    %11 = "stable_mosaic.arith.remsi"(%10, %7) : (i32, i32) -> i32
    %12 = "stable_mosaic.arith.constant"() {value = 32 : i32} : () -> i32
    %13 = "stable_mosaic.arith.constant"() {value = 128 : i32} : () -> i32
    %14 = "stable_mosaic.arith.constant"() {value = 11 : i32} : () -> i32
    %15 = "stable_mosaic.arith.constant"() {value = 9 : i32} : () -> i32
    %16 = "stable_mosaic.arith.muli"(%arg0, %0) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
    %17 = "stable_mosaic.arith.muli"(%arg1, %0) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
    %18 = "stable_mosaic.arith.addi"(%16, %17) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
    %19 = "stable_mosaic.arith.addi"(%18, %arg2) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
    %20 = "stable_mosaic.arith.cmpi"(%19, %1) {predicate = 0 : i64} : (i32, i32) -> i1
    "stable_mosaic.scf.if"(%20) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "start_first_remote_copy"} : () -> ()
      %21 = "stable_mosaic.arith.constant"() {value = dense<0> : vector<64x128xi32>} : () -> vector<64x128xi32>
      "stable_mosaic.tpu.vector_store"(%21, %arg10, %2, %2) {operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<64x128xi32>, memref<64x128xi32, #tpu.memory_space<vmem>>, index, index) -> ()
      "stable_mosaic.tpu.sem_signal"(%3, %4, %8) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> ()
      "stable_mosaic.tpu.sem_signal"(%3, %4, %11) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> ()
      "stable_mosaic.tpu.sem_wait"(%3, %0) : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
      "stable_mosaic.tpu.sem_signal"(%arg11, %4, %8) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> ()
      "stable_mosaic.tpu.sem_signal"(%arg11, %4, %11) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> ()
      "stable_mosaic.tpu.sem_wait"(%arg11, %0) : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
      %22 = "stable_mosaic.tpu.memref_slice"(%arg3, %12, %1) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<64x256xi8, #tpu.memory_space<hbm>>, i32, i32) -> memref<32x256xi8, #tpu.memory_space<hbm>>
      %23 = "stable_mosaic.tpu.memref_slice"(%arg15, %1, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x3x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %24 = "stable_mosaic.tpu.memref_squeeze"(%23) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %25 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %12, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x256xi8, #tpu.memory_space<hbm>>
      %26 = "stable_mosaic.tpu.memref_squeeze"(%25) : (memref<1x32x256xi8, #tpu.memory_space<hbm>>) -> memref<32x256xi8, #tpu.memory_space<hbm>>
      %27 = "stable_mosaic.tpu.memref_slice"(%arg16, %1, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x3x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %28 = "stable_mosaic.tpu.memref_squeeze"(%27) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      "stable_mosaic.tpu.enqueue_dma"(%22, %24, %26, %28, %8) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>, priority = 0 : i32, strict_ordering = false} : (memref<32x256xi8, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<32x256xi8, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
      %29 = "stable_mosaic.tpu.memref_slice"(%arg3, %1, %1) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<64x256xi8, #tpu.memory_space<hbm>>, i32, i32) -> memref<32x256xi8, #tpu.memory_space<hbm>>
      %30 = "stable_mosaic.tpu.memref_slice"(%arg15, %4, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x3x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %31 = "stable_mosaic.tpu.memref_squeeze"(%30) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %32 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %1, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x256xi8, #tpu.memory_space<hbm>>
      %33 = "stable_mosaic.tpu.memref_squeeze"(%32) : (memref<1x32x256xi8, #tpu.memory_space<hbm>>) -> memref<32x256xi8, #tpu.memory_space<hbm>>
      %34 = "stable_mosaic.tpu.memref_slice"(%arg16, %4, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x3x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %35 = "stable_mosaic.tpu.memref_squeeze"(%34) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      "stable_mosaic.tpu.enqueue_dma"(%29, %31, %33, %35, %11) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>, priority = 0 : i32, strict_ordering = false} : (memref<32x256xi8, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<32x256xi8, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    %36 = "stable_mosaic.arith.cmpi"(%arg0, %4) {predicate = 5 : i64} : (i32, i32) -> i1
    %37 = "stable_mosaic.arith.cmpi"(%arg0, %9) {predicate = 2 : i64} : (i32, i32) -> i1
    %38 = "stable_mosaic.arith.andi"(%36, %37) : (i1, i1) -> i1
    %39 = "stable_mosaic.arith.remsi"(%19, %0) : (i32, i32) -> i32
    %40 = "stable_mosaic.arith.cmpi"(%39, %1) {predicate = 0 : i64} : (i32, i32) -> i1
    %41 = "stable_mosaic.arith.andi"(%38, %40) : (i1, i1) -> i1
    "stable_mosaic.scf.if"(%41) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "start_subsequent_remote_copy"} : () -> ()
      %42 = "stable_mosaic.arith.subi"(%arg0, %4) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %43 = "stable_mosaic.tpu.memref_slice"(%arg6, %42, %12, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x256xi8, #tpu.memory_space<hbm>>
      %44 = "stable_mosaic.tpu.memref_squeeze"(%43) : (memref<1x32x256xi8, #tpu.memory_space<hbm>>) -> memref<32x256xi8, #tpu.memory_space<hbm>>
      %45 = "stable_mosaic.tpu.memref_slice"(%arg15, %1, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x3x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %46 = "stable_mosaic.tpu.memref_squeeze"(%45) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %47 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %12, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x256xi8, #tpu.memory_space<hbm>>
      %48 = "stable_mosaic.tpu.memref_squeeze"(%47) : (memref<1x32x256xi8, #tpu.memory_space<hbm>>) -> memref<32x256xi8, #tpu.memory_space<hbm>>
      %49 = "stable_mosaic.tpu.memref_slice"(%arg16, %1, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x3x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %50 = "stable_mosaic.tpu.memref_squeeze"(%49) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      "stable_mosaic.tpu.enqueue_dma"(%44, %46, %48, %50, %8) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>, priority = 0 : i32, strict_ordering = false} : (memref<32x256xi8, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<32x256xi8, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
      %51 = "stable_mosaic.tpu.memref_slice"(%arg6, %42, %1, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x256xi8, #tpu.memory_space<hbm>>
      %52 = "stable_mosaic.tpu.memref_squeeze"(%51) : (memref<1x32x256xi8, #tpu.memory_space<hbm>>) -> memref<32x256xi8, #tpu.memory_space<hbm>>
      %53 = "stable_mosaic.tpu.memref_slice"(%arg15, %4, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x3x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %54 = "stable_mosaic.tpu.memref_squeeze"(%53) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %55 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %1, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x256xi8, #tpu.memory_space<hbm>>
      %56 = "stable_mosaic.tpu.memref_squeeze"(%55) : (memref<1x32x256xi8, #tpu.memory_space<hbm>>) -> memref<32x256xi8, #tpu.memory_space<hbm>>
      %57 = "stable_mosaic.tpu.memref_slice"(%arg16, %4, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x3x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %58 = "stable_mosaic.tpu.memref_squeeze"(%57) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      "stable_mosaic.tpu.enqueue_dma"(%52, %54, %56, %58, %11) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>, priority = 0 : i32, strict_ordering = false} : (memref<32x256xi8, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<32x256xi8, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    %59 = "stable_mosaic.arith.cmpi"(%arg0, %1) {predicate = 0 : i64} : (i32, i32) -> i1
    %60 = "stable_mosaic.arith.cmpi"(%arg1, %1) {predicate = 0 : i64} : (i32, i32) -> i1
    %61 = "stable_mosaic.arith.andi"(%59, %60) : (i1, i1) -> i1
    "stable_mosaic.scf.if"(%61) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "start_first_local_x_copy"} : () -> ()
      %62 = "stable_mosaic.arith.muli"(%arg2, %13) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %63 = "stable_mosaic.tpu.memref_slice"(%arg3, %1, %62) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<64x256xi8, #tpu.memory_space<hbm>>, i32, i32) -> memref<64x128xi8, #tpu.memory_space<hbm>>
      %64 = "stable_mosaic.arith.remsi"(%arg0, %0) : (i32, i32) -> i32
      %65 = "stable_mosaic.tpu.memref_slice"(%arg7, %64, %1, %62) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x64x256xi8, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x64x128xi8, #tpu.memory_space<vmem>>
      %66 = "stable_mosaic.tpu.memref_squeeze"(%65) : (memref<1x64x128xi8, #tpu.memory_space<vmem>>) -> memref<64x128xi8, #tpu.memory_space<vmem>>
      "stable_mosaic.tpu.enqueue_dma"(%63, %66, %arg12) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<64x128xi8, #tpu.memory_space<hbm>>, memref<64x128xi8, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    %67 = "stable_mosaic.arith.cmpi"(%arg0, %7) {predicate = 2 : i64} : (i32, i32) -> i1
    %68 = "stable_mosaic.arith.andi"(%36, %67) : (i1, i1) -> i1
    %69 = "stable_mosaic.arith.andi"(%68, %60) : (i1, i1) -> i1
    "stable_mosaic.scf.if"(%69) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "start_subsequent_local_x_copy"} : () -> ()
      %70 = "stable_mosaic.arith.subi"(%arg0, %4) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %71 = "stable_mosaic.arith.muli"(%arg2, %13) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %72 = "stable_mosaic.tpu.memref_slice"(%arg6, %70, %12, %71) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x128xi8, #tpu.memory_space<hbm>>
      %73 = "stable_mosaic.tpu.memref_squeeze"(%72) : (memref<1x32x128xi8, #tpu.memory_space<hbm>>) -> memref<32x128xi8, #tpu.memory_space<hbm>>
      %74 = "stable_mosaic.arith.remsi"(%arg0, %0) : (i32, i32) -> i32
      %75 = "stable_mosaic.tpu.memref_slice"(%arg7, %74, %12, %71) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x64x256xi8, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x32x128xi8, #tpu.memory_space<vmem>>
      %76 = "stable_mosaic.tpu.memref_squeeze"(%75) : (memref<1x32x128xi8, #tpu.memory_space<vmem>>) -> memref<32x128xi8, #tpu.memory_space<vmem>>
      "stable_mosaic.tpu.enqueue_dma"(%73, %76, %arg12) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<32x128xi8, #tpu.memory_space<hbm>>, memref<32x128xi8, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
      %77 = "stable_mosaic.tpu.memref_slice"(%arg6, %70, %1, %71) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x128xi8, #tpu.memory_space<hbm>>
      %78 = "stable_mosaic.tpu.memref_squeeze"(%77) : (memref<1x32x128xi8, #tpu.memory_space<hbm>>) -> memref<32x128xi8, #tpu.memory_space<hbm>>
      %79 = "stable_mosaic.tpu.memref_slice"(%arg7, %74, %1, %71) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x64x256xi8, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x32x128xi8, #tpu.memory_space<vmem>>
      %80 = "stable_mosaic.tpu.memref_squeeze"(%79) : (memref<1x32x128xi8, #tpu.memory_space<vmem>>) -> memref<32x128xi8, #tpu.memory_space<vmem>>
      "stable_mosaic.tpu.enqueue_dma"(%78, %80, %arg12) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<32x128xi8, #tpu.memory_space<hbm>>, memref<32x128xi8, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    "stable_mosaic.scf.if"(%59) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "start_local_y_copy"} : () -> ()
      %81 = "stable_mosaic.arith.muli"(%arg1, %13) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %82 = "stable_mosaic.arith.muli"(%arg2, %13) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %83 = "stable_mosaic.tpu.memref_slice"(%arg4, %81, %82) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<128x256xi8, #tpu.memory_space<hbm>>, i32, i32) -> memref<128x128xi8, #tpu.memory_space<hbm>>
      %84 = "stable_mosaic.tpu.memref_slice"(%arg8, %81, %82) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<128x256xi8, #tpu.memory_space<vmem>>, i32, i32) -> memref<128x128xi8, #tpu.memory_space<vmem>>
      "stable_mosaic.tpu.enqueue_dma"(%83, %84, %arg13) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<128x128xi8, #tpu.memory_space<hbm>>, memref<128x128xi8, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    %85 = "stable_mosaic.arith.cmpi"(%19, %9) {predicate = 5 : i64} : (i32, i32) -> i1
    %86 = "stable_mosaic.arith.cmpi"(%19, %14) {predicate = 2 : i64} : (i32, i32) -> i1
    %87 = "stable_mosaic.arith.andi"(%85, %86) : (i1, i1) -> i1
    %88 = "stable_mosaic.arith.cmpi"(%39, %4) {predicate = 0 : i64} : (i32, i32) -> i1
    %89 = "stable_mosaic.arith.andi"(%87, %88) : (i1, i1) -> i1
    "stable_mosaic.scf.if"(%89) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "start_local_out_copy"} : () -> ()
      %90 = "stable_mosaic.arith.addi"(%19, %4) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %91 = "stable_mosaic.arith.divsi"(%90, %0) : (i32, i32) -> i32
      %92 = "stable_mosaic.arith.remsi"(%91, %0) : (i32, i32) -> i32
      %93 = "stable_mosaic.arith.subi"(%4, %92) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %94 = "stable_mosaic.tpu.memref_slice"(%arg9, %93, %12, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x64x128xi8, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x32x128xi8, #tpu.memory_space<vmem>>
      %95 = "stable_mosaic.tpu.memref_squeeze"(%94) : (memref<1x32x128xi8, #tpu.memory_space<vmem>>) -> memref<32x128xi8, #tpu.memory_space<vmem>>
      %96 = "stable_mosaic.arith.subi"(%19, %0) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %97 = "stable_mosaic.arith.divsi"(%96, %0) : (i32, i32) -> i32
      %98 = "stable_mosaic.arith.subi"(%5, %97) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %99 = "stable_mosaic.arith.addi"(%98, %7) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %100 = "stable_mosaic.arith.remsi"(%99, %7) : (i32, i32) -> i32
      %101 = "stable_mosaic.arith.muli"(%100, %0) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %102 = "stable_mosaic.arith.addi"(%101, %4) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %103 = "stable_mosaic.arith.muli"(%102, %12) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %104 = "stable_mosaic.arith.subi"(%19, %9) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %105 = "stable_mosaic.arith.remsi"(%104, %0) : (i32, i32) -> i32
      %106 = "stable_mosaic.arith.divsi"(%105, %0) : (i32, i32) -> i32
      %107 = "stable_mosaic.arith.muli"(%106, %13) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %108 = "stable_mosaic.tpu.memref_slice"(%arg5, %103, %107) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<256x128xi8, #tpu.memory_space<hbm>>, i32, i32) -> memref<32x128xi8, #tpu.memory_space<hbm>>
      "stable_mosaic.tpu.enqueue_dma"(%95, %108, %arg14) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<32x128xi8, #tpu.memory_space<vmem>>, memref<32x128xi8, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
      %109 = "stable_mosaic.tpu.memref_slice"(%arg9, %93, %1, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x64x128xi8, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x32x128xi8, #tpu.memory_space<vmem>>
      %110 = "stable_mosaic.tpu.memref_squeeze"(%109) : (memref<1x32x128xi8, #tpu.memory_space<vmem>>) -> memref<32x128xi8, #tpu.memory_space<vmem>>
      %111 = "stable_mosaic.arith.addi"(%5, %97) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %112 = "stable_mosaic.arith.addi"(%111, %7) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %113 = "stable_mosaic.arith.remsi"(%112, %7) : (i32, i32) -> i32
      %114 = "stable_mosaic.arith.muli"(%113, %0) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %115 = "stable_mosaic.arith.muli"(%114, %12) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %116 = "stable_mosaic.tpu.memref_slice"(%arg5, %115, %107) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<256x128xi8, #tpu.memory_space<hbm>>, i32, i32) -> memref<32x128xi8, #tpu.memory_space<hbm>>
      "stable_mosaic.tpu.enqueue_dma"(%110, %116, %arg14) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<32x128xi8, #tpu.memory_space<vmem>>, memref<32x128xi8, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    %117 = "stable_mosaic.arith.cmpi"(%19, %4) {predicate = 5 : i64} : (i32, i32) -> i1
    %118 = "stable_mosaic.arith.cmpi"(%19, %15) {predicate = 2 : i64} : (i32, i32) -> i1
    %119 = "stable_mosaic.arith.andi"(%117, %118) : (i1, i1) -> i1
    "stable_mosaic.scf.if"(%119) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "multiply"} : () -> ()
      %120 = "stable_mosaic.arith.subi"(%19, %4) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %121 = "stable_mosaic.arith.divsi"(%120, %0) : (i32, i32) -> i32
      %122 = "stable_mosaic.arith.remsi"(%121, %0) : (i32, i32) -> i32
      %123 = "stable_mosaic.arith.index_cast"(%122) : (i32) -> index
      %124 = "stable_mosaic.arith.remsi"(%120, %0) : (i32, i32) -> i32
      %125 = "stable_mosaic.arith.muli"(%124, %13) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %126 = "stable_mosaic.arith.index_cast"(%125) : (i32) -> index
      %127 = "stable_mosaic.vector.load"(%arg7, %123, %2, %126) : (memref<2x64x256xi8, #tpu.memory_space<vmem>>, index, index, index) -> vector<1x64x128xi8>
      %128 = "stable_mosaic.vector.shape_cast"(%127) : (vector<1x64x128xi8>) -> vector<64x128xi8>
      %129 = "stable_mosaic.arith.divsi"(%124, %0) : (i32, i32) -> i32
      %130 = "stable_mosaic.arith.muli"(%129, %13) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %131 = "stable_mosaic.arith.index_cast"(%130) : (i32) -> index
      %132 = "stable_mosaic.vector.load"(%arg8, %131, %126) : (memref<128x256xi8, #tpu.memory_space<vmem>>, index, index) -> vector<128x128xi8>
      %133 = "stable_mosaic.vector.load"(%arg10, %2, %2) : (memref<64x128xi32, #tpu.memory_space<vmem>>, index, index) -> vector<64x128xi32>
      %134 = "stable_mosaic.arith.constant"() {value = dense<0> : vector<64x128xi32>} : () -> vector<64x128xi32>
      %135 = "stable_mosaic.tpu.matmul"(%128, %132, %134) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [1], [0], [0], [0, 0, 1, 0], [], []>, transpose_lhs = false, transpose_rhs = false} : (vector<64x128xi8>, vector<128x128xi8>, vector<64x128xi32>) -> vector<64x128xi32>
      %136 = "stable_mosaic.arith.addi"(%133, %135) {overflowFlags = #arith.overflow<none>} : (vector<64x128xi32>, vector<64x128xi32>) -> vector<64x128xi32>
      "stable_mosaic.tpu.vector_store"(%136, %arg10, %2, %2) {operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<64x128xi32>, memref<64x128xi32, #tpu.memory_space<vmem>>, index, index) -> ()
      %137 = "stable_mosaic.arith.cmpi"(%124, %4) {predicate = 0 : i64} : (i32, i32) -> i1
      "stable_mosaic.scf.if"(%137) ({
        %138 = "stable_mosaic.vector.load"(%arg10, %2, %2) : (memref<64x128xi32, #tpu.memory_space<vmem>>, index, index) -> vector<64x128xi32>
        %139 = "stable_mosaic.arith.trunci"(%138) {overflowFlags = #arith.overflow<none>} : (vector<64x128xi32>) -> vector<64x128xi8>
        %140 = "stable_mosaic.vector.shape_cast"(%139) : (vector<64x128xi8>) -> vector<1x64x128xi8>
        %141 = "stable_mosaic.arith.addi"(%19, %4) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %142 = "stable_mosaic.arith.divsi"(%141, %0) : (i32, i32) -> i32
        %143 = "stable_mosaic.arith.remsi"(%142, %0) : (i32, i32) -> i32
        %144 = "stable_mosaic.arith.index_cast"(%143) : (i32) -> index
        "stable_mosaic.tpu.vector_store"(%140, %arg9, %144, %2, %2) {operandSegmentSizes = array<i32: 1, 1, 3, 0>, strides = array<i32>} : (vector<1x64x128xi8>, memref<2x64x128xi8, #tpu.memory_space<vmem>>, index, index, index) -> ()
        %145 = "stable_mosaic.arith.constant"() {value = dense<0> : vector<64x128xi32>} : () -> vector<64x128xi32>
        "stable_mosaic.tpu.vector_store"(%145, %arg10, %2, %2) {operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<64x128xi32>, memref<64x128xi32, #tpu.memory_space<vmem>>, index, index) -> ()
        "stable_mosaic.scf.yield"() : () -> ()
      }, {
        "stable_mosaic.scf.yield"() : () -> ()
      }) : (i1) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    %146 = "stable_mosaic.arith.andi"(%87, %40) : (i1, i1) -> i1
    "stable_mosaic.scf.if"(%146) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "wait_local_out_copy"} : () -> ()
      %147 = "stable_mosaic.arith.addi"(%19, %4) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %148 = "stable_mosaic.arith.divsi"(%147, %0) : (i32, i32) -> i32
      %149 = "stable_mosaic.arith.remsi"(%148, %0) : (i32, i32) -> i32
      %150 = "stable_mosaic.arith.subi"(%4, %149) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %151 = "stable_mosaic.tpu.memref_slice"(%arg9, %150, %12, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x64x128xi8, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x32x128xi8, #tpu.memory_space<vmem>>
      %152 = "stable_mosaic.tpu.memref_squeeze"(%151) : (memref<1x32x128xi8, #tpu.memory_space<vmem>>) -> memref<32x128xi8, #tpu.memory_space<vmem>>
      %153 = "stable_mosaic.arith.subi"(%19, %0) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %154 = "stable_mosaic.arith.divsi"(%153, %0) : (i32, i32) -> i32
      %155 = "stable_mosaic.arith.subi"(%5, %154) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %156 = "stable_mosaic.arith.addi"(%155, %7) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %157 = "stable_mosaic.arith.remsi"(%156, %7) : (i32, i32) -> i32
      %158 = "stable_mosaic.arith.muli"(%157, %0) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %159 = "stable_mosaic.arith.addi"(%158, %4) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %160 = "stable_mosaic.arith.muli"(%159, %12) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %161 = "stable_mosaic.arith.subi"(%19, %9) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %162 = "stable_mosaic.arith.remsi"(%161, %0) : (i32, i32) -> i32
      %163 = "stable_mosaic.arith.divsi"(%162, %0) : (i32, i32) -> i32
      %164 = "stable_mosaic.arith.muli"(%163, %13) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %165 = "stable_mosaic.tpu.memref_slice"(%arg5, %160, %164) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<256x128xi8, #tpu.memory_space<hbm>>, i32, i32) -> memref<32x128xi8, #tpu.memory_space<hbm>>
      "stable_mosaic.tpu.wait_dma2"(%arg14, %152, %165) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<32x128xi8, #tpu.memory_space<vmem>>, memref<32x128xi8, #tpu.memory_space<hbm>>) -> ()
      %166 = "stable_mosaic.tpu.memref_slice"(%arg9, %150, %1, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x64x128xi8, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x32x128xi8, #tpu.memory_space<vmem>>
      %167 = "stable_mosaic.tpu.memref_squeeze"(%166) : (memref<1x32x128xi8, #tpu.memory_space<vmem>>) -> memref<32x128xi8, #tpu.memory_space<vmem>>
      %168 = "stable_mosaic.arith.addi"(%5, %154) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %169 = "stable_mosaic.arith.addi"(%168, %7) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %170 = "stable_mosaic.arith.remsi"(%169, %7) : (i32, i32) -> i32
      %171 = "stable_mosaic.arith.muli"(%170, %0) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %172 = "stable_mosaic.arith.muli"(%171, %12) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %173 = "stable_mosaic.tpu.memref_slice"(%arg5, %172, %164) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<256x128xi8, #tpu.memory_space<hbm>>, i32, i32) -> memref<32x128xi8, #tpu.memory_space<hbm>>
      "stable_mosaic.tpu.wait_dma2"(%arg14, %167, %173) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<32x128xi8, #tpu.memory_space<vmem>>, memref<32x128xi8, #tpu.memory_space<hbm>>) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    "stable_mosaic.scf.if"(%59) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "wait_local_y_copy"} : () -> ()
      %174 = "stable_mosaic.arith.muli"(%arg1, %13) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %175 = "stable_mosaic.arith.muli"(%arg2, %13) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %176 = "stable_mosaic.tpu.memref_slice"(%arg4, %174, %175) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<128x256xi8, #tpu.memory_space<hbm>>, i32, i32) -> memref<128x128xi8, #tpu.memory_space<hbm>>
      %177 = "stable_mosaic.tpu.memref_slice"(%arg8, %174, %175) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<128x256xi8, #tpu.memory_space<vmem>>, i32, i32) -> memref<128x128xi8, #tpu.memory_space<vmem>>
      "stable_mosaic.tpu.wait_dma2"(%arg13, %176, %177) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<128x128xi8, #tpu.memory_space<hbm>>, memref<128x128xi8, #tpu.memory_space<vmem>>) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    "stable_mosaic.scf.if"(%61) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "wait_first_local_x_copy"} : () -> ()
      %178 = "stable_mosaic.arith.muli"(%arg2, %13) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %179 = "stable_mosaic.tpu.memref_slice"(%arg3, %1, %178) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<64x256xi8, #tpu.memory_space<hbm>>, i32, i32) -> memref<64x128xi8, #tpu.memory_space<hbm>>
      %180 = "stable_mosaic.arith.remsi"(%arg0, %0) : (i32, i32) -> i32
      %181 = "stable_mosaic.tpu.memref_slice"(%arg7, %180, %1, %178) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x64x256xi8, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x64x128xi8, #tpu.memory_space<vmem>>
      %182 = "stable_mosaic.tpu.memref_squeeze"(%181) : (memref<1x64x128xi8, #tpu.memory_space<vmem>>) -> memref<64x128xi8, #tpu.memory_space<vmem>>
      "stable_mosaic.tpu.wait_dma2"(%arg12, %179, %182) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<64x128xi8, #tpu.memory_space<hbm>>, memref<64x128xi8, #tpu.memory_space<vmem>>) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    "stable_mosaic.scf.if"(%69) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "wait_subsequent_local_x_copy"} : () -> ()
      %183 = "stable_mosaic.arith.subi"(%arg0, %4) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %184 = "stable_mosaic.arith.muli"(%arg2, %13) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %185 = "stable_mosaic.tpu.memref_slice"(%arg6, %183, %12, %184) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x128xi8, #tpu.memory_space<hbm>>
      %186 = "stable_mosaic.tpu.memref_squeeze"(%185) : (memref<1x32x128xi8, #tpu.memory_space<hbm>>) -> memref<32x128xi8, #tpu.memory_space<hbm>>
      %187 = "stable_mosaic.arith.remsi"(%arg0, %0) : (i32, i32) -> i32
      %188 = "stable_mosaic.tpu.memref_slice"(%arg7, %187, %12, %184) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x64x256xi8, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x32x128xi8, #tpu.memory_space<vmem>>
      %189 = "stable_mosaic.tpu.memref_squeeze"(%188) : (memref<1x32x128xi8, #tpu.memory_space<vmem>>) -> memref<32x128xi8, #tpu.memory_space<vmem>>
      "stable_mosaic.tpu.wait_dma2"(%arg12, %186, %189) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<32x128xi8, #tpu.memory_space<hbm>>, memref<32x128xi8, #tpu.memory_space<vmem>>) -> ()
      %190 = "stable_mosaic.tpu.memref_slice"(%arg6, %183, %1, %184) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x128xi8, #tpu.memory_space<hbm>>
      %191 = "stable_mosaic.tpu.memref_squeeze"(%190) : (memref<1x32x128xi8, #tpu.memory_space<hbm>>) -> memref<32x128xi8, #tpu.memory_space<hbm>>
      %192 = "stable_mosaic.tpu.memref_slice"(%arg7, %187, %1, %184) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x64x256xi8, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x32x128xi8, #tpu.memory_space<vmem>>
      %193 = "stable_mosaic.tpu.memref_squeeze"(%192) : (memref<1x32x128xi8, #tpu.memory_space<vmem>>) -> memref<32x128xi8, #tpu.memory_space<vmem>>
      "stable_mosaic.tpu.wait_dma2"(%arg12, %191, %193) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<32x128xi8, #tpu.memory_space<hbm>>, memref<32x128xi8, #tpu.memory_space<vmem>>) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    %194 = "stable_mosaic.arith.andi"(%59, %88) : (i1, i1) -> i1
    "stable_mosaic.scf.if"(%194) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "wait_first_remote_copy"} : () -> ()
      %195 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %12, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x256xi8, #tpu.memory_space<hbm>>
      %196 = "stable_mosaic.tpu.memref_squeeze"(%195) : (memref<1x32x256xi8, #tpu.memory_space<hbm>>) -> memref<32x256xi8, #tpu.memory_space<hbm>>
      %197 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %12, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x256xi8, #tpu.memory_space<hbm>>
      %198 = "stable_mosaic.tpu.memref_squeeze"(%197) : (memref<1x32x256xi8, #tpu.memory_space<hbm>>) -> memref<32x256xi8, #tpu.memory_space<hbm>>
      %199 = "stable_mosaic.tpu.memref_slice"(%arg15, %1, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x3x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %200 = "stable_mosaic.tpu.memref_squeeze"(%199) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %201 = "stable_mosaic.arith.constant"() {value = 0 : i32} : () -> i32
      "stable_mosaic.tpu.wait_dma2"(%200, %196, %198, %201, %201) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<32x256xi8, #tpu.memory_space<hbm>>, memref<32x256xi8, #tpu.memory_space<hbm>>, i32, i32) -> ()
      %202 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %12, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x256xi8, #tpu.memory_space<hbm>>
      %203 = "stable_mosaic.tpu.memref_squeeze"(%202) : (memref<1x32x256xi8, #tpu.memory_space<hbm>>) -> memref<32x256xi8, #tpu.memory_space<hbm>>
      %204 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %12, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x256xi8, #tpu.memory_space<hbm>>
      %205 = "stable_mosaic.tpu.memref_squeeze"(%204) : (memref<1x32x256xi8, #tpu.memory_space<hbm>>) -> memref<32x256xi8, #tpu.memory_space<hbm>>
      %206 = "stable_mosaic.tpu.memref_slice"(%arg16, %1, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x3x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %207 = "stable_mosaic.tpu.memref_squeeze"(%206) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      "stable_mosaic.tpu.wait_dma2"(%207, %203, %205, %11) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<32x256xi8, #tpu.memory_space<hbm>>, memref<32x256xi8, #tpu.memory_space<hbm>>, i32) -> ()
      %208 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %1, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x256xi8, #tpu.memory_space<hbm>>
      %209 = "stable_mosaic.tpu.memref_squeeze"(%208) : (memref<1x32x256xi8, #tpu.memory_space<hbm>>) -> memref<32x256xi8, #tpu.memory_space<hbm>>
      %210 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %1, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x256xi8, #tpu.memory_space<hbm>>
      %211 = "stable_mosaic.tpu.memref_squeeze"(%210) : (memref<1x32x256xi8, #tpu.memory_space<hbm>>) -> memref<32x256xi8, #tpu.memory_space<hbm>>
      %212 = "stable_mosaic.tpu.memref_slice"(%arg15, %4, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x3x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %213 = "stable_mosaic.tpu.memref_squeeze"(%212) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %214 = "stable_mosaic.arith.constant"() {value = 0 : i32} : () -> i32
      "stable_mosaic.tpu.wait_dma2"(%213, %209, %211, %214, %214) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<32x256xi8, #tpu.memory_space<hbm>>, memref<32x256xi8, #tpu.memory_space<hbm>>, i32, i32) -> ()
      %215 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %1, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x256xi8, #tpu.memory_space<hbm>>
      %216 = "stable_mosaic.tpu.memref_squeeze"(%215) : (memref<1x32x256xi8, #tpu.memory_space<hbm>>) -> memref<32x256xi8, #tpu.memory_space<hbm>>
      %217 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %1, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x256xi8, #tpu.memory_space<hbm>>
      %218 = "stable_mosaic.tpu.memref_squeeze"(%217) : (memref<1x32x256xi8, #tpu.memory_space<hbm>>) -> memref<32x256xi8, #tpu.memory_space<hbm>>
      %219 = "stable_mosaic.tpu.memref_slice"(%arg16, %4, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x3x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %220 = "stable_mosaic.tpu.memref_squeeze"(%219) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      "stable_mosaic.tpu.wait_dma2"(%220, %216, %218, %8) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<32x256xi8, #tpu.memory_space<hbm>>, memref<32x256xi8, #tpu.memory_space<hbm>>, i32) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    %221 = "stable_mosaic.arith.andi"(%38, %88) : (i1, i1) -> i1
    "stable_mosaic.scf.if"(%221) ({
      "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "wait_subsequent_remote_copy"} : () -> ()
      %222 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %12, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x256xi8, #tpu.memory_space<hbm>>
      %223 = "stable_mosaic.tpu.memref_squeeze"(%222) : (memref<1x32x256xi8, #tpu.memory_space<hbm>>) -> memref<32x256xi8, #tpu.memory_space<hbm>>
      %224 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %12, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x256xi8, #tpu.memory_space<hbm>>
      %225 = "stable_mosaic.tpu.memref_squeeze"(%224) : (memref<1x32x256xi8, #tpu.memory_space<hbm>>) -> memref<32x256xi8, #tpu.memory_space<hbm>>
      %226 = "stable_mosaic.tpu.memref_slice"(%arg15, %1, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x3x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %227 = "stable_mosaic.tpu.memref_squeeze"(%226) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %228 = "stable_mosaic.arith.constant"() {value = 0 : i32} : () -> i32
      "stable_mosaic.tpu.wait_dma2"(%227, %223, %225, %228, %228) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<32x256xi8, #tpu.memory_space<hbm>>, memref<32x256xi8, #tpu.memory_space<hbm>>, i32, i32) -> ()
      %229 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %12, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x256xi8, #tpu.memory_space<hbm>>
      %230 = "stable_mosaic.tpu.memref_squeeze"(%229) : (memref<1x32x256xi8, #tpu.memory_space<hbm>>) -> memref<32x256xi8, #tpu.memory_space<hbm>>
      %231 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %12, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x256xi8, #tpu.memory_space<hbm>>
      %232 = "stable_mosaic.tpu.memref_squeeze"(%231) : (memref<1x32x256xi8, #tpu.memory_space<hbm>>) -> memref<32x256xi8, #tpu.memory_space<hbm>>
      %233 = "stable_mosaic.tpu.memref_slice"(%arg16, %1, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x3x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %234 = "stable_mosaic.tpu.memref_squeeze"(%233) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      "stable_mosaic.tpu.wait_dma2"(%234, %230, %232, %11) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<32x256xi8, #tpu.memory_space<hbm>>, memref<32x256xi8, #tpu.memory_space<hbm>>, i32) -> ()
      %235 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %1, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x256xi8, #tpu.memory_space<hbm>>
      %236 = "stable_mosaic.tpu.memref_squeeze"(%235) : (memref<1x32x256xi8, #tpu.memory_space<hbm>>) -> memref<32x256xi8, #tpu.memory_space<hbm>>
      %237 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %1, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x256xi8, #tpu.memory_space<hbm>>
      %238 = "stable_mosaic.tpu.memref_squeeze"(%237) : (memref<1x32x256xi8, #tpu.memory_space<hbm>>) -> memref<32x256xi8, #tpu.memory_space<hbm>>
      %239 = "stable_mosaic.tpu.memref_slice"(%arg15, %4, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x3x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %240 = "stable_mosaic.tpu.memref_squeeze"(%239) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %241 = "stable_mosaic.arith.constant"() {value = 0 : i32} : () -> i32
      "stable_mosaic.tpu.wait_dma2"(%240, %236, %238, %241, %241) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<32x256xi8, #tpu.memory_space<hbm>>, memref<32x256xi8, #tpu.memory_space<hbm>>, i32, i32) -> ()
      %242 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %1, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x256xi8, #tpu.memory_space<hbm>>
      %243 = "stable_mosaic.tpu.memref_squeeze"(%242) : (memref<1x32x256xi8, #tpu.memory_space<hbm>>) -> memref<32x256xi8, #tpu.memory_space<hbm>>
      %244 = "stable_mosaic.tpu.memref_slice"(%arg6, %arg0, %1, %1) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<3x64x256xi8, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x256xi8, #tpu.memory_space<hbm>>
      %245 = "stable_mosaic.tpu.memref_squeeze"(%244) : (memref<1x32x256xi8, #tpu.memory_space<hbm>>) -> memref<32x256xi8, #tpu.memory_space<hbm>>
      %246 = "stable_mosaic.tpu.memref_slice"(%arg16, %4, %arg0) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x3x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %247 = "stable_mosaic.tpu.memref_squeeze"(%246) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      "stable_mosaic.tpu.wait_dma2"(%247, %243, %245, %8) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<32x256xi8, #tpu.memory_space<hbm>>, memref<32x256xi8, #tpu.memory_space<hbm>>, i32) -> ()
      "stable_mosaic.tpu.trace_stop"() : () -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    "stable_mosaic.func.return"() : () -> ()
  }) {dimension_semantics = [#tpu.dimension_semantics<arbitrary>, #tpu.dimension_semantics<arbitrary>, #tpu.dimension_semantics<arbitrary>], function_type = (i32, i32, i32, memref<64x256xi8, #tpu.memory_space<hbm>>, memref<128x256xi8, #tpu.memory_space<hbm>>, memref<256x128xi8, #tpu.memory_space<hbm>>, memref<3x64x256xi8, #tpu.memory_space<hbm>>, memref<2x64x256xi8, #tpu.memory_space<vmem>>, memref<128x256xi8, #tpu.memory_space<vmem>>, memref<2x64x128xi8, #tpu.memory_space<vmem>>, memref<64x128xi32, #tpu.memory_space<vmem>>, memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2x3x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2x3x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> (), iteration_bounds = array<i64: 6, 1, 2>, scalar_prefetch = 0 : i64, scratch_operands = 10 : i64, sym_name = "main", tpu.core_type = #tpu.core_type<tc>, window_params = [{}, {}, {}, {}]} : () -> ()
}
module @all_gather_matmul attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<256x256xi8> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %y: tensor<512x256xi8> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<256x512xi8> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = sdy.manual_computation(%x, %y) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{}, {"x"}]>] manual_axes={"x"} (%x_part: tensor<64x256xi8>, %y_part: tensor<128x256xi8>) {
      %1:2 = stablehlo.custom_call @tpu_custom_call(%x_part, %y_part) {backend_config = "{\22custom_call_config\22: {\22body\22: \22BODY\22, \22has_communication\22: true, \22collective_id\22: 0, \22cost_estimate\22: {\22flops\22: 16777216, \22transcendentals\22: 0, \22bytes_accessed\22: 229376, \22remote_bytes_transferred\22: 49152}, \22serialization_format\22: 1, \22needs_layout_passes\22: true, \22disable_bounds_checks\22: true, \22output_memory_space_colors\22: [{\22color\22: 0, \22shape_index\22: [0]}, {\22color\22: 0, \22shape_index\22: [1]}], \22input_memory_space_colors\22: [{\22operand_index\22: 0, \22color\22: 0}, {\22operand_index\22: 1, \22color\22: 0}]}, \22scoped_memory_configs\22: [{\22memory_space\22: 1, \22offset\22: 0, \22size\22: 1257472}]}", kernel_name = "all_gather_matmul_kernel_bn_128_bk_128_rhs_transpose_True", operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[2, 1, 0]> : tensor<3xindex>]} : (tensor<64x256xi8>, tensor<128x256xi8>) -> (tensor<256x128xi8>, tensor<3x64x256xi8>)
      sdy.return %1#0 : tensor<256x128xi8>
    } : (tensor<256x256xi8>, tensor<512x256xi8>) -> tensor<256x512xi8>
    return %0 : tensor<256x512xi8>
  }
}
