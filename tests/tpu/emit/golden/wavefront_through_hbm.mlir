module attributes {stable_mosaic.version = 8 : i64} {
  "stable_mosaic.func.func"() ({
  ^bb0(%arg0: memref<700xi32, #tpu.memory_space<smem>>, %arg1: memref<32x256xbf16, #tpu.memory_space<hbm>>, %arg2: memref<256x128xbf16, #tpu.memory_space<hbm>>, %arg3: memref<256x128xbf16, #tpu.memory_space<hbm>>, %arg4: memref<64x128xbf16, #tpu.memory_space<hbm>>, %arg5: memref<64x128xbf16, #tpu.memory_space<hbm>>, %arg6: memref<64x256xbf16, #tpu.memory_space<hbm>>, %arg7: memref<4x8x128xbf16, #tpu.memory_space<vmem>>, %arg8: memref<2x128x128xbf16, #tpu.memory_space<vmem>>, %arg9: memref<4x8x128xbf16, #tpu.memory_space<vmem>>, %arg10: memref<1x16x128xf32, #tpu.memory_space<vmem>>, %arg11: memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, %arg12: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg13: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg14: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg15: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg16: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg17: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg18: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg19: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
    %0 = "stable_mosaic.tpu.sem_barrier"() : () -> memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
    %1 = "stable_mosaic.arith.constant"() {value = 1 : i32} : () -> i32
    %2 = "stable_mosaic.tpu.device_id"() : () -> i32
    %3 = "stable_mosaic.arith.constant"() {value = 2 : i32} : () -> i32
    %4 = "stable_mosaic.arith.remsi"(%2, %3) : (i32, i32) -> i32
    %5 = "stable_mosaic.arith.subi"(%2, %4) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
    %6 = "stable_mosaic.arith.addi"(%4, %1) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
    %7 = "stable_mosaic.arith.remsi"(%6, %3) : (i32, i32) -> i32
    %8 = "stable_mosaic.arith.addi"(%5, %7) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
    %9 = "stable_mosaic.arith.constant"() {value = 0 : i32} : () -> i32
    %10 = "stable_mosaic.arith.constant"() {value = 20 : i32} : () -> i32
    %11 = "stable_mosaic.arith.constant"() {value = 35 : i32} : () -> i32
    %12 = "stable_mosaic.arith.constant"() {value = 3 : i32} : () -> i32
    %13 = "stable_mosaic.arith.constant"() {value = 4 : i32} : () -> i32
    %14 = "stable_mosaic.arith.constant"() {value = 8 : i32} : () -> i32
    %15 = "stable_mosaic.arith.constant"() {value = 12 : i32} : () -> i32
    %16 = "stable_mosaic.arith.constant"() {value = 17 : i32} : () -> i32
    %17 = "stable_mosaic.arith.constant"() {value = 21 : i32} : () -> i32
    %18 = "stable_mosaic.arith.constant"() {value = 5 : i32} : () -> i32
    %19 = "stable_mosaic.arith.constant"() {value = 6 : i32} : () -> i32
    %20 = "stable_mosaic.arith.constant"() {value = 7 : i32} : () -> i32
    %21 = "stable_mosaic.arith.constant"() {value = 9 : i32} : () -> i32
    %22 = "stable_mosaic.arith.constant"() {value = 10 : i32} : () -> i32
    %23 = "stable_mosaic.arith.constant"() {value = 11 : i32} : () -> i32
    %24 = "stable_mosaic.arith.constant"() {value = 13 : i32} : () -> i32
    %25 = "stable_mosaic.arith.constant"() {value = 14 : i32} : () -> i32
    %26 = "stable_mosaic.arith.constant"() {value = 15 : i32} : () -> i32
    %27 = "stable_mosaic.arith.constant"() {value = 16 : i32} : () -> i32
    %28 = "stable_mosaic.arith.constant"() {value = 128 : i32} : () -> i32
    %29 = "stable_mosaic.arith.constant"() {value = 18 : i32} : () -> i32
    %30 = "stable_mosaic.arith.constant"() {value = 19 : i32} : () -> i32
    %31 = "stable_mosaic.arith.constant"() {value = 22 : i32} : () -> i32
    %32 = "stable_mosaic.arith.constant"() {value = 23 : i32} : () -> i32
    %33 = "stable_mosaic.arith.constant"() {value = 24 : i32} : () -> i32
    %34 = "stable_mosaic.arith.constant"() {value = 25 : i32} : () -> i32
    %35 = "stable_mosaic.arith.constant"() {value = 26 : i32} : () -> i32
    %36 = "stable_mosaic.arith.constant"() {value = 27 : i32} : () -> i32
    %37 = "stable_mosaic.arith.constant"() {value = 28 : i32} : () -> i32
    %38 = "stable_mosaic.arith.constant"() {value = 29 : i32} : () -> i32
    %39 = "stable_mosaic.arith.constant"() {value = 30 : i32} : () -> i32
    %40 = "stable_mosaic.arith.constant"() {value = 31 : i32} : () -> i32
    %41 = "stable_mosaic.arith.constant"() {value = 32 : i32} : () -> i32
    %42 = "stable_mosaic.arith.constant"() {value = 33 : i32} : () -> i32
    %43 = "stable_mosaic.arith.constant"() {value = 34 : i32} : () -> i32
    %44 = "stable_mosaic.arith.constant"() {value = 0 : index} : () -> index
    "stable_mosaic.tpu.sem_signal"(%0, %1, %8) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> ()
    "stable_mosaic.tpu.sem_signal"(%0, %1, %8) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> ()
    %45 = "stable_mosaic.arith.constant"() {value = 1 : i32} : () -> i32
    "stable_mosaic.scf.for"(%9, %10, %45) ({
    ^bb0(%arg20: i32):
      %46 = "stable_mosaic.arith.muli"(%arg20, %11) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %47 = "stable_mosaic.arith.index_cast"(%46) : (i32) -> index
      %48 = "stable_mosaic.memref.load"(%arg0, %47) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
      %49 = "stable_mosaic.arith.addi"(%46, %1) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %50 = "stable_mosaic.arith.index_cast"(%49) : (i32) -> index
      %51 = "stable_mosaic.memref.load"(%arg0, %50) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
      %52 = "stable_mosaic.arith.addi"(%46, %3) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %53 = "stable_mosaic.arith.index_cast"(%52) : (i32) -> index
      %54 = "stable_mosaic.memref.load"(%arg0, %53) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
      %55 = "stable_mosaic.arith.addi"(%46, %12) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %56 = "stable_mosaic.arith.index_cast"(%55) : (i32) -> index
      %57 = "stable_mosaic.memref.load"(%arg0, %56) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
      %58 = "stable_mosaic.arith.cmpi"(%48, %9) {predicate = 5 : i64} : (i32, i32) -> i1
      "stable_mosaic.scf.if"(%58) ({
        "stable_mosaic.tpu.log"(%arg20, %48) {formatted = true, tag = "step $0: await entry, flag $1"} : (i32, i32) -> ()
        "stable_mosaic.tpu.sem_wait"(%0, %3) : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
        "stable_mosaic.tpu.sem_signal"(%arg11, %1, %8) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> ()
        "stable_mosaic.tpu.sem_signal"(%arg11, %1, %8) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> ()
        "stable_mosaic.tpu.sem_wait"(%arg11, %3) : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
        "stable_mosaic.scf.yield"() : () -> ()
      }, {
        "stable_mosaic.scf.yield"() : () -> ()
      }) : (i1) -> ()
      %59 = "stable_mosaic.arith.cmpi"(%51, %9) {predicate = 5 : i64} : (i32, i32) -> i1
      "stable_mosaic.scf.if"(%59) ({
        "stable_mosaic.tpu.log"(%arg20, %51) {formatted = true, tag = "step $0: await arrival forward, semaphore $1"} : (i32, i32) -> ()
        %60 = "stable_mosaic.tpu.memref_slice"(%arg1, %9, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
        %61 = "stable_mosaic.tpu.memref_slice"(%arg1, %9, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
        %62 = "stable_mosaic.tpu.memref_slice"(%arg13, %51) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %63 = "stable_mosaic.tpu.memref_squeeze"(%62) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "stable_mosaic.tpu.wait_dma2"(%63, %60, %61, %8) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x256xbf16, #tpu.memory_space<hbm>>, memref<8x256xbf16, #tpu.memory_space<hbm>>, i32) -> ()
        "stable_mosaic.scf.yield"() : () -> ()
      }, {
        "stable_mosaic.scf.yield"() : () -> ()
      }) : (i1) -> ()
      %64 = "stable_mosaic.arith.cmpi"(%54, %9) {predicate = 5 : i64} : (i32, i32) -> i1
      "stable_mosaic.scf.if"(%64) ({
        "stable_mosaic.tpu.log"(%arg20, %54) {formatted = true, tag = "step $0: await arrival backward, semaphore $1"} : (i32, i32) -> ()
        %65 = "stable_mosaic.tpu.memref_slice"(%arg1, %9, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
        %66 = "stable_mosaic.tpu.memref_slice"(%arg1, %9, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
        %67 = "stable_mosaic.tpu.memref_slice"(%arg15, %54) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %68 = "stable_mosaic.tpu.memref_squeeze"(%67) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "stable_mosaic.tpu.wait_dma2"(%68, %65, %66, %8) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x256xbf16, #tpu.memory_space<hbm>>, memref<8x256xbf16, #tpu.memory_space<hbm>>, i32) -> ()
        "stable_mosaic.scf.yield"() : () -> ()
      }, {
        "stable_mosaic.scf.yield"() : () -> ()
      }) : (i1) -> ()
      %69 = "stable_mosaic.arith.cmpi"(%57, %9) {predicate = 5 : i64} : (i32, i32) -> i1
      "stable_mosaic.scf.if"(%69) ({
        "stable_mosaic.tpu.log"(%arg20, %57) {formatted = true, tag = "step $0: await store of body 0, slot $1"} : (i32, i32) -> ()
        %70 = "stable_mosaic.tpu.memref_slice"(%arg9, %9, %9, %9) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<2x8x128xbf16, #tpu.memory_space<vmem>>
        %71 = "stable_mosaic.tpu.memref_slice"(%arg9, %9, %9, %9) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<2x8x128xbf16, #tpu.memory_space<vmem>>
        %72 = "stable_mosaic.tpu.memref_slice"(%arg18, %57) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %73 = "stable_mosaic.tpu.memref_squeeze"(%72) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "stable_mosaic.tpu.wait_dma2"(%73, %70, %71) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2x8x128xbf16, #tpu.memory_space<vmem>>, memref<2x8x128xbf16, #tpu.memory_space<vmem>>) -> ()
        "stable_mosaic.scf.yield"() : () -> ()
      }, {
        "stable_mosaic.scf.yield"() : () -> ()
      }) : (i1) -> ()
      %74 = "stable_mosaic.arith.addi"(%46, %13) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %75 = "stable_mosaic.arith.index_cast"(%74) : (i32) -> index
      %76 = "stable_mosaic.memref.load"(%arg0, %75) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
      %77 = "stable_mosaic.arith.addi"(%46, %14) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %78 = "stable_mosaic.arith.index_cast"(%77) : (i32) -> index
      %79 = "stable_mosaic.memref.load"(%arg0, %78) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
      %80 = "stable_mosaic.arith.addi"(%46, %15) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %81 = "stable_mosaic.arith.index_cast"(%80) : (i32) -> index
      %82 = "stable_mosaic.memref.load"(%arg0, %81) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
      %83 = "stable_mosaic.arith.addi"(%46, %16) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %84 = "stable_mosaic.arith.index_cast"(%83) : (i32) -> index
      %85 = "stable_mosaic.memref.load"(%arg0, %84) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
      %86 = "stable_mosaic.arith.addi"(%46, %17) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %87 = "stable_mosaic.arith.index_cast"(%86) : (i32) -> index
      %88 = "stable_mosaic.memref.load"(%arg0, %87) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
      %89 = "stable_mosaic.arith.cmpi"(%76, %9) {predicate = 5 : i64} : (i32, i32) -> i1
      "stable_mosaic.scf.if"(%89) ({
        %90 = "stable_mosaic.arith.addi"(%46, %18) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %91 = "stable_mosaic.arith.index_cast"(%90) : (i32) -> index
        %92 = "stable_mosaic.memref.load"(%arg0, %91) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
        %93 = "stable_mosaic.arith.addi"(%46, %19) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %94 = "stable_mosaic.arith.index_cast"(%93) : (i32) -> index
        %95 = "stable_mosaic.memref.load"(%arg0, %94) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
        %96 = "stable_mosaic.arith.addi"(%46, %20) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %97 = "stable_mosaic.arith.index_cast"(%96) : (i32) -> index
        %98 = "stable_mosaic.memref.load"(%arg0, %97) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
        "stable_mosaic.tpu.log"(%arg20, %98, %95, %92, %76) {formatted = true, tag = "step $0: send forward, arrival $1, departure $2, hop $3, piece $4"} : (i32, i32, i32, i32, i32) -> ()
        %99 = "stable_mosaic.arith.muli"(%76, %14) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %100 = "stable_mosaic.tpu.memref_slice"(%arg1, %99, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
        %101 = "stable_mosaic.tpu.memref_slice"(%arg12, %95) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %102 = "stable_mosaic.tpu.memref_squeeze"(%101) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %103 = "stable_mosaic.arith.subi"(%4, %92) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %104 = "stable_mosaic.arith.addi"(%103, %3) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %105 = "stable_mosaic.arith.remsi"(%104, %3) : (i32, i32) -> i32
        %106 = "stable_mosaic.arith.muli"(%105, %13) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %107 = "stable_mosaic.arith.addi"(%106, %76) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %108 = "stable_mosaic.arith.muli"(%107, %14) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %109 = "stable_mosaic.tpu.memref_slice"(%arg6, %108, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<64x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
        %110 = "stable_mosaic.tpu.memref_slice"(%arg13, %98) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %111 = "stable_mosaic.tpu.memref_squeeze"(%110) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "stable_mosaic.tpu.enqueue_dma"(%100, %102, %109, %111, %8) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x256xbf16, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x256xbf16, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
        "stable_mosaic.scf.yield"() : () -> ()
      }, {
        "stable_mosaic.scf.yield"() : () -> ()
      }) : (i1) -> ()
      %112 = "stable_mosaic.arith.cmpi"(%79, %9) {predicate = 5 : i64} : (i32, i32) -> i1
      "stable_mosaic.scf.if"(%112) ({
        %113 = "stable_mosaic.arith.addi"(%46, %21) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %114 = "stable_mosaic.arith.index_cast"(%113) : (i32) -> index
        %115 = "stable_mosaic.memref.load"(%arg0, %114) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
        %116 = "stable_mosaic.arith.addi"(%46, %22) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %117 = "stable_mosaic.arith.index_cast"(%116) : (i32) -> index
        %118 = "stable_mosaic.memref.load"(%arg0, %117) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
        %119 = "stable_mosaic.arith.addi"(%46, %23) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %120 = "stable_mosaic.arith.index_cast"(%119) : (i32) -> index
        %121 = "stable_mosaic.memref.load"(%arg0, %120) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
        "stable_mosaic.tpu.log"(%arg20, %121, %118, %115, %79) {formatted = true, tag = "step $0: send backward, arrival $1, departure $2, hop $3, piece $4"} : (i32, i32, i32, i32, i32) -> ()
        %122 = "stable_mosaic.arith.addi"(%79, %3) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %123 = "stable_mosaic.arith.muli"(%122, %14) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %124 = "stable_mosaic.tpu.memref_slice"(%arg1, %123, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
        %125 = "stable_mosaic.tpu.memref_slice"(%arg14, %118) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %126 = "stable_mosaic.tpu.memref_squeeze"(%125) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %127 = "stable_mosaic.arith.addi"(%4, %115) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %128 = "stable_mosaic.arith.remsi"(%127, %3) : (i32, i32) -> i32
        %129 = "stable_mosaic.arith.muli"(%128, %13) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %130 = "stable_mosaic.arith.addi"(%129, %122) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %131 = "stable_mosaic.arith.muli"(%130, %14) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %132 = "stable_mosaic.tpu.memref_slice"(%arg6, %131, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<64x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
        %133 = "stable_mosaic.tpu.memref_slice"(%arg15, %121) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %134 = "stable_mosaic.tpu.memref_squeeze"(%133) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "stable_mosaic.tpu.enqueue_dma"(%124, %126, %132, %134, %8) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x256xbf16, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x256xbf16, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
        "stable_mosaic.scf.yield"() : () -> ()
      }, {
        "stable_mosaic.scf.yield"() : () -> ()
      }) : (i1) -> ()
      %135 = "stable_mosaic.arith.cmpi"(%82, %9) {predicate = 5 : i64} : (i32, i32) -> i1
      "stable_mosaic.scf.if"(%135) ({
        %136 = "stable_mosaic.arith.addi"(%46, %24) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %137 = "stable_mosaic.arith.index_cast"(%136) : (i32) -> index
        %138 = "stable_mosaic.memref.load"(%arg0, %137) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
        %139 = "stable_mosaic.arith.addi"(%46, %25) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %140 = "stable_mosaic.arith.index_cast"(%139) : (i32) -> index
        %141 = "stable_mosaic.memref.load"(%arg0, %140) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
        %142 = "stable_mosaic.arith.addi"(%46, %26) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %143 = "stable_mosaic.arith.index_cast"(%142) : (i32) -> index
        %144 = "stable_mosaic.memref.load"(%arg0, %143) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
        %145 = "stable_mosaic.arith.addi"(%46, %27) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %146 = "stable_mosaic.arith.index_cast"(%145) : (i32) -> index
        %147 = "stable_mosaic.memref.load"(%arg0, %146) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
        "stable_mosaic.tpu.log"(%arg20, %147, %138, %141, %144, %82) {formatted = true, tag = "step $0: load x, form $1, group $2, hop $3, k block $4, slot $5"} : (i32, i32, i32, i32, i32, i32) -> ()
        %148 = "stable_mosaic.arith.cmpi"(%147, %9) {predicate = 0 : i64} : (i32, i32) -> i1
        "stable_mosaic.scf.if"(%148) ({
          %149 = "stable_mosaic.arith.muli"(%138, %14) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %150 = "stable_mosaic.arith.muli"(%144, %28) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %151 = "stable_mosaic.tpu.memref_slice"(%arg1, %149, %150) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
          %152 = "stable_mosaic.arith.muli"(%82, %3) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %153 = "stable_mosaic.tpu.memref_slice"(%arg7, %152, %9, %9) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
          %154 = "stable_mosaic.tpu.memref_squeeze"(%153) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
          %155 = "stable_mosaic.tpu.memref_slice"(%arg16, %82) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
          %156 = "stable_mosaic.tpu.memref_squeeze"(%155) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
          "stable_mosaic.tpu.enqueue_dma"(%151, %154, %156) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<8x128xbf16, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
          %157 = "stable_mosaic.arith.addi"(%138, %3) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %158 = "stable_mosaic.arith.muli"(%157, %14) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %159 = "stable_mosaic.tpu.memref_slice"(%arg1, %158, %150) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
          %160 = "stable_mosaic.arith.addi"(%152, %1) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %161 = "stable_mosaic.tpu.memref_slice"(%arg7, %160, %9, %9) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
          %162 = "stable_mosaic.tpu.memref_squeeze"(%161) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
          %163 = "stable_mosaic.tpu.memref_slice"(%arg16, %82) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
          %164 = "stable_mosaic.tpu.memref_squeeze"(%163) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
          "stable_mosaic.tpu.enqueue_dma"(%159, %162, %164) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<8x128xbf16, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
          "stable_mosaic.scf.yield"() : () -> ()
        }, {
          "stable_mosaic.scf.yield"() : () -> ()
        }) : (i1) -> ()
        %165 = "stable_mosaic.arith.cmpi"(%147, %1) {predicate = 0 : i64} : (i32, i32) -> i1
        "stable_mosaic.scf.if"(%165) ({
          %166 = "stable_mosaic.arith.subi"(%4, %141) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %167 = "stable_mosaic.arith.addi"(%166, %3) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %168 = "stable_mosaic.arith.remsi"(%167, %3) : (i32, i32) -> i32
          %169 = "stable_mosaic.arith.muli"(%168, %13) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %170 = "stable_mosaic.arith.addi"(%169, %138) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %171 = "stable_mosaic.arith.muli"(%170, %14) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %172 = "stable_mosaic.arith.muli"(%144, %28) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %173 = "stable_mosaic.tpu.memref_slice"(%arg6, %171, %172) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<64x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
          %174 = "stable_mosaic.arith.muli"(%82, %3) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %175 = "stable_mosaic.tpu.memref_slice"(%arg7, %174, %9, %9) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
          %176 = "stable_mosaic.tpu.memref_squeeze"(%175) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
          %177 = "stable_mosaic.tpu.memref_slice"(%arg16, %82) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
          %178 = "stable_mosaic.tpu.memref_squeeze"(%177) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
          "stable_mosaic.tpu.enqueue_dma"(%173, %176, %178) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<8x128xbf16, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
          %179 = "stable_mosaic.arith.addi"(%4, %141) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %180 = "stable_mosaic.arith.remsi"(%179, %3) : (i32, i32) -> i32
          %181 = "stable_mosaic.arith.muli"(%180, %13) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %182 = "stable_mosaic.arith.addi"(%138, %3) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %183 = "stable_mosaic.arith.addi"(%181, %182) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %184 = "stable_mosaic.arith.muli"(%183, %14) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %185 = "stable_mosaic.tpu.memref_slice"(%arg6, %184, %172) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<64x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
          %186 = "stable_mosaic.arith.addi"(%174, %1) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %187 = "stable_mosaic.tpu.memref_slice"(%arg7, %186, %9, %9) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
          %188 = "stable_mosaic.tpu.memref_squeeze"(%187) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
          %189 = "stable_mosaic.tpu.memref_slice"(%arg16, %82) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
          %190 = "stable_mosaic.tpu.memref_squeeze"(%189) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
          "stable_mosaic.tpu.enqueue_dma"(%185, %188, %190) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<8x128xbf16, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
          "stable_mosaic.scf.yield"() : () -> ()
        }, {
          "stable_mosaic.scf.yield"() : () -> ()
        }) : (i1) -> ()
        "stable_mosaic.scf.yield"() : () -> ()
      }, {
        "stable_mosaic.scf.yield"() : () -> ()
      }) : (i1) -> ()
      %191 = "stable_mosaic.arith.cmpi"(%85, %9) {predicate = 5 : i64} : (i32, i32) -> i1
      "stable_mosaic.scf.if"(%191) ({
        %192 = "stable_mosaic.arith.addi"(%46, %29) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %193 = "stable_mosaic.arith.index_cast"(%192) : (i32) -> index
        %194 = "stable_mosaic.memref.load"(%arg0, %193) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
        %195 = "stable_mosaic.arith.addi"(%46, %30) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %196 = "stable_mosaic.arith.index_cast"(%195) : (i32) -> index
        %197 = "stable_mosaic.memref.load"(%arg0, %196) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
        %198 = "stable_mosaic.arith.addi"(%46, %10) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %199 = "stable_mosaic.arith.index_cast"(%198) : (i32) -> index
        %200 = "stable_mosaic.memref.load"(%arg0, %199) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
        "stable_mosaic.tpu.log"(%arg20, %194, %200, %197, %85) {formatted = true, tag = "step $0: load y, block $1, form $2, k block $3, slot $4"} : (i32, i32, i32, i32, i32) -> ()
        %201 = "stable_mosaic.arith.cmpi"(%200, %9) {predicate = 0 : i64} : (i32, i32) -> i1
        "stable_mosaic.scf.if"(%201) ({
          %202 = "stable_mosaic.arith.muli"(%197, %28) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %203 = "stable_mosaic.arith.muli"(%194, %28) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %204 = "stable_mosaic.tpu.memref_slice"(%arg2, %202, %203) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<256x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<128x128xbf16, #tpu.memory_space<hbm>>
          %205 = "stable_mosaic.tpu.memref_slice"(%arg8, %85, %9, %9) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x128x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x128x128xbf16, #tpu.memory_space<vmem>>
          %206 = "stable_mosaic.tpu.memref_squeeze"(%205) : (memref<1x128x128xbf16, #tpu.memory_space<vmem>>) -> memref<128x128xbf16, #tpu.memory_space<vmem>>
          %207 = "stable_mosaic.tpu.memref_slice"(%arg17, %85) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
          %208 = "stable_mosaic.tpu.memref_squeeze"(%207) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
          "stable_mosaic.tpu.enqueue_dma"(%204, %206, %208) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<128x128xbf16, #tpu.memory_space<hbm>>, memref<128x128xbf16, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
          "stable_mosaic.scf.yield"() : () -> ()
        }, {
          "stable_mosaic.scf.yield"() : () -> ()
        }) : (i1) -> ()
        %209 = "stable_mosaic.arith.cmpi"(%200, %1) {predicate = 0 : i64} : (i32, i32) -> i1
        "stable_mosaic.scf.if"(%209) ({
          %210 = "stable_mosaic.arith.muli"(%197, %28) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %211 = "stable_mosaic.arith.muli"(%194, %28) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %212 = "stable_mosaic.tpu.memref_slice"(%arg3, %210, %211) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<256x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<128x128xbf16, #tpu.memory_space<hbm>>
          %213 = "stable_mosaic.tpu.memref_slice"(%arg8, %85, %9, %9) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x128x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x128x128xbf16, #tpu.memory_space<vmem>>
          %214 = "stable_mosaic.tpu.memref_squeeze"(%213) : (memref<1x128x128xbf16, #tpu.memory_space<vmem>>) -> memref<128x128xbf16, #tpu.memory_space<vmem>>
          %215 = "stable_mosaic.tpu.memref_slice"(%arg17, %85) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
          %216 = "stable_mosaic.tpu.memref_squeeze"(%215) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
          "stable_mosaic.tpu.enqueue_dma"(%212, %214, %216) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<128x128xbf16, #tpu.memory_space<hbm>>, memref<128x128xbf16, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
          "stable_mosaic.scf.yield"() : () -> ()
        }, {
          "stable_mosaic.scf.yield"() : () -> ()
        }) : (i1) -> ()
        "stable_mosaic.scf.yield"() : () -> ()
      }, {
        "stable_mosaic.scf.yield"() : () -> ()
      }) : (i1) -> ()
      %217 = "stable_mosaic.arith.cmpi"(%88, %9) {predicate = 5 : i64} : (i32, i32) -> i1
      "stable_mosaic.scf.if"(%217) ({
        %218 = "stable_mosaic.arith.addi"(%46, %31) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %219 = "stable_mosaic.arith.index_cast"(%218) : (i32) -> index
        %220 = "stable_mosaic.memref.load"(%arg0, %219) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
        %221 = "stable_mosaic.arith.addi"(%46, %32) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %222 = "stable_mosaic.arith.index_cast"(%221) : (i32) -> index
        %223 = "stable_mosaic.memref.load"(%arg0, %222) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
        "stable_mosaic.tpu.log"(%arg20, %223, %220, %88) {formatted = true, tag = "step $0: store x, group $1, hop $2, slot $3"} : (i32, i32, i32, i32) -> ()
        %224 = "stable_mosaic.arith.muli"(%223, %14) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %225 = "stable_mosaic.tpu.memref_slice"(%arg1, %224, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
        %226 = "stable_mosaic.arith.subi"(%4, %220) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %227 = "stable_mosaic.arith.addi"(%226, %3) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %228 = "stable_mosaic.arith.remsi"(%227, %3) : (i32, i32) -> i32
        %229 = "stable_mosaic.arith.muli"(%228, %13) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %230 = "stable_mosaic.arith.addi"(%229, %223) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %231 = "stable_mosaic.arith.muli"(%230, %14) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %232 = "stable_mosaic.tpu.memref_slice"(%arg6, %231, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<64x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
        %233 = "stable_mosaic.tpu.memref_slice"(%arg19, %88) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %234 = "stable_mosaic.tpu.memref_squeeze"(%233) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "stable_mosaic.tpu.enqueue_dma"(%225, %232, %234) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x256xbf16, #tpu.memory_space<hbm>>, memref<8x256xbf16, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
        %235 = "stable_mosaic.arith.addi"(%223, %3) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %236 = "stable_mosaic.arith.muli"(%235, %14) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %237 = "stable_mosaic.tpu.memref_slice"(%arg1, %236, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
        %238 = "stable_mosaic.arith.addi"(%4, %220) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %239 = "stable_mosaic.arith.remsi"(%238, %3) : (i32, i32) -> i32
        %240 = "stable_mosaic.arith.muli"(%239, %13) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %241 = "stable_mosaic.arith.addi"(%240, %235) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %242 = "stable_mosaic.arith.muli"(%241, %14) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %243 = "stable_mosaic.tpu.memref_slice"(%arg6, %242, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<64x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
        %244 = "stable_mosaic.tpu.memref_slice"(%arg19, %88) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %245 = "stable_mosaic.tpu.memref_squeeze"(%244) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "stable_mosaic.tpu.enqueue_dma"(%237, %243, %245) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x256xbf16, #tpu.memory_space<hbm>>, memref<8x256xbf16, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
        "stable_mosaic.scf.yield"() : () -> ()
      }, {
        "stable_mosaic.scf.yield"() : () -> ()
      }) : (i1) -> ()
      %246 = "stable_mosaic.arith.addi"(%46, %33) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %247 = "stable_mosaic.arith.index_cast"(%246) : (i32) -> index
      %248 = "stable_mosaic.memref.load"(%arg0, %247) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
      %249 = "stable_mosaic.arith.addi"(%46, %34) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %250 = "stable_mosaic.arith.index_cast"(%249) : (i32) -> index
      %251 = "stable_mosaic.memref.load"(%arg0, %250) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
      %252 = "stable_mosaic.arith.addi"(%46, %35) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
      %253 = "stable_mosaic.arith.index_cast"(%252) : (i32) -> index
      %254 = "stable_mosaic.memref.load"(%arg0, %253) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
      %255 = "stable_mosaic.arith.cmpi"(%248, %9) {predicate = 5 : i64} : (i32, i32) -> i1
      "stable_mosaic.scf.if"(%255) ({
        "stable_mosaic.tpu.log"(%arg20, %248) {formatted = true, tag = "step $0: await x, slot $1"} : (i32, i32) -> ()
        %256 = "stable_mosaic.arith.muli"(%248, %3) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %257 = "stable_mosaic.tpu.memref_slice"(%arg7, %256, %9, %9) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
        %258 = "stable_mosaic.tpu.memref_squeeze"(%257) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
        %259 = "stable_mosaic.tpu.memref_slice"(%arg7, %256, %9, %9) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
        %260 = "stable_mosaic.tpu.memref_squeeze"(%259) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
        %261 = "stable_mosaic.tpu.memref_slice"(%arg16, %248) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %262 = "stable_mosaic.tpu.memref_squeeze"(%261) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "stable_mosaic.tpu.wait_dma2"(%262, %258, %260) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<vmem>>, memref<8x128xbf16, #tpu.memory_space<vmem>>) -> ()
        %263 = "stable_mosaic.arith.addi"(%256, %1) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %264 = "stable_mosaic.tpu.memref_slice"(%arg7, %263, %9, %9) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
        %265 = "stable_mosaic.tpu.memref_squeeze"(%264) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
        %266 = "stable_mosaic.tpu.memref_slice"(%arg7, %263, %9, %9) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
        %267 = "stable_mosaic.tpu.memref_squeeze"(%266) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
        %268 = "stable_mosaic.tpu.memref_slice"(%arg16, %248) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %269 = "stable_mosaic.tpu.memref_squeeze"(%268) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "stable_mosaic.tpu.wait_dma2"(%269, %265, %267) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xbf16, #tpu.memory_space<vmem>>, memref<8x128xbf16, #tpu.memory_space<vmem>>) -> ()
        "stable_mosaic.scf.yield"() : () -> ()
      }, {
        "stable_mosaic.scf.yield"() : () -> ()
      }) : (i1) -> ()
      %270 = "stable_mosaic.arith.cmpi"(%251, %9) {predicate = 5 : i64} : (i32, i32) -> i1
      "stable_mosaic.scf.if"(%270) ({
        "stable_mosaic.tpu.log"(%arg20, %251) {formatted = true, tag = "step $0: await y, slot $1"} : (i32, i32) -> ()
        %271 = "stable_mosaic.tpu.memref_slice"(%arg8, %251, %9, %9) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x128x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x128x128xbf16, #tpu.memory_space<vmem>>
        %272 = "stable_mosaic.tpu.memref_squeeze"(%271) : (memref<1x128x128xbf16, #tpu.memory_space<vmem>>) -> memref<128x128xbf16, #tpu.memory_space<vmem>>
        %273 = "stable_mosaic.tpu.memref_slice"(%arg8, %251, %9, %9) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x128x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x128x128xbf16, #tpu.memory_space<vmem>>
        %274 = "stable_mosaic.tpu.memref_squeeze"(%273) : (memref<1x128x128xbf16, #tpu.memory_space<vmem>>) -> memref<128x128xbf16, #tpu.memory_space<vmem>>
        %275 = "stable_mosaic.tpu.memref_slice"(%arg17, %251) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %276 = "stable_mosaic.tpu.memref_squeeze"(%275) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "stable_mosaic.tpu.wait_dma2"(%276, %272, %274) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<128x128xbf16, #tpu.memory_space<vmem>>, memref<128x128xbf16, #tpu.memory_space<vmem>>) -> ()
        "stable_mosaic.scf.yield"() : () -> ()
      }, {
        "stable_mosaic.scf.yield"() : () -> ()
      }) : (i1) -> ()
      %277 = "stable_mosaic.arith.cmpi"(%254, %9) {predicate = 0 : i64} : (i32, i32) -> i1
      "stable_mosaic.scf.if"(%277) ({
        %278 = "stable_mosaic.arith.addi"(%46, %36) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %279 = "stable_mosaic.arith.index_cast"(%278) : (i32) -> index
        %280 = "stable_mosaic.memref.load"(%arg0, %279) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
        %281 = "stable_mosaic.arith.addi"(%46, %37) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %282 = "stable_mosaic.arith.index_cast"(%281) : (i32) -> index
        %283 = "stable_mosaic.memref.load"(%arg0, %282) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
        %284 = "stable_mosaic.arith.addi"(%46, %38) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %285 = "stable_mosaic.arith.index_cast"(%284) : (i32) -> index
        %286 = "stable_mosaic.memref.load"(%arg0, %285) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
        %287 = "stable_mosaic.arith.addi"(%46, %39) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %288 = "stable_mosaic.arith.index_cast"(%287) : (i32) -> index
        %289 = "stable_mosaic.memref.load"(%arg0, %288) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
        %290 = "stable_mosaic.arith.addi"(%46, %40) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %291 = "stable_mosaic.arith.index_cast"(%290) : (i32) -> index
        %292 = "stable_mosaic.memref.load"(%arg0, %291) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
        %293 = "stable_mosaic.arith.addi"(%46, %41) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %294 = "stable_mosaic.arith.index_cast"(%293) : (i32) -> index
        %295 = "stable_mosaic.memref.load"(%arg0, %294) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
        %296 = "stable_mosaic.arith.addi"(%46, %42) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %297 = "stable_mosaic.arith.index_cast"(%296) : (i32) -> index
        %298 = "stable_mosaic.memref.load"(%arg0, %297) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
        %299 = "stable_mosaic.arith.addi"(%46, %43) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
        %300 = "stable_mosaic.arith.index_cast"(%299) : (i32) -> index
        %301 = "stable_mosaic.memref.load"(%arg0, %300) : (memref<700xi32, #tpu.memory_space<smem>>, index) -> i32
        "stable_mosaic.tpu.log"(%arg20, %292, %301, %298, %295, %283, %280, %286, %289) {formatted = true, tag = "step $0: product of body 0, block $1, form 0 $2, group 0 $3, hop 0 $4, k block $5, out slot $6, x slot $7, y slot 0 $8"} : (i32, i32, i32, i32, i32, i32, i32, i32, i32) -> ()
        "stable_mosaic.tpu.trace_start"() {level = 10 : i32, message = "multiply_0"} : () -> ()
        %302 = "stable_mosaic.arith.cmpi"(%283, %1) {predicate = 2 : i64} : (i32, i32) -> i1
        "stable_mosaic.scf.if"(%302) ({
          %303 = "stable_mosaic.arith.muli"(%286, %3) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %304 = "stable_mosaic.arith.index_cast"(%303) : (i32) -> index
          %305 = "stable_mosaic.vector.load"(%arg7, %304, %44, %44) : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, index, index, index) -> vector<2x8x128xbf16>
          %306 = "stable_mosaic.vector.shape_cast"(%305) : (vector<2x8x128xbf16>) -> vector<16x128xbf16>
          %307 = "stable_mosaic.arith.index_cast"(%289) : (i32) -> index
          %308 = "stable_mosaic.vector.load"(%arg8, %307, %44, %44) : (memref<2x128x128xbf16, #tpu.memory_space<vmem>>, index, index, index) -> vector<1x128x128xbf16>
          %309 = "stable_mosaic.vector.shape_cast"(%308) : (vector<1x128x128xbf16>) -> vector<128x128xbf16>
          %310 = "stable_mosaic.arith.constant"() {value = dense<0.000000e+00> : vector<16x128xf32>} : () -> vector<16x128xf32>
          %311 = "stable_mosaic.tpu.matmul"(%306, %309, %310) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs = false, transpose_rhs = false} : (vector<16x128xbf16>, vector<128x128xbf16>, vector<16x128xf32>) -> vector<16x128xf32>
          %312 = "stable_mosaic.vector.shape_cast"(%311) : (vector<16x128xf32>) -> vector<1x16x128xf32>
          "stable_mosaic.tpu.vector_store"(%312, %arg10, %44, %44, %44) {operandSegmentSizes = array<i32: 1, 1, 3, 0>, strides = array<i32>} : (vector<1x16x128xf32>, memref<1x16x128xf32, #tpu.memory_space<vmem>>, index, index, index) -> ()
          "stable_mosaic.scf.yield"() : () -> ()
        }, {
          "stable_mosaic.scf.yield"() : () -> ()
        }) : (i1) -> ()
        %313 = "stable_mosaic.arith.cmpi"(%283, %1) {predicate = 0 : i64} : (i32, i32) -> i1
        "stable_mosaic.scf.if"(%313) ({
          %314 = "stable_mosaic.arith.muli"(%286, %3) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %315 = "stable_mosaic.arith.index_cast"(%314) : (i32) -> index
          %316 = "stable_mosaic.vector.load"(%arg7, %315, %44, %44) : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, index, index, index) -> vector<2x8x128xbf16>
          %317 = "stable_mosaic.vector.shape_cast"(%316) : (vector<2x8x128xbf16>) -> vector<16x128xbf16>
          %318 = "stable_mosaic.arith.index_cast"(%289) : (i32) -> index
          %319 = "stable_mosaic.vector.load"(%arg8, %318, %44, %44) : (memref<2x128x128xbf16, #tpu.memory_space<vmem>>, index, index, index) -> vector<1x128x128xbf16>
          %320 = "stable_mosaic.vector.shape_cast"(%319) : (vector<1x128x128xbf16>) -> vector<128x128xbf16>
          %321 = "stable_mosaic.arith.constant"() {value = dense<0.000000e+00> : vector<16x128xf32>} : () -> vector<16x128xf32>
          %322 = "stable_mosaic.tpu.matmul"(%317, %320, %321) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs = false, transpose_rhs = false} : (vector<16x128xbf16>, vector<128x128xbf16>, vector<16x128xf32>) -> vector<16x128xf32>
          %323 = "stable_mosaic.vector.load"(%arg10, %44, %44, %44) : (memref<1x16x128xf32, #tpu.memory_space<vmem>>, index, index, index) -> vector<1x16x128xf32>
          %324 = "stable_mosaic.vector.shape_cast"(%323) : (vector<1x16x128xf32>) -> vector<16x128xf32>
          %325 = "stable_mosaic.arith.addf"(%324, %322) {fastmath = #arith.fastmath<none>} : (vector<16x128xf32>, vector<16x128xf32>) -> vector<16x128xf32>
          %326 = "stable_mosaic.arith.truncf"(%325) : (vector<16x128xf32>) -> vector<16x128xbf16>
          %327 = "stable_mosaic.vector.shape_cast"(%326) : (vector<16x128xbf16>) -> vector<2x8x128xbf16>
          %328 = "stable_mosaic.arith.muli"(%280, %3) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
          %329 = "stable_mosaic.arith.index_cast"(%328) : (i32) -> index
          "stable_mosaic.tpu.vector_store"(%327, %arg9, %329, %44, %44) {operandSegmentSizes = array<i32: 1, 1, 3, 0>, strides = array<i32>} : (vector<2x8x128xbf16>, memref<4x8x128xbf16, #tpu.memory_space<vmem>>, index, index, index) -> ()
          "stable_mosaic.scf.yield"() : () -> ()
        }, {
          "stable_mosaic.scf.yield"() : () -> ()
        }) : (i1) -> ()
        "stable_mosaic.tpu.trace_stop"() : () -> ()
        "stable_mosaic.scf.if"(%313) ({
          %330 = "stable_mosaic.arith.cmpi"(%301, %9) {predicate = 0 : i64} : (i32, i32) -> i1
          "stable_mosaic.scf.if"(%330) ({
            %331 = "stable_mosaic.arith.muli"(%280, %3) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %332 = "stable_mosaic.tpu.memref_slice"(%arg9, %331, %9, %9) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
            %333 = "stable_mosaic.tpu.memref_squeeze"(%332) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
            %334 = "stable_mosaic.arith.subi"(%4, %295) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %335 = "stable_mosaic.arith.addi"(%334, %3) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %336 = "stable_mosaic.arith.remsi"(%335, %3) : (i32, i32) -> i32
            %337 = "stable_mosaic.arith.muli"(%336, %13) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %338 = "stable_mosaic.arith.addi"(%337, %298) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %339 = "stable_mosaic.arith.muli"(%338, %14) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %340 = "stable_mosaic.arith.muli"(%292, %28) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %341 = "stable_mosaic.tpu.memref_slice"(%arg4, %339, %340) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<64x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
            %342 = "stable_mosaic.tpu.memref_slice"(%arg18, %280) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
            %343 = "stable_mosaic.tpu.memref_squeeze"(%342) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
            "stable_mosaic.tpu.enqueue_dma"(%333, %341, %343) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x128xbf16, #tpu.memory_space<vmem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
            %344 = "stable_mosaic.arith.addi"(%331, %1) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %345 = "stable_mosaic.tpu.memref_slice"(%arg9, %344, %9, %9) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
            %346 = "stable_mosaic.tpu.memref_squeeze"(%345) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
            %347 = "stable_mosaic.arith.addi"(%4, %295) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %348 = "stable_mosaic.arith.remsi"(%347, %3) : (i32, i32) -> i32
            %349 = "stable_mosaic.arith.muli"(%348, %13) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %350 = "stable_mosaic.arith.addi"(%298, %3) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %351 = "stable_mosaic.arith.addi"(%349, %350) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %352 = "stable_mosaic.arith.muli"(%351, %14) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %353 = "stable_mosaic.tpu.memref_slice"(%arg4, %352, %340) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<64x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
            %354 = "stable_mosaic.tpu.memref_slice"(%arg18, %280) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
            %355 = "stable_mosaic.tpu.memref_squeeze"(%354) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
            "stable_mosaic.tpu.enqueue_dma"(%346, %353, %355) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x128xbf16, #tpu.memory_space<vmem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
            "stable_mosaic.scf.yield"() : () -> ()
          }, {
            "stable_mosaic.scf.yield"() : () -> ()
          }) : (i1) -> ()
          %356 = "stable_mosaic.arith.cmpi"(%301, %1) {predicate = 0 : i64} : (i32, i32) -> i1
          "stable_mosaic.scf.if"(%356) ({
            %357 = "stable_mosaic.arith.muli"(%280, %3) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %358 = "stable_mosaic.tpu.memref_slice"(%arg9, %357, %9, %9) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
            %359 = "stable_mosaic.tpu.memref_squeeze"(%358) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
            %360 = "stable_mosaic.arith.subi"(%4, %295) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %361 = "stable_mosaic.arith.addi"(%360, %3) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %362 = "stable_mosaic.arith.remsi"(%361, %3) : (i32, i32) -> i32
            %363 = "stable_mosaic.arith.muli"(%362, %13) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %364 = "stable_mosaic.arith.addi"(%363, %298) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %365 = "stable_mosaic.arith.muli"(%364, %14) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %366 = "stable_mosaic.arith.muli"(%292, %28) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %367 = "stable_mosaic.tpu.memref_slice"(%arg5, %365, %366) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<64x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
            %368 = "stable_mosaic.tpu.memref_slice"(%arg18, %280) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
            %369 = "stable_mosaic.tpu.memref_squeeze"(%368) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
            "stable_mosaic.tpu.enqueue_dma"(%359, %367, %369) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x128xbf16, #tpu.memory_space<vmem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
            %370 = "stable_mosaic.arith.addi"(%357, %1) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %371 = "stable_mosaic.tpu.memref_slice"(%arg9, %370, %9, %9) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x8x128xbf16, #tpu.memory_space<vmem>>
            %372 = "stable_mosaic.tpu.memref_squeeze"(%371) : (memref<1x8x128xbf16, #tpu.memory_space<vmem>>) -> memref<8x128xbf16, #tpu.memory_space<vmem>>
            %373 = "stable_mosaic.arith.addi"(%4, %295) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %374 = "stable_mosaic.arith.remsi"(%373, %3) : (i32, i32) -> i32
            %375 = "stable_mosaic.arith.muli"(%374, %13) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %376 = "stable_mosaic.arith.addi"(%298, %3) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %377 = "stable_mosaic.arith.addi"(%375, %376) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %378 = "stable_mosaic.arith.muli"(%377, %14) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
            %379 = "stable_mosaic.tpu.memref_slice"(%arg5, %378, %366) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<64x128xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x128xbf16, #tpu.memory_space<hbm>>
            %380 = "stable_mosaic.tpu.memref_slice"(%arg18, %280) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
            %381 = "stable_mosaic.tpu.memref_squeeze"(%380) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
            "stable_mosaic.tpu.enqueue_dma"(%372, %379, %381) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<8x128xbf16, #tpu.memory_space<vmem>>, memref<8x128xbf16, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
            "stable_mosaic.scf.yield"() : () -> ()
          }, {
            "stable_mosaic.scf.yield"() : () -> ()
          }) : (i1) -> ()
          "stable_mosaic.scf.yield"() : () -> ()
        }, {
          "stable_mosaic.scf.yield"() : () -> ()
        }) : (i1) -> ()
        "stable_mosaic.scf.yield"() : () -> ()
      }, {
        "stable_mosaic.scf.yield"() : () -> ()
      }) : (i1) -> ()
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i32, i32, i32) -> ()
    "stable_mosaic.tpu.log"(%10, %9) {formatted = true, tag = "step $0: await departure forward, semaphore $1"} : (i32, i32) -> ()
    %382 = "stable_mosaic.tpu.memref_slice"(%arg1, %9, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
    %383 = "stable_mosaic.tpu.memref_slice"(%arg1, %9, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
    %384 = "stable_mosaic.tpu.memref_slice"(%arg12, %9) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %385 = "stable_mosaic.tpu.memref_squeeze"(%384) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %386 = "stable_mosaic.arith.constant"() {value = 0 : i32} : () -> i32
    "stable_mosaic.tpu.wait_dma2"(%385, %382, %383, %386, %386) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x256xbf16, #tpu.memory_space<hbm>>, memref<8x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> ()
    "stable_mosaic.tpu.log"(%10, %1) {formatted = true, tag = "step $0: await departure forward, semaphore $1"} : (i32, i32) -> ()
    %387 = "stable_mosaic.tpu.memref_slice"(%arg1, %9, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
    %388 = "stable_mosaic.tpu.memref_slice"(%arg1, %9, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
    %389 = "stable_mosaic.tpu.memref_slice"(%arg12, %1) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %390 = "stable_mosaic.tpu.memref_squeeze"(%389) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %391 = "stable_mosaic.arith.constant"() {value = 0 : i32} : () -> i32
    "stable_mosaic.tpu.wait_dma2"(%390, %387, %388, %391, %391) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x256xbf16, #tpu.memory_space<hbm>>, memref<8x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> ()
    "stable_mosaic.tpu.log"(%10, %9) {formatted = true, tag = "step $0: await departure backward, semaphore $1"} : (i32, i32) -> ()
    %392 = "stable_mosaic.tpu.memref_slice"(%arg1, %9, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
    %393 = "stable_mosaic.tpu.memref_slice"(%arg1, %9, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
    %394 = "stable_mosaic.tpu.memref_slice"(%arg14, %9) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %395 = "stable_mosaic.tpu.memref_squeeze"(%394) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %396 = "stable_mosaic.arith.constant"() {value = 0 : i32} : () -> i32
    "stable_mosaic.tpu.wait_dma2"(%395, %392, %393, %396, %396) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x256xbf16, #tpu.memory_space<hbm>>, memref<8x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> ()
    "stable_mosaic.tpu.log"(%10, %1) {formatted = true, tag = "step $0: await departure backward, semaphore $1"} : (i32, i32) -> ()
    %397 = "stable_mosaic.tpu.memref_slice"(%arg1, %9, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
    %398 = "stable_mosaic.tpu.memref_slice"(%arg1, %9, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
    %399 = "stable_mosaic.tpu.memref_slice"(%arg14, %1) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %400 = "stable_mosaic.tpu.memref_squeeze"(%399) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %401 = "stable_mosaic.arith.constant"() {value = 0 : i32} : () -> i32
    "stable_mosaic.tpu.wait_dma2"(%400, %397, %398, %401, %401) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x256xbf16, #tpu.memory_space<hbm>>, memref<8x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> ()
    "stable_mosaic.tpu.log"(%10, %9) {formatted = true, tag = "step $0: await store of body 0, slot $1"} : (i32, i32) -> ()
    %402 = "stable_mosaic.tpu.memref_slice"(%arg9, %9, %9, %9) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<2x8x128xbf16, #tpu.memory_space<vmem>>
    %403 = "stable_mosaic.tpu.memref_slice"(%arg9, %9, %9, %9) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<2x8x128xbf16, #tpu.memory_space<vmem>>
    %404 = "stable_mosaic.tpu.memref_slice"(%arg18, %9) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %405 = "stable_mosaic.tpu.memref_squeeze"(%404) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    "stable_mosaic.tpu.wait_dma2"(%405, %402, %403) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2x8x128xbf16, #tpu.memory_space<vmem>>, memref<2x8x128xbf16, #tpu.memory_space<vmem>>) -> ()
    "stable_mosaic.tpu.log"(%10, %1) {formatted = true, tag = "step $0: await store of body 0, slot $1"} : (i32, i32) -> ()
    %406 = "stable_mosaic.tpu.memref_slice"(%arg9, %9, %9, %9) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<2x8x128xbf16, #tpu.memory_space<vmem>>
    %407 = "stable_mosaic.tpu.memref_slice"(%arg9, %9, %9, %9) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x8x128xbf16, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<2x8x128xbf16, #tpu.memory_space<vmem>>
    %408 = "stable_mosaic.tpu.memref_slice"(%arg18, %1) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %409 = "stable_mosaic.tpu.memref_squeeze"(%408) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    "stable_mosaic.tpu.wait_dma2"(%409, %406, %407) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2x8x128xbf16, #tpu.memory_space<vmem>>, memref<2x8x128xbf16, #tpu.memory_space<vmem>>) -> ()
    "stable_mosaic.tpu.log"(%10, %9) {formatted = true, tag = "step $0: await store x, slot $1"} : (i32, i32) -> ()
    %410 = "stable_mosaic.tpu.memref_slice"(%arg1, %9, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
    %411 = "stable_mosaic.tpu.memref_slice"(%arg1, %9, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
    %412 = "stable_mosaic.tpu.memref_slice"(%arg19, %9) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %413 = "stable_mosaic.tpu.memref_squeeze"(%412) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    "stable_mosaic.tpu.wait_dma2"(%413, %410, %411) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x256xbf16, #tpu.memory_space<hbm>>, memref<8x256xbf16, #tpu.memory_space<hbm>>) -> ()
    %414 = "stable_mosaic.tpu.memref_slice"(%arg1, %9, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
    %415 = "stable_mosaic.tpu.memref_slice"(%arg1, %9, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
    %416 = "stable_mosaic.tpu.memref_slice"(%arg19, %9) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %417 = "stable_mosaic.tpu.memref_squeeze"(%416) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    "stable_mosaic.tpu.wait_dma2"(%417, %414, %415) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x256xbf16, #tpu.memory_space<hbm>>, memref<8x256xbf16, #tpu.memory_space<hbm>>) -> ()
    "stable_mosaic.tpu.log"(%10, %1) {formatted = true, tag = "step $0: await store x, slot $1"} : (i32, i32) -> ()
    %418 = "stable_mosaic.tpu.memref_slice"(%arg1, %9, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
    %419 = "stable_mosaic.tpu.memref_slice"(%arg1, %9, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
    %420 = "stable_mosaic.tpu.memref_slice"(%arg19, %1) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %421 = "stable_mosaic.tpu.memref_squeeze"(%420) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    "stable_mosaic.tpu.wait_dma2"(%421, %418, %419) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x256xbf16, #tpu.memory_space<hbm>>, memref<8x256xbf16, #tpu.memory_space<hbm>>) -> ()
    %422 = "stable_mosaic.tpu.memref_slice"(%arg1, %9, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
    %423 = "stable_mosaic.tpu.memref_slice"(%arg1, %9, %9) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<32x256xbf16, #tpu.memory_space<hbm>>, i32, i32) -> memref<8x256xbf16, #tpu.memory_space<hbm>>
    %424 = "stable_mosaic.tpu.memref_slice"(%arg19, %1) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %425 = "stable_mosaic.tpu.memref_squeeze"(%424) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    "stable_mosaic.tpu.wait_dma2"(%425, %422, %423) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x256xbf16, #tpu.memory_space<hbm>>, memref<8x256xbf16, #tpu.memory_space<hbm>>) -> ()
    "stable_mosaic.func.return"() : () -> ()
  }) {dimension_semantics = [], function_type = (memref<700xi32, #tpu.memory_space<smem>>, memref<32x256xbf16, #tpu.memory_space<hbm>>, memref<256x128xbf16, #tpu.memory_space<hbm>>, memref<256x128xbf16, #tpu.memory_space<hbm>>, memref<64x128xbf16, #tpu.memory_space<hbm>>, memref<64x128xbf16, #tpu.memory_space<hbm>>, memref<64x256xbf16, #tpu.memory_space<hbm>>, memref<4x8x128xbf16, #tpu.memory_space<vmem>>, memref<2x128x128xbf16, #tpu.memory_space<vmem>>, memref<4x8x128xbf16, #tpu.memory_space<vmem>>, memref<1x16x128xf32, #tpu.memory_space<vmem>>, memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> (), scalar_prefetch = 0 : i64, scratch_operands = 13 : i64, sym_name = "main", tpu.core_type = #tpu.core_type<tc>} : () -> ()
}
module @all_gather_matmul attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a0"=2, "x"=2]>
  func.func public @main(%x: tensor<60x250xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %y0: tensor<250x256xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %y1: tensor<250x200xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<60x256xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, tensor<60x200xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, tensor<60x250xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0:3 = sdy.manual_computation(%x, %y0, %y1) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {"x"}]>, <@mesh, [{}, {"x"}]>] out_shardings=[<@mesh, [{}, {"x"}]>, <@mesh, [{}, {"x"}]>, <@mesh, [{}, {}]>] manual_axes={"a0", "x"} (%x_part: tensor<30x250xbf16>, %y0_part: tensor<250x128xbf16>, %y1_part: tensor<250x100xbf16>) {
      %1 = stablehlo.constant dense<[0, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 0, -1, 0, 0, 0, 0, 0, 0, -1, -1, -1, 1, 0, 0, -1, 0, 1, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 0, -1, 1, 0, 1, 0, 1, 0, -1, -1, -1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 0, -1, 0, 0, 0, 0, 0, 1, -1, -1, -1, 1, 0, 0, -1, 0, 1, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 0, -1, 1, 0, 1, 0, 1, 1, -1, -1, -1, 0, 1, 0, 1, 1, 0, 1, 0, 0, 0, 1, -1, -1, -1, -1, 1, 0, 1, 1, 1, 0, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 0, 1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, -1, -1, -1, -1, -1, -1, -1, -1, 1, 1, -1, 0, 0, 0, 0, 0, 0, -1, -1, -1, 1, 0, 0, -1, 0, 1, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 1, -1, 1, 0, 1, 0, 1, 0, -1, -1, -1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, -1, -1, -1, 1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 1, -1, 0, 0, 0, 0, 0, 1, -1, -1, -1, 1, 0, 0, -1, 0, 1, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 1, -1, 1, 0, 1, 0, 1, 1, -1, -1, -1, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1, -1, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, -1, -1, -1, -1, -1, -1, -1, -1, 1, 0, 1, 0, 1, 0, 0, 0, 0, -1, -1, -1, 1, 0, 0, -1, 0, 1, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 1, 1, 1, 1, 0, 1, 0, -1, -1, -1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 0, 0, -1, -1, -1, 1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 0, 1, 0, 1, 0, 0, 0, 1, -1, -1, -1, 1, 0, 0, -1, 0, 1, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 1, 1, 1, 1, 0, 1, 1, -1, -1, -1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 1, -1, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, -1, -1, -1, -1, -1, -1, -1, -1, 1, 1, 1, 0, 1, 0, 0, 0, 0, -1, -1, -1, 1, 0, 0, -1, 0, 1, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 1, 1, 1, 1, 1, 0, 1, 0, -1, -1, -1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0, -1, -1, -1, 1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 1, 1, 0, 1, 0, 0, 0, 1, -1, -1, -1, 1, 0, 0, -1, 0, 1, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 1, 1, 1, 1, 1, 0, 1, 1, -1, -1, -1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 1, 1]> : tensor<700xi32>
      %2 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
      %3 = stablehlo.pad %x_part, %2, low = [0, 0], high = [2, 6], interior = [0, 0] : (tensor<30x250xbf16>, tensor<bf16>) -> tensor<32x256xbf16>
      %4 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
      %5 = stablehlo.pad %y0_part, %4, low = [0, 0], high = [6, 0], interior = [0, 0] : (tensor<250x128xbf16>, tensor<bf16>) -> tensor<256x128xbf16>
      %6 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
      %7 = stablehlo.pad %y1_part, %6, low = [0, 0], high = [6, 28], interior = [0, 0] : (tensor<250x100xbf16>, tensor<bf16>) -> tensor<256x128xbf16>
      %8:3 = stablehlo.custom_call @tpu_custom_call(%1, %3, %5, %7) {backend_config = "{\22custom_call_config\22: {\22body\22: \22BODY\22, \22has_communication\22: true, \22collective_id\22: 0, \22cost_estimate\22: {\22flops\22: 6840000, \22transcendentals\22: 0, \22bytes_accessed\22: 688128, \22remote_bytes_transferred\22: 16384}, \22serialization_format\22: 1, \22needs_layout_passes\22: true, \22disable_bounds_checks\22: true, \22output_memory_space_colors\22: [{\22color\22: 0, \22shape_index\22: [0]}, {\22color\22: 0, \22shape_index\22: [1]}, {\22color\22: 0, \22shape_index\22: [2]}], \22input_memory_space_colors\22: [{\22operand_index\22: 1, \22color\22: 0}, {\22operand_index\22: 2, \22color\22: 0}, {\22operand_index\22: 3, \22color\22: 0}]}, \22scoped_memory_configs\22: [{\22memory_space\22: 1, \22offset\22: 0, \22size\22: 1152000}]}", kernel_name = "all_gather_matmul_wavefront_16x128x128", operand_layouts = [dense<[0]> : tensor<1xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<700xi32>, tensor<32x256xbf16>, tensor<256x128xbf16>, tensor<256x128xbf16>) -> (tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<64x256xbf16>)
      %9 = stablehlo.reshape %8#0 : (tensor<64x128xbf16>) -> tensor<2x32x128xbf16>
      %10 = stablehlo.slice %9 [0:2, 0:30, 0:128] : (tensor<2x32x128xbf16>) -> tensor<2x30x128xbf16>
      %11 = stablehlo.reshape %10 : (tensor<2x30x128xbf16>) -> tensor<60x128xbf16>
      %12 = stablehlo.slice %8#1 [0:64, 0:100] : (tensor<64x128xbf16>) -> tensor<64x100xbf16>
      %13 = stablehlo.reshape %12 : (tensor<64x100xbf16>) -> tensor<2x32x100xbf16>
      %14 = stablehlo.slice %13 [0:2, 0:30, 0:100] : (tensor<2x32x100xbf16>) -> tensor<2x30x100xbf16>
      %15 = stablehlo.reshape %14 : (tensor<2x30x100xbf16>) -> tensor<60x100xbf16>
      %16 = stablehlo.slice %8#2 [0:64, 0:250] : (tensor<64x256xbf16>) -> tensor<64x250xbf16>
      %17 = stablehlo.reshape %16 : (tensor<64x250xbf16>) -> tensor<2x32x250xbf16>
      %18 = stablehlo.slice %17 [0:2, 0:30, 0:250] : (tensor<2x32x250xbf16>) -> tensor<2x30x250xbf16>
      %19 = stablehlo.reshape %18 : (tensor<2x30x250xbf16>) -> tensor<60x250xbf16>
      sdy.return %11, %15, %19 : tensor<60x128xbf16>, tensor<60x100xbf16>, tensor<60x250xbf16>
    } : (tensor<60x250xbf16>, tensor<250x256xbf16>, tensor<250x200xbf16>) -> (tensor<60x256xbf16>, tensor<60x200xbf16>, tensor<60x250xbf16>)
    return %0#0, %0#1, %0#2 : tensor<60x256xbf16>, tensor<60x200xbf16>, tensor<60x250xbf16>
  }
}
