module attributes {stable_mosaic.version = 8 : i64} {
  "stable_mosaic.func.func"() ({
  ^bb0(%arg0: memref<104xi32, #tpu.memory_space<smem>>, %arg1: memref<16x128xbf16, #tpu.memory_space<hbm>>, %arg2: memref<128x128xbf16, #tpu.memory_space<hbm>>, %arg3: memref<32x128xbf16, #tpu.memory_space<hbm>>, %arg4: memref<4x8x128xbf16, #tpu.memory_space<vmem>>, %arg5: memref<2x128x128xbf16, #tpu.memory_space<vmem>>, %arg6: memref<4x8x128xbf16, #tpu.memory_space<vmem>>, %arg7: memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, %arg8: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg9: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg10: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg11: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg12: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg13: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg14: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
    %0 = "stable_mosaic.tpu.sem_barrier"() : () -> memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
    %1 = "stable_mosaic.arith.constant"() {value = 1 : i32} : () -> i32
    %2 = "stable_mosaic.tpu.device_id"() : () -> i32
    %3 = "stable_mosaic.arith.addi"(%2, %1) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
    %4 = "stable_mosaic.arith.constant"() {value = 2 : i32} : () -> i32
    %5 = "stable_mosaic.arith.remsi"(%3, %4) : (i32, i32) -> i32
    %6 = "stable_mosaic.arith.constant"() {value = 0 : i32} : () -> i32
    %7 = "stable_mosaic.arith.constant"() {value = 4 : i32} : () -> i32
    %8 = "stable_mosaic.arith.constant"() {value = 26 : i32} : () -> i32
    %9 = "stable_mosaic.arith.constant"() {value = 3 : i32} : () -> i32
    %10 = "stable_mosaic.arith.constant"() {value = 8 : i32} : () -> i32
    %11 = "stable_mosaic.arith.constant"() {value = 13 : i32} : () -> i32
    %12 = "stable_mosaic.arith.constant"() {value = 15 : i32} : () -> i32
    %13 = "stable_mosaic.arith.constant"() {value = 5 : i32} : () -> i32
    %14 = "stable_mosaic.arith.constant"() {value = 6 : i32} : () -> i32
    %15 = "stable_mosaic.arith.constant"() {value = 7 : i32} : () -> i32
    %16 = "stable_mosaic.arith.constant"() {value = 9 : i32} : () -> i32
    %17 = "stable_mosaic.arith.constant"() {value = 10 : i32} : () -> i32
    %18 = "stable_mosaic.arith.constant"() {value = 11 : i32} : () -> i32
    %19 = "stable_mosaic.arith.constant"() {value = 12 : i32} : () -> i32
    %20 = "stable_mosaic.arith.constant"() {value = 14 : i32} : () -> i32
    %21 = "stable_mosaic.arith.constant"() {value = 16 : i32} : () -> i32
    %22 = "stable_mosaic.arith.constant"() {value = 17 : i32} : () -> i32
    %23 = "stable_mosaic.arith.constant"() {value = 18 : i32} : () -> i32
    %24 = "stable_mosaic.arith.constant"() {value = 19 : i32} : () -> i32
    %25 = "stable_mosaic.arith.constant"() {value = 20 : i32} : () -> i32
    %26 = "stable_mosaic.arith.constant"() {value = 21 : i32} : () -> i32
    %27 = "stable_mosaic.arith.constant"() {value = 22 : i32} : () -> i32
    %28 = "stable_mosaic.arith.constant"() {value = 23 : i32} : () -> i32
    %29 = "stable_mosaic.arith.constant"() {value = 24 : i32} : () -> i32
    %30 = "stable_mosaic.arith.constant"() {value = 25 : i32} : () -> i32
    %31 = "stable_mosaic.arith.constant"() {value = 0 : index} : () -> index
    %32 = "stable_mosaic.arith.constant"() {value = 128 : i32} : () -> i32
    "stable_mosaic.tpu.sem_signal"(%0, %1, %5) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> ()
    "stable_mosaic.tpu.sem_signal"(%0, %1, %5) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> ()
    %33 = "stable_mosaic.arith.constant"() {value = 1 : i32} : () -> i32
    "stable_mosaic.scf.for"(%6, %7, %33) ({
    ^bb0(%arg15: i32):
      %34 = "stable_mosaic.arith.muli"(%arg15, %8) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %35 = "stable_mosaic.arith.index_cast"(%34) : (i32) -> index
      %36 = "stable_mosaic.memref.load"(%arg0, %35) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
      %37 = "stable_mosaic.arith.addi"(%34, %1) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %38 = "stable_mosaic.arith.index_cast"(%37) : (i32) -> index
      %39 = "stable_mosaic.memref.load"(%arg0, %38) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
      %40 = "stable_mosaic.arith.addi"(%34, %4) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %41 = "stable_mosaic.arith.index_cast"(%40) : (i32) -> index
      %42 = "stable_mosaic.memref.load"(%arg0, %41) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
      %43 = "stable_mosaic.arith.cmpi"(%36, %6) {predicate = 5 : i64} : (i32, i32) -> i1
      "stable_mosaic.scf.if"(%43) ({
        "stable_mosaic.tpu.sem_wait"(%0, %4) : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
        "stable_mosaic.tpu.sem_signal"(%arg7, %1, %5) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> ()
        "stable_mosaic.tpu.sem_signal"(%arg7, %1, %5) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> ()
        "stable_mosaic.tpu.sem_wait"(%arg7, %4) : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
        "stable_mosaic.scf.yield"() : () -> ()
      }, {
        "stable_mosaic.scf.yield"() : () -> ()
      }) : (i1) -> ()
      %44 = "stable_mosaic.arith.cmpi"(%39, %6) {predicate = 5 : i64} : (i32, i32) -> i1
      "stable_mosaic.scf.if"(%44) ({
        %45 = "stable_mosaic.tpu.memref_slice"(%arg1, %6, %6) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<16x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
        %46 = "stable_mosaic.tpu.memref_slice"(%arg1, %6, %6) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<16x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
        %47 = "stable_mosaic.tpu.memref_slice"(%arg9, %39) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %48 = "stable_mosaic.tpu.memref_squeeze"(%47) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "stable_mosaic.tpu.wait_dma2"(%48, %45, %46, %5) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, i32) -> ()
        "stable_mosaic.scf.yield"() : () -> ()
      }, {
        "stable_mosaic.scf.yield"() : () -> ()
      }) : (i1) -> ()
      %49 = "stable_mosaic.arith.cmpi"(%42, %6) {predicate = 5 : i64} : (i32, i32) -> i1
      "stable_mosaic.scf.if"(%49) ({
        %50 = "stable_mosaic.tpu.memref_slice"(%arg1, %6, %6) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<16x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
        %51 = "stable_mosaic.tpu.memref_slice"(%arg1, %6, %6) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<16x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
        %52 = "stable_mosaic.tpu.memref_slice"(%arg11, %42) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %53 = "stable_mosaic.tpu.memref_squeeze"(%52) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "stable_mosaic.tpu.wait_dma2"(%53, %50, %51, %5) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, i32) -> ()
        "stable_mosaic.scf.yield"() : () -> ()
      }, {
        "stable_mosaic.scf.yield"() : () -> ()
      }) : (i1) -> ()
      %54 = "stable_mosaic.arith.addi"(%34, %9) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %55 = "stable_mosaic.arith.index_cast"(%54) : (i32) -> index
      %56 = "stable_mosaic.memref.load"(%arg0, %55) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
      %57 = "stable_mosaic.arith.addi"(%34, %10) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %58 = "stable_mosaic.arith.index_cast"(%57) : (i32) -> index
      %59 = "stable_mosaic.memref.load"(%arg0, %58) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
      %60 = "stable_mosaic.arith.addi"(%34, %11) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %61 = "stable_mosaic.arith.index_cast"(%60) : (i32) -> index
      %62 = "stable_mosaic.memref.load"(%arg0, %61) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
      %63 = "stable_mosaic.arith.addi"(%34, %12) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %64 = "stable_mosaic.arith.index_cast"(%63) : (i32) -> index
      %65 = "stable_mosaic.memref.load"(%arg0, %64) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
      %66 = "stable_mosaic.arith.cmpi"(%56, %6) {predicate = 5 : i64} : (i32, i32) -> i1
      "stable_mosaic.scf.if"(%66) ({
        %67 = "stable_mosaic.arith.addi"(%34, %7) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %68 = "stable_mosaic.arith.index_cast"(%67) : (i32) -> index
        %69 = "stable_mosaic.memref.load"(%arg0, %68) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
        %70 = "stable_mosaic.arith.addi"(%34, %13) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %71 = "stable_mosaic.arith.index_cast"(%70) : (i32) -> index
        %72 = "stable_mosaic.memref.load"(%arg0, %71) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
        %73 = "stable_mosaic.arith.addi"(%34, %14) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %74 = "stable_mosaic.arith.index_cast"(%73) : (i32) -> index
        %75 = "stable_mosaic.memref.load"(%arg0, %74) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
        %76 = "stable_mosaic.arith.addi"(%34, %15) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %77 = "stable_mosaic.arith.index_cast"(%76) : (i32) -> index
        %78 = "stable_mosaic.memref.load"(%arg0, %77) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
        %79 = "stable_mosaic.arith.muli"(%56, %10) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %80 = "stable_mosaic.tpu.memref_slice"(%arg1, %79, %6) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<16x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
        %81 = "stable_mosaic.tpu.memref_slice"(%arg8, %75) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %82 = "stable_mosaic.tpu.memref_squeeze"(%81) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %83 = "stable_mosaic.arith.muli"(%72, %4) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %84 = "stable_mosaic.tpu.memref_slice"(%arg4, %83, %6, %6) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
        %85 = "stable_mosaic.tpu.memref_squeeze"(%84) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
        %86 = "stable_mosaic.tpu.memref_slice"(%arg9, %78) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %87 = "stable_mosaic.tpu.memref_squeeze"(%86) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "stable_mosaic.tpu.enqueue_dma"(%80, %82, %85, %87, %5) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
        "stable_mosaic.scf.yield"() : () -> ()
      }, {
        "stable_mosaic.scf.yield"() : () -> ()
      }) : (i1) -> ()
      %88 = "stable_mosaic.arith.cmpi"(%59, %6) {predicate = 5 : i64} : (i32, i32) -> i1
      "stable_mosaic.scf.if"(%88) ({
        %89 = "stable_mosaic.arith.addi"(%34, %16) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %90 = "stable_mosaic.arith.index_cast"(%89) : (i32) -> index
        %91 = "stable_mosaic.memref.load"(%arg0, %90) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
        %92 = "stable_mosaic.arith.addi"(%34, %17) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %93 = "stable_mosaic.arith.index_cast"(%92) : (i32) -> index
        %94 = "stable_mosaic.memref.load"(%arg0, %93) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
        %95 = "stable_mosaic.arith.addi"(%34, %18) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %96 = "stable_mosaic.arith.index_cast"(%95) : (i32) -> index
        %97 = "stable_mosaic.memref.load"(%arg0, %96) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
        %98 = "stable_mosaic.arith.addi"(%34, %19) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %99 = "stable_mosaic.arith.index_cast"(%98) : (i32) -> index
        %100 = "stable_mosaic.memref.load"(%arg0, %99) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
        %101 = "stable_mosaic.arith.addi"(%59, %1) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %102 = "stable_mosaic.arith.muli"(%101, %10) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %103 = "stable_mosaic.tpu.memref_slice"(%arg1, %102, %6) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<16x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
        %104 = "stable_mosaic.tpu.memref_slice"(%arg10, %97) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %105 = "stable_mosaic.tpu.memref_squeeze"(%104) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %106 = "stable_mosaic.arith.muli"(%94, %4) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %107 = "stable_mosaic.arith.addi"(%106, %1) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %108 = "stable_mosaic.tpu.memref_slice"(%arg4, %107, %6, %6) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
        %109 = "stable_mosaic.tpu.memref_squeeze"(%108) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
        %110 = "stable_mosaic.tpu.memref_slice"(%arg11, %100) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %111 = "stable_mosaic.tpu.memref_squeeze"(%110) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "stable_mosaic.tpu.enqueue_dma"(%103, %105, %109, %111, %5) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
        "stable_mosaic.scf.yield"() : () -> ()
      }, {
        "stable_mosaic.scf.yield"() : () -> ()
      }) : (i1) -> ()
      %112 = "stable_mosaic.arith.cmpi"(%62, %6) {predicate = 5 : i64} : (i32, i32) -> i1
      "stable_mosaic.scf.if"(%112) ({
        %113 = "stable_mosaic.arith.addi"(%34, %20) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %114 = "stable_mosaic.arith.index_cast"(%113) : (i32) -> index
        %115 = "stable_mosaic.memref.load"(%arg0, %114) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
        %116 = "stable_mosaic.arith.muli"(%115, %10) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %117 = "stable_mosaic.tpu.memref_slice"(%arg1, %116, %6) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<16x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
        %118 = "stable_mosaic.arith.muli"(%62, %4) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %119 = "stable_mosaic.tpu.memref_slice"(%arg4, %118, %6, %6) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
        %120 = "stable_mosaic.tpu.memref_squeeze"(%119) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
        %121 = "stable_mosaic.tpu.memref_slice"(%arg12, %62) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %122 = "stable_mosaic.tpu.memref_squeeze"(%121) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "stable_mosaic.tpu.enqueue_dma"(%117, %120, %122) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<8x128xbf16, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
        %123 = "stable_mosaic.arith.addi"(%115, %1) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %124 = "stable_mosaic.arith.muli"(%123, %10) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %125 = "stable_mosaic.tpu.memref_slice"(%arg1, %124, %6) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<16x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
        %126 = "stable_mosaic.arith.addi"(%118, %1) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %127 = "stable_mosaic.tpu.memref_slice"(%arg4, %126, %6, %6) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
        %128 = "stable_mosaic.tpu.memref_squeeze"(%127) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
        %129 = "stable_mosaic.tpu.memref_slice"(%arg12, %62) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %130 = "stable_mosaic.tpu.memref_squeeze"(%129) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "stable_mosaic.tpu.enqueue_dma"(%125, %128, %130) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<8x128xbf16, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
        "stable_mosaic.scf.yield"() : () -> ()
      }, {
        "stable_mosaic.scf.yield"() : () -> ()
      }) : (i1) -> ()
      %131 = "stable_mosaic.arith.cmpi"(%65, %6) {predicate = 5 : i64} : (i32, i32) -> i1
      "stable_mosaic.scf.if"(%131) ({
        %132 = "stable_mosaic.arith.addi"(%34, %21) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %133 = "stable_mosaic.arith.index_cast"(%132) : (i32) -> index
        %134 = "stable_mosaic.memref.load"(%arg0, %133) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
        %135 = "stable_mosaic.tpu.memref_slice"(%arg5, %65, %6, %6) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x128x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x128x128xbf16, #tpu.memory_space<vmem>>
        %136 = "stable_mosaic.tpu.memref_squeeze"(%135) : (memref<1x128x128xbf16, #tpu.memory_space<vmem>>) -> memref<128x128xbf16, #tpu.memory_space<vmem>>
        %137 = "stable_mosaic.tpu.memref_slice"(%arg13, %65) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %138 = "stable_mosaic.tpu.memref_squeeze"(%137) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "stable_mosaic.tpu.enqueue_dma"(%arg2, %136, %138) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<128x128xbf16, #tpu.memory_space<hbm>>, memref<128x128xbf16, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
        "stable_mosaic.scf.yield"() : () -> ()
      }, {
        "stable_mosaic.scf.yield"() : () -> ()
      }) : (i1) -> ()
      %139 = "stable_mosaic.arith.addi"(%34, %22) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %140 = "stable_mosaic.arith.index_cast"(%139) : (i32) -> index
      %141 = "stable_mosaic.memref.load"(%arg0, %140) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
      %142 = "stable_mosaic.arith.addi"(%34, %23) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %143 = "stable_mosaic.arith.index_cast"(%142) : (i32) -> index
      %144 = "stable_mosaic.memref.load"(%arg0, %143) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
      %145 = "stable_mosaic.arith.addi"(%34, %24) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %146 = "stable_mosaic.arith.index_cast"(%145) : (i32) -> index
      %147 = "stable_mosaic.memref.load"(%arg0, %146) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
      %148 = "stable_mosaic.arith.cmpi"(%141, %6) {predicate = 5 : i64} : (i32, i32) -> i1
      "stable_mosaic.scf.if"(%148) ({
        %149 = "stable_mosaic.arith.muli"(%141, %4) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %150 = "stable_mosaic.tpu.memref_slice"(%arg4, %149, %6, %6) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
        %151 = "stable_mosaic.tpu.memref_squeeze"(%150) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
        %152 = "stable_mosaic.tpu.memref_slice"(%arg4, %149, %6, %6) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
        %153 = "stable_mosaic.tpu.memref_squeeze"(%152) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
        %154 = "stable_mosaic.tpu.memref_slice"(%arg12, %141) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %155 = "stable_mosaic.tpu.memref_squeeze"(%154) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "stable_mosaic.tpu.wait_dma2"(%155, %151, %153) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<vmem>>, memref<8x128xbf16, #tpu.memory_space<vmem>>) -> ()
        %156 = "stable_mosaic.arith.addi"(%149, %1) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %157 = "stable_mosaic.tpu.memref_slice"(%arg4, %156, %6, %6) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
        %158 = "stable_mosaic.tpu.memref_squeeze"(%157) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
        %159 = "stable_mosaic.tpu.memref_slice"(%arg4, %156, %6, %6) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
        %160 = "stable_mosaic.tpu.memref_squeeze"(%159) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
        %161 = "stable_mosaic.tpu.memref_slice"(%arg12, %141) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %162 = "stable_mosaic.tpu.memref_squeeze"(%161) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "stable_mosaic.tpu.wait_dma2"(%162, %158, %160) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<vmem>>, memref<8x128xbf16, #tpu.memory_space<vmem>>) -> ()
        "stable_mosaic.scf.yield"() : () -> ()
      }, {
        "stable_mosaic.scf.yield"() : () -> ()
      }) : (i1) -> ()
      %163 = "stable_mosaic.arith.cmpi"(%144, %6) {predicate = 5 : i64} : (i32, i32) -> i1
      "stable_mosaic.scf.if"(%163) ({
        %164 = "stable_mosaic.tpu.memref_slice"(%arg5, %144, %6, %6) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x128x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x128x128xbf16, #tpu.memory_space<vmem>>
        %165 = "stable_mosaic.tpu.memref_squeeze"(%164) : (memref<1x128x128xbf16, #tpu.memory_space<vmem>>) -> memref<128x128xbf16, #tpu.memory_space<vmem>>
        %166 = "stable_mosaic.tpu.memref_slice"(%arg5, %144, %6, %6) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x128x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x128x128xbf16, #tpu.memory_space<vmem>>
        %167 = "stable_mosaic.tpu.memref_squeeze"(%166) : (memref<1x128x128xbf16, #tpu.memory_space<vmem>>) -> memref<128x128xbf16, #tpu.memory_space<vmem>>
        %168 = "stable_mosaic.tpu.memref_slice"(%arg13, %144) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %169 = "stable_mosaic.tpu.memref_squeeze"(%168) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "stable_mosaic.tpu.wait_dma2"(%169, %165, %167) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<128x128xbf16, #tpu.memory_space<vmem>>, memref<128x128xbf16, #tpu.memory_space<vmem>>) -> ()
        "stable_mosaic.scf.yield"() : () -> ()
      }, {
        "stable_mosaic.scf.yield"() : () -> ()
      }) : (i1) -> ()
      %170 = "stable_mosaic.arith.cmpi"(%147, %6) {predicate = 0 : i64} : (i32, i32) -> i1
      "stable_mosaic.scf.if"(%170) ({
        %171 = "stable_mosaic.arith.addi"(%34, %25) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %172 = "stable_mosaic.arith.index_cast"(%171) : (i32) -> index
        %173 = "stable_mosaic.memref.load"(%arg0, %172) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
        %174 = "stable_mosaic.arith.addi"(%34, %26) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %175 = "stable_mosaic.arith.index_cast"(%174) : (i32) -> index
        %176 = "stable_mosaic.memref.load"(%arg0, %175) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
        %177 = "stable_mosaic.arith.addi"(%34, %27) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %178 = "stable_mosaic.arith.index_cast"(%177) : (i32) -> index
        %179 = "stable_mosaic.memref.load"(%arg0, %178) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
        %180 = "stable_mosaic.arith.addi"(%34, %28) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %181 = "stable_mosaic.arith.index_cast"(%180) : (i32) -> index
        %182 = "stable_mosaic.memref.load"(%arg0, %181) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
        %183 = "stable_mosaic.arith.addi"(%34, %29) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %184 = "stable_mosaic.arith.index_cast"(%183) : (i32) -> index
        %185 = "stable_mosaic.memref.load"(%arg0, %184) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
        %186 = "stable_mosaic.arith.addi"(%34, %30) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %187 = "stable_mosaic.arith.index_cast"(%186) : (i32) -> index
        %188 = "stable_mosaic.memref.load"(%arg0, %187) : (memref<104xi32, #tpu.memory_space<smem>>, index) -> i32
        "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "multiply_0"} : () -> ()
        %189 = "stable_mosaic.arith.muli"(%176, %4) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %190 = "stable_mosaic.arith.index_cast"(%189) : (i32) -> index
        %191 = "stable_mosaic.vector.load"(%arg4, %190, %31, %31) : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, index, index, index) -> vector<2x8x128xbf16>
        %192 = "stable_mosaic.vector.shape_cast"(%191) : (vector<2x8x128xbf16>) -> vector<16x128xbf16>
        %193 = "stable_mosaic.arith.index_cast"(%179) : (i32) -> index
        %194 = "stable_mosaic.vector.load"(%arg5, %193, %31, %31) : (memref<2x128x128xbf16, #tpu.memory_space<vmem>>, index, index, index) -> vector<1x128x128xbf16>
        %195 = "stable_mosaic.vector.shape_cast"(%194) : (vector<1x128x128xbf16>) -> vector<128x128xbf16>
        %196 = "stable_mosaic.arith.constant"() {value = dense<0.000000e+00> : vector<16x128xf32>} : () -> vector<16x128xf32>
        %197 = "stable_mosaic.tpu.matmul"(%192, %195, %196) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs = false, transpose_rhs = false} : (vector<16x128xbf16>, vector<128x128xbf16>, vector<16x128xf32>) -> vector<16x128xf32>
        %198 = "stable_mosaic.arith.truncf"(%197) : (vector<16x128xf32>) -> vector<16x128xbf16>
        %199 = "stable_mosaic.vector.shape_cast"(%198) : (vector<16x128xbf16>) -> vector<2x8x128xbf16>
        %200 = "stable_mosaic.arith.muli"(%173, %4) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %201 = "stable_mosaic.arith.index_cast"(%200) : (i32) -> index
        "stable_mosaic.tpu.vector_store"(%199, %arg6, %201, %31, %31) {operandSegmentSizes = array<i32: 1, 1, 3, 0>, strides = array<i32>} : (vector<2x8x128xbf16>, memref<4x8x128xbf16, #tpu.memory_space<vmem>>, index, index, index) -> ()
        "stable_mosaic.tpu.trace_stop"() : () -> ()
        %202 = "stable_mosaic.tpu.memref_slice"(%arg6, %200, %6, %6) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
        %203 = "stable_mosaic.tpu.memref_squeeze"(%202) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
        %204 = "stable_mosaic.arith.subi"(%2, %185) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %205 = "stable_mosaic.arith.addi"(%204, %4) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %206 = "stable_mosaic.arith.remsi"(%205, %4) : (i32, i32) -> i32
        %207 = "stable_mosaic.arith.muli"(%206, %4) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %208 = "stable_mosaic.arith.addi"(%207, %188) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %209 = "stable_mosaic.arith.muli"(%208, %10) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %210 = "stable_mosaic.arith.muli"(%182, %32) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %211 = "stable_mosaic.tpu.memref_slice"(%arg3, %209, %210) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
        %212 = "stable_mosaic.tpu.memref_slice"(%arg14, %173) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %213 = "stable_mosaic.tpu.memref_squeeze"(%212) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "stable_mosaic.tpu.enqueue_dma"(%203, %211, %213) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x128xbf16, #tpu.memory_space<vmem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
        %214 = "stable_mosaic.arith.addi"(%200, %1) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %215 = "stable_mosaic.tpu.memref_slice"(%arg6, %214, %6, %6) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
        %216 = "stable_mosaic.tpu.memref_squeeze"(%215) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
        %217 = "stable_mosaic.arith.addi"(%2, %185) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %218 = "stable_mosaic.arith.remsi"(%217, %4) : (i32, i32) -> i32
        %219 = "stable_mosaic.arith.muli"(%218, %4) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %220 = "stable_mosaic.arith.addi"(%188, %1) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %221 = "stable_mosaic.arith.addi"(%219, %220) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %222 = "stable_mosaic.arith.muli"(%221, %10) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %223 = "stable_mosaic.tpu.memref_slice"(%arg3, %222, %210) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
        %224 = "stable_mosaic.tpu.memref_slice"(%arg14, %173) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %225 = "stable_mosaic.tpu.memref_squeeze"(%224) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "stable_mosaic.tpu.enqueue_dma"(%216, %223, %225) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x128xbf16, #tpu.memory_space<vmem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
        "stable_mosaic.scf.yield"() : () -> ()
      }, {
        "stable_mosaic.scf.yield"() : () -> ()
      }) : (i1) -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i32, i32, i32) -> ()
    %226 = "stable_mosaic.tpu.memref_slice"(%arg1, %6, %6) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<16x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
    %227 = "stable_mosaic.tpu.memref_slice"(%arg1, %6, %6) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<16x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
    %228 = "stable_mosaic.tpu.memref_slice"(%arg8, %6) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %229 = "stable_mosaic.tpu.memref_squeeze"(%228) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %230 = "stable_mosaic.arith.constant"() {value = 0 : i32} : () -> i32
    "stable_mosaic.tpu.wait_dma2"(%229, %226, %227, %230, %230) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> ()
    %231 = "stable_mosaic.tpu.memref_slice"(%arg1, %6, %6) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<16x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
    %232 = "stable_mosaic.tpu.memref_slice"(%arg1, %6, %6) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<16x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
    %233 = "stable_mosaic.tpu.memref_slice"(%arg10, %6) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %234 = "stable_mosaic.tpu.memref_squeeze"(%233) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %235 = "stable_mosaic.arith.constant"() {value = 0 : i32} : () -> i32
    "stable_mosaic.tpu.wait_dma2"(%234, %231, %232, %235, %235) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> ()
    %236 = "stable_mosaic.tpu.memref_slice"(%arg6, %6, %6, %6) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<2x8x128xbf16, #tpu.memory_space<vmem>>
    %237 = "stable_mosaic.tpu.memref_slice"(%arg6, %6, %6, %6) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<2x8x128xbf16, #tpu.memory_space<vmem>>
    %238 = "stable_mosaic.tpu.memref_slice"(%arg14, %6) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %239 = "stable_mosaic.tpu.memref_squeeze"(%238) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    "stable_mosaic.tpu.wait_dma2"(%239, %236, %237) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2x8x128xbf16, #tpu.memory_space<vmem>>, memref<2x8x128xbf16, #tpu.memory_space<vmem>>) -> ()
    %240 = "stable_mosaic.tpu.memref_slice"(%arg6, %6, %6, %6) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<2x8x128xbf16, #tpu.memory_space<vmem>>
    %241 = "stable_mosaic.tpu.memref_slice"(%arg6, %6, %6, %6) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<2x8x128xbf16, #tpu.memory_space<vmem>>
    %242 = "stable_mosaic.tpu.memref_slice"(%arg14, %1) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %243 = "stable_mosaic.tpu.memref_squeeze"(%242) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    "stable_mosaic.tpu.wait_dma2"(%243, %240, %241) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2x8x128xbf16, #tpu.memory_space<vmem>>, memref<2x8x128xbf16, #tpu.memory_space<vmem>>) -> ()
    "stable_mosaic.func.return"() : () -> ()
  }) {dimension_semantics = [], function_type = (memref<104xi32, #tpu.memory_space<smem>>, memref<16x128xbf16, #tpu.memory_space<hbm>>, memref<128x128xbf16, #tpu.memory_space<hbm>>, memref<32x128xbf16, #tpu.memory_space<hbm>>, memref<4x8x128xbf16, #tpu.memory_space<vmem>>, memref<2x128x128xbf16, #tpu.memory_space<vmem>>, memref<4x8x128xbf16, #tpu.memory_space<vmem>>, memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> (), scalar_prefetch = 0 : i64, scratch_operands = 11 : i64, sym_name = "main", tpu.core_type = #tpu.core_type<tc>} : () -> ()
}
module @all_gather_matmul attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%x: tensor<32x128xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %y: tensor<128x256xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<32x256xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = sdy.manual_computation(%x, %y) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {"x"}]>] out_shardings=[<@mesh, [{}, {"x"}]>] manual_axes={"x"} (%x_part: tensor<16x128xbf16>, %y_part: tensor<128x128xbf16>) {
      %1 = stablehlo.constant dense<[0, -1, -1, 0, -1, 1, 0, 1, 0, -1, 1, 0, 1, 0, 0, -1, -1, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, -1, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 1, 1, 0, 0, 1, 0]> : tensor<104xi32>
      %2 = stablehlo.custom_call @tpu_custom_call(%1, %x_part, %y_part) {backend_config = "{\22custom_call_config\22: {\22body\22: \22BODY\22, \22has_communication\22: true, \22collective_id\22: 0, \22cost_estimate\22: {\22flops\22: 1048576, \22transcendentals\22: 0, \22bytes_accessed\22: 49152, \22remote_bytes_transferred\22: 4096}, \22serialization_format\22: 1, \22needs_layout_passes\22: true, \22disable_bounds_checks\22: true, \22output_memory_space_colors\22: [{\22color\22: 0}], \22input_memory_space_colors\22: [{\22operand_index\22: 1, \22color\22: 0}, {\22operand_index\22: 2, \22color\22: 0}]}, \22scoped_memory_configs\22: [{\22memory_space\22: 1, \22offset\22: 0, \22size\22: 1143808}]}", kernel_name = "all_gather_matmul_wavefront_16x128x128", operand_layouts = [dense<[0]> : tensor<1xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<104xi32>, tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<32x128xbf16>
      sdy.return %2 : tensor<32x128xbf16>
    } : (tensor<32x128xbf16>, tensor<128x256xbf16>) -> tensor<32x256xbf16>
    return %0 : tensor<32x256xbf16>
  }
}
